package guard

import "strings"

// Unknown parts of a word are carried as control characters that no readable line contains.
const (
	hole      = "\x00" // one unknown text that stays inside its word
	splitHole = "\x01" // unquoted: may become several words
	fieldGap  = "\x02" // a word boundary that an expansion brought in
	reserved  = hole + splitHole + fieldGap
)

var holes = [...]string{hole, splitHole}

func hasHole(s string) bool      { return strings.ContainsAny(s, hole+splitHole) }
func holeIndex(s string) int     { return strings.IndexAny(s, hole+splitHole) }
func lastHoleIndex(s string) int { return strings.LastIndexAny(s, hole+splitHole) }
func mayBeSeveral(s string) bool { return strings.Contains(s, splitHole) }
func onlyHole(s string) bool     { return s == hole || s == splitHole }
func unknown(quoted bool) string {
	if quoted {
		return hole
	}
	return splitHole
}

func anyHole(args []string) bool {
	for _, a := range args {
		if hasHole(a) {
			return true
		}
	}
	return false
}

func anySeveral(args []string) bool {
	for _, a := range args {
		if mayBeSeveral(a) {
			return true
		}
	}
	return false
}
