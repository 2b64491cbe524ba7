package settings

import "strings"

// Nearest returns the known word that is a typing error away from word, or "".
func Nearest(word string, known []string) string {
	best, limit := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(word), k); d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes, capped for words that no key resembles.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}

	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
