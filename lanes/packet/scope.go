package packet

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// drive is the start of an absolute path on Windows.
var drive = pattern(`^[A-Za-z]:[\\/]`)

// spanJoint stands between two code spans of one entry that are both meant.
var spanJoint = pattern(`^\s*(?:,\s*and|,|\band|&|\+)\s*$`)

// readScope reads the File Scope section: its bullets, and nothing else. Quoted remarks, sentences and fenced examples
// are no entries.
func (p *Packet) readScope(doc document) []Problem {
	body, found, problems := doc.section("File Scope")
	p.Scope.Declared = found
	if !found {
		return append(problems, warning(CodeScopeMissing, doc.file, 0,
			"reading the file scope: there is no section, so the task may change anything and is planned as if it touched nothing; write ## File Scope"))
	}

	item := false // the last line was part of a bullet, so an indented one goes on with it
	for _, l := range body {
		text, listed := bullet(l.text)
		switch {
		case listed:
			problems = append(problems, p.addScope(doc.file, l.number, text)...)
			item = true
		case l.blank() || l.quoted() || l.level > 0 || strings.Trim(l.text, "-*_ ") == "":
		case item && strings.HasPrefix(l.text, " "):
		default:
			item = false
			problems = append(problems, warning(CodeScopeProse, doc.file, l.number,
				"reading the file scope: %q is no bullet and not an entry; write - `path`", shorten(strings.TrimSpace(l.text))))
		}
	}
	return problems
}

func (p *Packet) addScope(file string, number int, text string) []Problem {
	if isNone(text) {
		return nil
	}
	var problems []Problem
	for _, entry := range scopeEntries(text) {
		p.Scope.Entries = append(p.Scope.Entries, entry)
		problems = append(problems, checkScope(file, number, entry)...)
	}
	return problems
}

// scopeEntries reads one bullet: its code span, or the code spans that a comma or "and" joins. A span inside of a remark
// in brackets is part of the remark. A bullet without a code span is one path or glob, blanks included.
func scopeEntries(text string) []string {
	at := strings.IndexByte(text, '`')
	if at < 0 {
		return nonEmpty(text)
	}
	if open := strings.IndexByte(text[:at], '('); open >= 0 && !strings.Contains(text[open:at], ")") {
		return nonEmpty(strings.TrimSpace(text[:open]))
	}

	var entries []string
	for {
		entry, rest, ok := codeSpan(text[at:])
		if !ok {
			break
		}
		entries = append(entries, entry)
		next := strings.IndexByte(rest, '`')
		if next < 0 || !spanJoint().MatchString(rest[:next]) {
			break
		}
		text, at = rest, next
	}
	if len(entries) == 0 {
		return nonEmpty(text)
	}
	return entries
}

func nonEmpty(entry string) []string {
	if entry == "" {
		return nil
	}
	return []string{entry}
}

// checkScope warns of entries that can never match a file of the repository.
func checkScope(file string, number int, entry string) []Problem {
	slashed := strings.ReplaceAll(entry, `\`, "/")
	outside := strings.HasPrefix(slashed, "/") || strings.HasPrefix(slashed, "~") || drive().MatchString(entry)
	for part := range strings.SplitSeq(slashed, "/") {
		outside = outside || part == ".."
	}
	if outside {
		return []Problem{warning(CodeScopeOutside, file, number,
			"reading the file scope: %q points out of the repository and never matches; write a path relative to its root", shorten(entry))}
	}
	if !doublestar.ValidatePattern(slashed) {
		return []Problem{warning(CodeScopeGlob, file, number,
			"reading the file scope: %q is no legal glob and only matches a path of that very name; close its brackets", shorten(entry))}
	}
	return nil
}
