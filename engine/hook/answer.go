package hook

import (
	"encoding/json"
	"fmt"
	"io"
)

// exitBlock is what every agent takes for "do not run this".
const exitBlock = 2

// answer is what comes of an event: it may run, perhaps with a note for people, or it may not, for a reason.
type answer struct {
	block bool
	text  string // the reason, or the note; "" for no note
}

type specific struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason"`
}

type output struct {
	Decision string    `json:"decision,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"systemMessage,omitempty"`
	Specific *specific `json:"hookSpecificOutput,omitempty"`
}

// write gives the answer in the agent's format and returns the exit code. A block says so three ways, because agents differ in
// which they heed: exit code, reason on stderr, JSON on stdout.
func (a answer) write(f Format, stdout, stderr io.Writer) int {
	if a.block {
		// The exit code is the part that counts; an answer that cannot be written is still a block.
		_, _ = fmt.Fprintln(stderr, a.text)
		_ = writeJSON(stdout, a.blocked(f))
		return exitBlock
	}
	// "allow" is never said: to Claude Code it would mean that the person is not asked either.
	var err error
	switch {
	case f == FormatGemini || f == FormatCodex && a.text != "":
		err = writeJSON(stdout, output{Message: a.text})
	case a.text != "":
		_, err = fmt.Fprintln(stdout, a.text)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "write the hook's answer:", err)
		return exitBlock
	}
	return 0
}

func (a answer) blocked(f Format) output {
	switch f {
	case FormatGemini:
		return output{Decision: "deny", Reason: a.text}
	case FormatClaude, FormatCodex:
		return output{Decision: "block", Reason: a.text, Specific: &specific{"PreToolUse", "deny", a.text}}
	case FormatPlain:
	}
	return output{Decision: "block", Reason: a.text}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
