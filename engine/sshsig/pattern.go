package sshsig

import "strings"

// matchList matches a name against a comma-separated list of patterns as ssh does: * and ? are wildcards, and a pattern
// that begins with ! and fits excludes the name whatever else fits.
func matchList(name, list string) bool {
	matched := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, excludes := strings.CutPrefix(pattern, "!")
		if !match(name, pattern) {
			continue
		}
		if excludes {
			return false
		}
		matched = true
	}
	return matched
}

// match walks name and pattern once; after a mismatch it goes back to the last * only.
func match(name, pattern string) bool {
	n, p, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			n, p = n+1, p+1
		case star >= 0:
			mark++
			n, p = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
