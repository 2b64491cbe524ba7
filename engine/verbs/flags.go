package verbs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ferrox/gates/epoch"
)

// The flags of a verb are read by name: the first occurrence wins, the next word is the value whatever it is, a name in last
// position has no value, and unknown words mean nothing (verbs.md 2.2). What is wrong is gathered, and usage says all of it.

// value returns the word after a flag.
func (c *call) value(name string) (string, bool) {
	i := slices.Index(c.args, "--"+name)
	if i < 0 || i+1 >= len(c.args) {
		return "", false
	}
	return c.args[i+1], true
}

func (c *call) wrong(name, format string, args ...any) {
	c.bad = append(c.bad, "--"+name+": "+fmt.Sprintf(format, args...))
}

// text is a required value that may be empty.
func (c *call) text(name string) string {
	v, ok := c.value(name)
	if !ok {
		c.wrong(name, "missing")
	}
	return v
}

// id is a required value that may not be empty.
func (c *call) id(name string) string {
	v, ok := c.value(name)
	if !ok || v == "" {
		c.wrong(name, "missing or empty")
	}
	return v
}

// optional is a value that may be absent; then it is nil.
func (c *call) optional(name string) *string {
	v, ok := c.value(name)
	if !ok {
		return nil
	}
	return &v
}

// number is a required plain decimal number.
func (c *call) number(name string) float64 {
	v, ok := c.value(name)
	if !ok {
		c.wrong(name, "missing")
		return 0
	}
	f, ok := parseNumber(v)
	if !ok {
		c.wrong(name, "%s is no plain decimal number", strconv.Quote(v))
	}
	return f
}

// optionalNumber is a plain decimal number that may be absent; then it is nil.
func (c *call) optionalNumber(name string) *float64 {
	if _, ok := c.value(name); !ok {
		return nil
	}
	f := c.number(name)
	return &f
}

// instant is a required number of epoch milliseconds.
func (c *call) instant(name string) epoch.Millis { return epoch.Millis(c.number(name)) }

// now is the instant that records are stamped with; it needs a text form.
func (c *call) now() epoch.Millis {
	t := c.instant("now-ts")
	if !t.Valid() {
		c.wrong("now-ts", "outside the range of dates; write epoch milliseconds")
	}
	return t
}

// list is a required list, split at commas.
func (c *call) list(name string) []string { return splitList(c.text(name), ",") }

// split cuts a list, trims the parts and drops the empty ones.
func splitList(text, sep string) []string {
	parts := []string{}
	for p := range strings.SplitSeq(text, sep) {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// optionalList is a list that may be absent; then it is empty.
func (c *call) optionalList(name, sep string) []string {
	v, _ := c.value(name)
	return splitList(v, sep)
}

// present says that a flag without a value was given.
func (c *call) present(name string) bool { return slices.Contains(c.args, "--"+name) }

// truth is a flag that is set by standing there, alone or with "true"; "false" takes it back.
func (c *call) truth(name string) bool {
	if !c.present(name) {
		return false
	}
	v, ok := c.value(name)
	if !ok || strings.HasPrefix(v, "--") {
		return true
	}
	if v != "true" && v != "false" {
		c.wrong(name, "%s is neither true nor false", strconv.Quote(v))
	}
	return v == "true"
}

// usage says what is wrong with the call, or with the project it was made in. Verbs ask it before they touch a file.
func (c *call) usage() error {
	if len(c.bad) > 0 {
		return usageError{reason: c.verb.badArgs(), text: c.verb.usage() + "; " + strings.Join(c.bad, "; ")}
	}
	return c.project.err
}

// invalid is a usage error about a value that is more than a word.
func (c *call) invalid(name string, err error) error {
	return usageError{reason: reasonArgs, text: c.verb.usage() + "; --" + name + ": " + err.Error()}
}

// parseNumber reads a plain decimal number: "7", "+7", " 7 ", "7.", ".5", "-3", "1e3". Anything else, and what is not finite,
// is none.
func parseNumber(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(text), "e")
	if hasExponent && !allDigits(trimSign(exponent)) {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(trimSign(mantissa), ".")
	if whole+fraction == "" || !allDigits(whole+fraction) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, false
	}
	return f + 0, true // no negative zero
}

func trimSign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
