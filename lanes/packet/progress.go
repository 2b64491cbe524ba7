package packet

import (
	"fmt"
	"slices"
)

// Progress is how far a task is by its STATUS.md, measured against the steps of its PROMPT.md.
type Progress struct {
	StepsDone  int
	StepsTotal int // steps of PROMPT.md and those that only STATUS.md has
	Boxes      int // ticked boxes
	Open       []OpenStep
	NoSteps    bool // PROMPT.md or STATUS.md has no step that can be read: nothing can be complete
}

// OpenStep is a step that is not done.
type OpenStep struct {
	Number   int
	Name     string
	Unticked int    // open boxes
	Why      string // for people
}

// ProgressOf reads a STATUS.md and compares it with the packet. A step is done when it has boxes and all are ticked, or has
// none and its Status line says exactly that it is complete. A complete line over open boxes is open, and so is a step
// that STATUS.md left out.
func ProgressOf(prompt Packet, status []byte) Progress {
	found, _ := ReadStatus(StatusName, status)
	progress := Progress{NoSteps: len(found.Steps) == 0 || len(prompt.Steps) == 0}

	written := map[int]Step{}
	for _, s := range found.Steps {
		written[s.Number] = join(written, s)
		progress.Boxes += s.Checked
	}
	for _, s := range wanted(prompt.Steps, found.Steps) {
		got, there := written[s.Number]
		progress.count(s, got, there)
	}
	return progress
}

// wanted lists the steps of PROMPT.md, then those that only STATUS.md has, each number once.
func wanted(prompt, status []Step) []Step {
	var steps []Step
	for _, s := range slices.Concat(prompt, status) {
		if !slices.ContainsFunc(steps, func(o Step) bool { return o.Number == s.Number }) {
			steps = append(steps, s)
		}
	}
	return steps
}

// join adds a step to one of the same number, so that a second heading cannot hide the boxes of the first.
func join(written map[int]Step, s Step) Step {
	before, twice := written[s.Number]
	if !twice {
		return s
	}
	before.Total += s.Total
	before.Checked += s.Checked
	if s.State != StateComplete {
		before.State = s.State
	}
	return before
}

func (p *Progress) count(want, got Step, there bool) {
	p.StepsTotal++
	why := openBecause(got, there)
	if why == "" {
		p.StepsDone++
		return
	}
	open := OpenStep{Number: want.Number, Name: want.Name, Unticked: got.Total - got.Checked, Why: why}
	if !there {
		open.Unticked = want.Total
	}
	p.Open = append(p.Open, open)
}

// openBecause says why a step is not done, or nothing when it is.
func openBecause(s Step, there bool) string {
	switch {
	case !there:
		return "STATUS.md does not have it"
	case s.Total > s.Checked:
		return fmt.Sprintf("%d of %d boxes are open", s.Total-s.Checked, s.Total)
	case s.Total == 0 && s.State != StateComplete:
		return "it has no box, and its Status line does not say ✅ Complete"
	}
	return ""
}
