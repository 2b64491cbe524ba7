package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a Go duration that may begin with days: "4h", "30d", "1d12h". Signs are Go's.
func ParseDuration(text string) (time.Duration, error) {
	head, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		return time.ParseDuration(text)
	}

	// ParseFloat takes more spellings than a duration may have: hex, exponents, "inf".
	if strings.Trim(head, "0123456789.") != "" {
		return 0, fmt.Errorf("read duration %q: write days first, as in \"1d12h\"", text)
	}
	days, err := strconv.ParseFloat(head, 64)
	if err != nil {
		return 0, fmt.Errorf("read duration %q: write days as a number, as in \"30d\"", text)
	}
	if days > math.MaxInt64/float64(day)/2 {
		return 0, fmt.Errorf("read duration %q: too long, stay below 100 years", text)
	}

	total := time.Duration(days * float64(day))
	if rest == "" {
		return total, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || more > math.MaxInt64-total {
		return 0, fmt.Errorf("read duration %q: write the rest as a Go duration, as in \"1d12h\"", text)
	}
	return total + more, nil
}

// formatDuration writes a limit as people write it: whole days as "30d", others as Go does without idle zeros.
func formatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
