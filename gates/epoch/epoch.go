// Package epoch holds the instants of the decision verbs: epoch milliseconds that a caller hands in, never a clock.
package epoch

import (
	"fmt"
	"math"
	"time"
)

// limit is the last millisecond of a date in the text form, 275760-09-13 (verbs.md 2.3).
const limit = 8.64e15

// Millis is an instant in milliseconds since 1970 in UTC. Fractions and negative values are legal.
type Millis float64

// Valid reports whether the instant has a text form.
func (m Millis) Valid() bool { return math.Abs(float64(m)) <= limit }

// SecondsSince returns the seconds from start to m; negative when the clock ran backwards.
func (m Millis) SecondsSince(start Millis) float64 { return float64(m-start) / 1000 }

// String returns ISO 8601 in UTC with milliseconds and "Z". Years outside 0 … 9999 have a sign and six digits.
func (m Millis) String() string {
	t := time.UnixMilli(int64(m)).UTC()
	year := t.Year()
	rest := t.Format("-01-02T15:04:05.000Z")
	switch {
	case year < 0:
		return fmt.Sprintf("-%06d%s", -year, rest)
	case year > 9999:
		return fmt.Sprintf("+%06d%s", year, rest)
	default:
		return fmt.Sprintf("%04d%s", year, rest)
	}
}
