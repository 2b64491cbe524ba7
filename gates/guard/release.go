package guard

import "strings"

// releases are the commands that publish a package or a release: program → first words. An empty word means that the
// program publishes whatever follows.
var releases = map[string][]string{
	"npm": {"publish", "unpublish", "dist-tag"}, "pnpm": {"publish"}, "yarn": {"publish", "npm publish"}, "bun": {"publish"},
	"cargo": {"publish", "release", "yank"}, "goreleaser": {"release", "publish", "continue", ""},
	"twine": {"upload"}, "poetry": {"publish"}, "uv": {"publish"}, "flit": {"publish"}, "hatch": {"publish"}, "pdm": {"publish"},
	"gem": {"push", "yank"}, "mvn": {"deploy", "release:perform"}, "mvnw": {"deploy", "release:perform"},
	"gradle": {"publish", "publishplugins"}, "gradlew": {"publish", "publishplugins"},
	"dotnet": {"nuget push"}, "nuget": {"push"}, "helm": {"push"}, "vsce": {"publish"}, "ovsx": {"publish"}, "jsr": {"publish"},
	"semantic-release": {""}, "release-it": {""}, "lerna": {"publish"}, "changeset": {"publish"}, "np": {""}, "release-please": {"github-release"},
}

// release adds a finding when base is a program that publishes and does so here; it reports whether nothing is left to look at.
func (c *checker) release(base string, args []string) bool {
	verbs, is := releases[base]
	if !is {
		return false
	}
	if contains(args, "--dry-run") || contains(args, "--snapshot") || contains(args, "--help") || contains(args, "--version") {
		return true
	}
	words := releaseWords(args[1:])
	if len(args) > 2 && strings.HasPrefix(args[1], "-") && contains(verbs, args[len(args)-1]) {
		words = args[len(args)-1] // "npm --access public publish"
	}
	for _, v := range verbs {
		hit := words == v || strings.HasPrefix(words, v+" ") || v == "" && (words == "" || len(verbs) == 1)
		if base == "mvn" || base == "mvnw" || strings.HasPrefix(base, "gradle") {
			hit = strings.Contains(" "+strings.ToLower(words)+" ", " "+v+" ") || strings.HasPrefix(base, "gradle") && strings.Contains(strings.ToLower(words), "publish")
		}
		if hit {
			c.add(Finding{Kind: KindRelease, Command: show(args), Why: "publishes a release"})
			return true
		}
	}
	if hasHole(words[:strings.IndexByte(words+" ", ' ')]) {
		c.add(Finding{Kind: KindRelease, Command: show(args), Why: "what it does cannot be known from the line", Unreadable: true})
	}
	return false
}

// releaseWords is a command's words without its options.
func releaseWords(args []string) string {
	var words []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			words = append(words, a)
		}
	}
	return strings.Join(words, " ")
}
