package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// The reasons of an error as JSON (verbs.md 2.5).
const (
	reasonUnknown = "unknown"
	reasonArgs    = "InvalidArgs"
	reasonCommand = "sdk_unknown_command"
	reasonGlobal  = "usage"
	reasonUsage   = reasonGlobal
)

// usageError is a call that can't be understood.
type usageError struct {
	reason string
	text   string
}

func (e usageError) Error() string { return e.text }

// refusal is an answer that ends with a non-zero status by design: the antiloop verbs and the merge hook have them.
type refusal struct {
	code   string
	text   string
	status int
}

func (e refusal) Error() string { return e.code + ": " + e.text }

// status maps an error to the exit status.
func status(err error) int {
	var r refusal
	switch {
	case err == nil:
		return 0
	case errors.As(err, &r) && r.status != 0:
		return r.status
	default:
		return 1
	}
}

// report writes warnings and the error to stderr. As JSON that is one object.
func (c *call) report(w io.Writer, err error) {
	if err != nil && c.jsonErrors {
		_ = json.NewEncoder(w).Encode(struct {
			OK       bool     `json:"ok"`
			Reason   string   `json:"reason"`
			Message  string   `json:"message"`
			Warnings []string `json:"warnings,omitempty"`
		}{Reason: reasonOf(err), Message: err.Error(), Warnings: c.warnings})
		return
	}
	for _, text := range c.warnings {
		fmt.Fprintf(w, "Warning: %s\n", plain(text))
	}
	if err != nil {
		fmt.Fprintf(w, "Error: %s\n", plain(err.Error()))
	}
}

func reasonOf(err error) string {
	var u usageError
	var r refusal
	switch {
	case errors.As(err, &u):
		return u.reason
	case errors.As(err, &r):
		return r.code
	default:
		return reasonUnknown
	}
}

// plain escapes what a terminal would act on; lines stay lines.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}
