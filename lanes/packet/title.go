package packet

import (
	"path"
	"strings"

	"ferrox/lanes"
)

// separator stands between id and name in a title: a hyphen with blanks around it, a dash, or a colon before a blank.
var separator = pattern(`\s+-\s+|\s*[—–]\s*|\s*:(?:\s+|$)`)

// numbered is an id that can be told from a word without the label "Task:".
var numbered = pattern(`^\S+-\d+$`)

// readTitle takes id and title from the first heading, "# Task: ID - Name", and the id from the folder when the heading
// has none. There is one grammar: with or without the label, with any of the separators.
func (p *Packet) readTitle(doc document) []Problem {
	folder := path.Base(p.Dir)
	l, found := firstHeading(doc)
	id, name := splitTitle(l.title, folder)

	p.ID, p.Title = id, name
	if id == "" {
		p.ID = folderID(folder)
	}
	return p.checkTitle(doc.file, l.number, found)
}

func (p *Packet) checkTitle(file string, number int, found bool) []Problem {
	var problems []Problem
	folder := path.Base(p.Dir)
	if !found {
		problems = append(problems, warning(CodeTitleMissing, file, 0, "reading the title: there is no heading of level 1; write # Task: ID - Name"))
	}
	if p.Title == "" {
		p.Title = folder
	}

	if p.ID == "" {
		return append(problems, failure(CodeIDMissing, file, number,
			"reading the id: neither the title nor the folder %q has one; write # Task: ID - Name", folder))
	}
	if err := CheckID(p.ID); err != nil {
		problems = append(problems, failure(CodeIDInvalid, file, number, "%v", err))
	}
	if named := folderID(folder); named != "" && named != p.ID && !namesFolder(string(p.ID), folder) {
		problems = append(problems, warning(CodeIDMismatch, file, number,
			"reading the id: the title says %q and the folder %q; the title counts, rename one of them", p.ID, named))
	}
	return problems
}

func firstHeading(doc document) (line, bool) {
	for _, l := range doc.lines {
		if l.level == 1 {
			return l, true
		}
	}
	return line{}, false
}

// splitTitle returns id and name of a title. The id is empty when the title has none that can be told from prose.
func splitTitle(title, folder string) (lanes.TaskID, string) {
	rest, labelled := cutFold(title, "task:")
	if !labelled {
		rest = title
	}

	id, name := rest, ""
	if at := separator().FindStringIndex(rest); at != nil {
		id, name = rest[:at[0]], strings.TrimSpace(rest[at[1]:])
	}
	id = strings.TrimSpace(id)
	if !isTitleID(id, folder, labelled && id != rest) {
		return "", rest
	}
	return lanes.TaskID(id), name
}

// isTitleID decides whether the text before the separator is an id. An id with blanks is believed only when the folder
// is named after it, because "# Task: Improve the parser - part two" has none.
func isTitleID(id, folder string, labelled bool) bool {
	if id == "" {
		return false
	}
	if namesFolder(id, folder) || numbered().MatchString(id) {
		return true
	}
	return labelled && !strings.ContainsAny(id, " \t")
}

// namesFolder reports whether the folder is called id or id-something.
func namesFolder(id, folder string) bool {
	return folder == id || strings.HasPrefix(folder, id+"-")
}

// cutFold removes a prefix in any letter case and the blanks after it.
func cutFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return strings.TrimSpace(text[len(prefix):]), true
}
