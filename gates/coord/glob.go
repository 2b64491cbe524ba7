package coord

import "strings"

// Normalize brings a path into the form that the coordination verbs compare: "\" becomes "/", leading "./" is removed, also
// when repeated. "..", "//", letter case and trailing blanks are left alone (verbs.md 2.10).
func Normalize(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	for strings.HasPrefix(path, "./") {
		path = path[len("./"):]
	}
	return path
}

// A glob is a list of tokens: literal bytes, or one of these.
const (
	tokenStar = 256 + iota // "*": anything without "/"
	tokenAny               // "**": anything
	tokenDirs              // "**/": zero or more whole segments
)

// Match reports whether the whole path matches the glob, without regard to letter case. "**/" is zero or more whole segments,
// "**" elsewhere is anything, "*" is anything but "/"; every other character stands for itself, "?" and brackets as well.
func Match(glob, path string) bool {
	tokens, text := compile(strings.ToLower(glob)), strings.ToLower(path)

	// reach[i] says whether the tokens so far can have consumed text[:i]. One row a token keeps hostile globs linear.
	reach := make([]bool, len(text)+1)
	reach[0] = true
	for _, t := range tokens {
		reach = step(t, text, reach)
	}
	return reach[len(text)]
}

func compile(glob string) []int {
	var tokens []int
	for i := 0; i < len(glob); {
		switch rest := glob[i:]; {
		case strings.HasPrefix(rest, "**/"):
			tokens = append(tokens, tokenDirs)
			i += 3
		case strings.HasPrefix(rest, "**"):
			tokens = append(tokens, tokenAny)
			i += 2
		case rest[0] == '*':
			tokens = append(tokens, tokenStar)
			i++
		default:
			tokens = append(tokens, int(rest[0]))
			i++
		}
	}
	return tokens
}

// step returns the places that can be reached by one more token.
func step(token int, text string, from []bool) []bool {
	to := make([]bool, len(from))
	open := false // a wildcard that began at or before this place is still running
	for i := range from {
		switch token {
		case tokenAny:
			open = open || from[i]
			to[i] = open
		case tokenStar:
			open = from[i] || (open && text[i-1] != '/')
			to[i] = open
		case tokenDirs:
			to[i] = from[i] || (open && text[i-1] == '/')
			open = open || from[i]
		default:
			to[i] = i > 0 && from[i-1] && int(text[i-1]) == token
		}
	}
	return to
}
