package guard

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// literal reads the escapes of a piece of a word as the shell does. Outside of quotes, globs and a leading tilde are
// not known: they become whatever the disk holds.
func literal(v string, quoted, first bool) string {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		ch := v[i]
		switch {
		case ch == '\\' && i+1 < len(v):
			i++
			if v[i] == '\n' {
				continue
			}
			if quoted && !strings.ContainsRune("$`\"\\", rune(v[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(v[i])
		case quoted:
			b.WriteByte(ch)
		case ch == '*' || ch == '?' || ch == '[' && strings.IndexByte(v[i:], ']') > 0:
			b.WriteString(splitHole)
		case ch == '~' && i == 0 && first:
			b.WriteString(hole)
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

var simpleEscapes = map[byte]byte{
	'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': '\n', 'r': '\r', 't': '\t', 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiC reads $'…'. What it cannot read, and what would clash with the marks for unknown text, is unknown.
func ansiC(v string) string {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			b.WriteByte(v[i])
			continue
		}
		i++
		if s, ok := simpleEscapes[v[i]]; ok {
			b.WriteByte(s)
			continue
		}
		s, n := numberEscape(v[i:])
		b.WriteString(s)
		i += n - 1
	}
	return b.String()
}

// numberEscape reads the part after the backslash of \101, \x41, \u0041; it returns the text and the bytes used.
func numberEscape(v string) (string, int) {
	base, start, limit := 8, 0, 3
	switch v[0] {
	case 'x':
		base, start, limit = 16, 1, 2
	case 'u':
		base, start, limit = 16, 1, 4
	case 'U':
		base, start, limit = 16, 1, 8
	case 'c':
		return hole, min(2, len(v))
	}
	end := start
	for end < len(v) && end-start < limit && isDigit(v[end], base) {
		end++
	}
	n, err := strconv.ParseUint(v[start:end], base, 32)
	if err != nil {
		return "\\" + v[:1], 1
	}
	if n < 4 {
		return hole, end
	}
	if v[0] == 'u' || v[0] == 'U' {
		return string(utf8.AppendRune(nil, rune(n))), end
	}
	return string([]byte{byte(n)}), end
}

func isDigit(b byte, base int) bool {
	if base == 8 {
		return b >= '0' && b <= '7'
	}
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}
