package packet

import (
	"strings"
)

// field matches a bold field, "**Size:** S", whose colon stands inside or outside of the stars.
var field = pattern(`^\s*\*\*([^*:]+?)\s*(?::\*\*|\*\*\s*:)\s*(.*?)\s*$`)

// repoID is the form of a target repository's id.
var repoID = pattern(`^[a-z0-9][a-z0-9-]*$`)

// fieldOf returns name and value of a bold field line.
func fieldOf(l line) (name, value string, ok bool) {
	m := field().FindStringSubmatch(l.text)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// field returns the first value of a bold field, anywhere in the document.
func (d document) field(name string) (value string, number int, ok bool) {
	for _, l := range d.lines {
		if n, v, is := fieldOf(l); is && strings.EqualFold(n, name) {
			return v, l.number, true
		}
	}
	return "", 0, false
}

// frontValue returns the value of a front matter key, and the lines below it up to the next key.
func (d document) frontValue(key string) (value string, below []line, number int, ok bool) {
	for i, l := range d.front {
		name, rest, cut := strings.Cut(l.text, ":")
		if !cut || strings.TrimSpace(name) != key {
			continue
		}
		for _, b := range d.front[i+1:] {
			if b.text != "" && !strings.ContainsRune(" \t-#", rune(b.text[0])) {
				break
			}
			below = append(below, b)
		}
		return strings.TrimSpace(rest), below, l.number, true
	}
	return "", nil, 0, false
}

// readSize reads **Size:**. The front matter is no source of it: one place says it, and a second one that says something
// else is reported.
func (p *Packet) readSize(doc document) []Problem {
	var problems []Problem
	if value, number, ok := doc.field("Size"); ok {
		size, known := sizeOf(value)
		if !known {
			problems = append(problems, warning(CodeSizeUnknown, doc.file, number,
				"reading the size: %q is none and M is taken; write **Size:** S, M or L", shorten(value)))
		}
		p.Size = size
	}
	if value, _, number, ok := doc.frontValue("size"); ok && !strings.EqualFold(value, string(p.Size)) {
		problems = append(problems, warning(CodeFrontMatter, doc.file, number,
			"reading the front matter: its size %q is not read and %s is taken; write **Size:** below the title", shorten(value), p.Size))
	}
	return problems
}

func sizeOf(value string) (Size, bool) {
	word, _, _ := strings.Cut(value, " ")
	switch size := Size(strings.ToUpper(word)); size {
	case SizeS, SizeM, SizeL:
		return size, true
	default:
		return SizeM, false
	}
}

// readLevel reads the heading "## Review Level: N". A level that cannot be read is an error, because the default may be
// lower than what was meant.
func (p *Packet) readLevel(doc document) []Problem {
	for _, l := range doc.lines {
		rest, ok := cutFold(l.title, "review level")
		if l.level != 2 || !ok {
			continue
		}
		digits, _, _ := strings.Cut(strings.TrimLeft(rest, ": \t"), " ")
		if len(digits) != 1 || digits[0] < '0' || digits[0] > '3' {
			return []Problem{failure(CodeReviewLevel, doc.file, l.number,
				"reading the review level: %q is none; write ## Review Level: 0, 1, 2 or 3", shorten(l.title))}
		}
		p.ReviewLevel, p.LevelDeclared = int(digits[0]-'0'), true
		return nil
	}
	return nil
}

// readRepo reads the target repository: "Repo: id" in the section Execution Target, else a line "**Repo:** id".
func (p *Packet) readRepo(doc document) []Problem {
	body, _, problems := doc.section("Execution Target")
	value, number := targetOf(body)
	if value == "" {
		value, number, _ = doc.field("Repo")
	}
	value = strings.Trim(value, "`")
	if value == "" {
		return problems
	}
	if !repoID().MatchString(value) {
		return append(problems, failure(CodeRepoBad, doc.file, number,
			"reading the target repository: %q is no id; write lower-case letters, digits and hyphens", shorten(value)))
	}
	p.Repo = value
	return problems
}

func targetOf(body []line) (value string, number int) {
	for _, l := range body {
		text := l.text
		if item, ok := bullet(text); ok {
			text = item
		}
		text = strings.ReplaceAll(text, "*", "")
		for _, key := range []string{"repo:", "workspace:"} {
			if rest, ok := cutFold(strings.TrimSpace(text), key); ok {
				return rest, l.number
			}
		}
	}
	return "", 0
}

// readSegments refuses packets that are cut into segments of several repositories. Only a heading counts: prose about
// segments is common.
func (p *Packet) readSegments(doc document) []Problem {
	for _, l := range doc.lines {
		dag := l.level == 2 && sectionName(l.title) == "segment dag"
		_, marker := cutFold(l.title, "segment:")
		if !dag && (l.level != 4 || !marker) {
			continue
		}
		p.Segments = true
		return []Problem{failure(CodeSegments, doc.file, l.number,
			"reading the packet: it is cut into segments of several repositories, which are not run; make one packet for each repository")}
	}
	return nil
}
