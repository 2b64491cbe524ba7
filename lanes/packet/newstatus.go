package packet

import (
	"bytes"
	"fmt"
)

// NewStatus writes the STATUS.md that a packet without one starts with: every step of PROMPT.md, nothing ticked. A step
// without boxes gets one that bears its name, so that finishing it can be said. The result depends on the packet only.
func NewStatus(p Packet) []byte {
	var b bytes.Buffer
	current := "none"
	if len(p.Steps) > 0 {
		current = stepTitle(p.Steps[0])
	}
	fmt.Fprintf(&b, "# %s: %s — Status\n\n", p.ID, p.Title)
	fmt.Fprintf(&b, "**Current Step:** %s\n**Status:** 🔵 Ready for Execution\n**Last Updated:** not yet\n", current)
	fmt.Fprintf(&b, "**Review Level:** %d\n**Review Counter:** 0\n**Iteration:** 0\n**Size:** %s\n", p.ReviewLevel, p.Size)
	for _, s := range p.Steps {
		writeStep(&b, s)
	}
	b.WriteString("\n---\n\n## Reviews\n\n| # | Type | Step | Verdict | File |\n|---|------|------|---------|------|\n")
	b.WriteString("\n## Execution Log\n\n| Timestamp | Action | Outcome |\n|-----------|--------|---------|\n")
	b.WriteString("\n## Blockers\n\n*None*\n")
	return b.Bytes()
}

func writeStep(b *bytes.Buffer, s Step) {
	fmt.Fprintf(b, "\n---\n\n### %s\n\n**Status:** ⬜ Not Started\n\n", stepTitle(s))
	for _, box := range s.Boxes {
		fmt.Fprintf(b, "- [ ] %s\n", box.Text)
	}
	if len(s.Boxes) == 0 {
		fmt.Fprintf(b, "- [ ] %s\n", s.Name)
	}
}

func stepTitle(s Step) string { return fmt.Sprintf("Step %d: %s", s.Number, s.Name) }
