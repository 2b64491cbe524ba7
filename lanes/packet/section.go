package packet

import "strings"

// section returns the body of a level-2 section: up to the next heading of the same or a higher level, whatever blank
// lines, rules and sub-headings stand in between. A section that stands there twice is read as one, with a warning.
func (d document) section(title string) (body []line, found bool, problems []Problem) {
	inside := false
	for _, l := range d.lines {
		named := l.level > 0 && sectionName(l.title) == strings.ToLower(title)
		switch {
		case l.level == 2 && named:
			if found {
				problems = append(problems, warning(CodeSectionTwice, d.file, l.number,
					"reading the section %q: it stands here again and both are read; join them", title))
			}
			inside, found = true, true
		case l.level > 0 && l.level <= 2:
			inside = false
		case named:
			problems = append(problems, warning(CodeSectionLevel, d.file, l.number,
				"reading the section %q: a heading of level %d does not start it; write ## %s", title, l.level, title))
		case inside:
			body = append(body, l)
		}
	}
	return body, found, problems
}

// sectionName is a heading's title as it is compared: lower case, without a colon or a remark in brackets at its end.
func sectionName(title string) string {
	name, _, _ := strings.Cut(title, "(")
	return strings.ToLower(strings.TrimSpace(strings.TrimRight(name, ": \t")))
}

// bullet returns the text of a list item, "- text", "* text", "+ text" or "1. text".
func bullet(text string) (item string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", false
	}
	if strings.ContainsRune("-*+", rune(text[0])) {
		return blankLed(text[1:])
	}
	rest := strings.TrimLeft(text, "0123456789")
	if rest == text || rest == "" || rest[0] != '.' && rest[0] != ')' {
		return "", false
	}
	return blankLed(rest[1:])
}

// blankLed returns the trimmed text when it is empty or begins with a blank.
func blankLed(text string) (string, bool) {
	if text != "" && text[0] != ' ' && text[0] != '\t' {
		return "", false
	}
	return strings.TrimSpace(text), true
}

// codeSpan reads a code span at the start of text and returns its content and what follows.
func codeSpan(text string) (content, rest string, ok bool) {
	ticks := len(text) - len(strings.TrimLeft(text, "`"))
	if ticks == 0 {
		return "", text, false
	}
	content, rest, ok = strings.Cut(text[ticks:], text[:ticks])
	if !ok || strings.TrimSpace(content) == "" {
		return "", text, false
	}
	return strings.TrimSpace(content), rest, true
}

// isNone reports whether an entry says that there is nothing: the whole word None, marked up or not, followed by
// nothing or by a remark. "nonexistent" and "None of these" say something else.
func isNone(entry string) bool {
	entry = strings.TrimLeft(entry, "*_` (")
	if len(entry) < 4 || !strings.EqualFold(entry[:4], "none") {
		return false
	}
	rest := strings.TrimLeft(entry[4:], "*_`)")
	return rest == "" || startsRemark(rest)
}

// startsRemark reports whether what follows an entry is punctuation, so that the entry ended before it.
func startsRemark(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" {
		return true
	}
	for _, mark := range []string{"(", "—", "–", "-", ".", ",", ";", ":"} {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	return false
}
