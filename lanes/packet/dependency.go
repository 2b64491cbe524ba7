package packet

import (
	"strings"

	"ferrox/lanes"
)

// idToken is an id that can be told from a word, with or without an area.
var idToken = pattern(`^(?:[^\s/]+/)?[\p{L}][\p{L}\p{N}_.]*(?:-[\p{L}\p{N}_.]+)*-\p{Nd}+$`)

// idInText finds ids of the usual form in a sentence.
var idInText = pattern(`(?:[\p{L}\p{N}_-]+/)?\b[\p{Lu}][\p{Lu}\p{N}_]*-\p{Nd}+\b`)

// label stands before the ids of an entry.
var label = pattern(`(?i)^(?:\[[ x]\]\s*)?[*_]*(requires|tasks?|depends on|dependency|dependencies)[*_]*\s*:[*_]*\s*`)

// link is a Markdown link, of which the text counts.
var link = pattern(`\[([^\]]+)\]\([^)]*\)`)

// joined stands between two ids of one entry.
var joined = pattern(`^\s*(?:,\s*and\s|,|;|&|\+|/\s|\band\s)\s*`)

// dependencies collects what the section says while it is read line by line.
type dependencies struct {
	file      string
	own       lanes.TaskID
	found     []Dependency
	none      int  // line of an entry None
	noneProse bool // that entry is a paragraph, so what follows it are cross references
	indent    int  // of the last entry
	prose     []line
	problems  []Problem
}

// readDependencies reads the whole section: bullets and labelled lines, and a sentence with ids when there is nothing
// else. The front matter's list counts as well.
func (p *Packet) readDependencies(doc document) []Problem {
	body, _, problems := doc.section("Dependencies")
	d := dependencies{file: doc.file, own: p.ID, problems: problems}
	d.readFront(doc)
	for _, l := range body {
		d.read(l)
	}
	d.settle()
	p.DependsOn = d.found
	return d.problems
}

// readFront reads "dependencies: [A, B]" or a list below the key.
func (d *dependencies) readFront(doc document) {
	for _, key := range []string{"dependencies", "depends_on", "dependsOn"} {
		value, below, number, _ := doc.frontValue(key)
		value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
		for entry := range strings.SplitSeq(value, ",") {
			d.addFront(entry, number)
		}
		for _, l := range below {
			d.addFront(strings.TrimLeft(l.text, "- \t"), l.number)
		}
	}
}

func (d *dependencies) addFront(entry string, number int) {
	entry = strings.Trim(strings.TrimSpace(entry), `"'`)
	if entry == "" || entry[0] == '#' || isNone(entry) || entry == "null" || entry == "~" {
		return
	}
	d.add(entry, number)
}

func (d *dependencies) read(l line) {
	if l.blank() || l.quoted() || l.level > 0 {
		return
	}
	item, listed := bullet(l.text)
	if !listed {
		item = strings.TrimSpace(l.text)
	}
	item = link().ReplaceAllString(item, "$1")
	rest := label().ReplaceAllString(item, "")
	labelled := rest != item

	switch {
	case isNone(rest):
		d.noneAt(l.number, listed || labelled)
	case d.noneProse:
		d.warnAfterNone(l, rest)
	case listed && !labelled && d.explains(l, rest):
		// it tells more about the entry above it
	case listed || labelled || wholly(rest):
		d.indent = indentOf(l)
		d.entry(rest, l.number)
	default:
		d.prose = append(d.prose, l)
	}
}

// explains reports whether a list item is a sentence below another entry.
func (d *dependencies) explains(l line, text string) bool {
	id, _ := firstID(text)
	return len(d.found) > 0 && indentOf(l) > d.indent && strings.Contains(id, " ")
}

func indentOf(l line) int { return len(l.text) - len(strings.TrimLeft(l.text, " \t")) }

func (d *dependencies) noneAt(number int, listed bool) {
	if d.none == 0 {
		d.none = number
	}
	if !listed && len(d.found) == 0 {
		d.noneProse = true
	}
}

// warnAfterNone speaks of ids below a paragraph that begins with None: they are cross references.
func (d *dependencies) warnAfterNone(l line, text string) {
	if idInText().MatchString(text) {
		d.problems = append(d.problems, warning(CodeDependencyNone, d.file, l.number,
			"reading the dependencies: the section begins with None, so the ids of this line are not waited for; remove None if they should be"))
	}
}

// entry reads the ids of one entry: those that commas or "and" join, up to a remark. A sentence around ids is reported.
func (d *dependencies) entry(text string, number int) {
	id, rest := firstID(text)
	if strings.Contains(id, " ") && idInText().MatchString(id) {
		d.readProse(line{number: number, text: text})
		return
	}
	d.add(id, number)
	for {
		at := joined().FindString(rest)
		if at == "" {
			return
		}
		next, after := firstID(rest[len(at):])
		if !sameKind(id, next) {
			return
		}
		d.add(next, number)
		rest = after
	}
}

// sameKind reports whether what follows a comma is an id like the one before it, and not the start of a remark.
func sameKind(id, next string) bool {
	if next == "" || idToken().MatchString(next) {
		return next != ""
	}
	if strings.Contains(next, " ") {
		return strings.Contains(id, " ")
	}
	return !idToken().MatchString(id) || strings.ContainsAny(next, "0123456789")
}

// firstID returns the id that an entry begins with and what follows it: a code span, a word, or, because an id may have
// blanks, everything before a remark.
func firstID(text string) (id, rest string) {
	if span, rest, ok := codeSpan(text); ok {
		return span, rest
	}
	token, rest := firstToken(text)
	if idToken().MatchString(token) || startsRemark(rest) || joined().MatchString(rest) {
		return token, rest
	}
	id = beforeRemark(text)
	return strings.TrimRight(id, ". "), strings.TrimPrefix(text, id)
}

// firstToken returns the first word without its markup and without punctuation that ends it.
func firstToken(text string) (token, rest string) {
	text = strings.TrimLeft(text, "*_ \t")
	end := strings.IndexAny(text, " \t(,;")
	if end < 0 {
		end = len(text)
	}
	token = strings.TrimRight(text[:end], "*_.:")
	return token, strings.TrimLeft(text[len(token):], "*_")
}

// beforeRemark cuts an entry at the first mark that begins a remark or a further id.
func beforeRemark(text string) string {
	for _, mark := range []string{" (", " — ", " – ", " - ", ": ", ", ", "; ", " and "} {
		text, _, _ = strings.Cut(text, mark)
	}
	return strings.TrimSpace(text)
}

// wholly reports whether a line without a bullet is nothing but ids.
func wholly(text string) bool {
	token, rest := firstToken(text)
	return idToken().MatchString(token) && (startsRemark(rest) || joined().MatchString(rest))
}

func (d *dependencies) add(written string, number int) {
	area, id, cut := cutLast(written, "/")
	if !cut {
		area, id = "", written
	}
	for _, known := range d.found {
		if known.ID == lanes.TaskID(id) {
			return
		}
	}
	if err := CheckID(lanes.TaskID(id)); err != nil {
		d.problems = append(d.problems, failure(CodeDependencyBad, d.file, number, "reading the dependency %q: %v", shorten(written), err))
		return
	}
	d.found = append(d.found, Dependency{ID: lanes.TaskID(id), Area: area, Written: written, File: d.file, Line: number})
}

// settle reads sentences when there was nothing better, and refuses None beside ids.
func (d *dependencies) settle() {
	if len(d.found) == 0 && d.none == 0 {
		for _, l := range d.prose {
			d.readProse(l)
		}
	}
	if d.none > 0 && len(d.found) > 0 {
		d.problems = append(d.problems, failure(CodeDependencyNone, d.file, d.none,
			"reading the dependencies: the section says None and names %s; remove one of them", d.found[0].ID))
	}
}

func (d *dependencies) readProse(l line) {
	for _, written := range idInText().FindAllString(l.text, -1) {
		if _, id, _ := cutLast(written, "/"); lanes.TaskID(id) == d.own || lanes.TaskID(written) == d.own {
			continue
		}
		d.add(written, l.number)
		d.problems = append(d.problems, warning(CodeDependencyProse, d.file, l.number,
			"reading the dependencies: %s stands in a sentence and is waited for; write it as a bullet", written))
	}
}

// cutLast cuts a text around the last separator.
func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return "", text, false
	}
	return text[:at], text[at+len(sep):], true
}
