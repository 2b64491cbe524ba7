package packet

import (
	"strconv"
	"strings"
)

// State is how far a step is, by its own Status line.
type State string

// The states of a step. Unknown stands for any other wording: it is never taken for complete.
const (
	StateComplete   State = "complete"
	StateInProgress State = "in-progress"
	StateNotStarted State = "not-started"
	StateUnknown    State = "unknown"
)

// Step is one "### Step N: name" with what belongs to it: everything up to the next heading of that or a higher level.
type Step struct {
	Number  int
	Name    string
	State   State // not-started when the step has no Status line, as in PROMPT.md
	Checked int   // ticked boxes
	Total   int   // boxes
	Boxes   []Box
	Line    int
}

// Box is one checkbox.
type Box struct {
	Text   string
	Ticked bool
	Line   int
}

// stepHeading is the one form of a step's heading. "Step 0–4" is a range and no step.
var stepHeading = pattern(`^Step (\d{1,6})(?:\s*:\s*|\s+[-–—]\s+|\s*$)(.*)$`)

// stepLike is what a person would take for a step's heading.
var stepLike = pattern(`(?i)^step\s*\d`)

// box is a checkbox: blank is open, x is ticked, and any other mark, "[~]" or "[-]", is open too.
var box = pattern(`^\[([ xX~/>!?-])\](?:\s+(.*))?$`)

// statusWords are the exact wordings of a step's state, without the sign before them.
var statusWords = map[string]State{
	"complete": StateComplete, "completed": StateComplete, "done": StateComplete,
	"in progress": StateInProgress, "in-progress": StateInProgress,
	"not started": StateNotStarted, "not-started": StateNotStarted,
}

// statusSigns are the signs that stand before the words, or alone.
var statusSigns = map[string]State{
	"✅": StateComplete, "🟢": StateComplete,
	"🟨": StateInProgress, "🟡": StateInProgress,
	"⬜": StateNotStarted, "🔵": StateNotStarted,
}

// steps reads every step of a document, and what looks like one and is none.
func (d document) steps() (steps []Step, odd []line) {
	inside, sub, stated := false, false, false
	for _, l := range d.lines {
		if l.level > 0 && l.level <= 3 {
			step, ok := parseStep(l)
			if !ok && stepLike().MatchString(l.title) {
				odd = append(odd, l)
			}
			if inside, sub, stated = ok, false, false; ok {
				steps = append(steps, step)
			}
			continue
		}
		if !inside {
			continue
		}
		sub = sub || l.level > 0
		stated = steps[len(steps)-1].take(l, sub || stated) || stated
	}
	return steps, odd
}

func parseStep(l line) (Step, bool) {
	m := stepHeading().FindStringSubmatch(l.title)
	if l.level != 3 || m == nil {
		return Step{}, false
	}
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return Step{}, false
	}
	return Step{Number: number, Name: strings.TrimSpace(m[2]), State: StateNotStarted, Line: l.number}, true
}

// take adds a line to a step and reports whether it was the step's Status line. Only the first one counts, and none
// below a sub-heading.
func (s *Step) take(l line, stated bool) bool {
	if name, value, ok := fieldOf(l); ok && !stated && strings.EqualFold(name, "Status") {
		s.State = stateOf(value)
		return true
	}
	if b, ok := boxOf(l); ok {
		s.Boxes = append(s.Boxes, b)
		s.Total++
		if b.Ticked {
			s.Checked++
		}
	}
	return false
}

func boxOf(l line) (Box, bool) {
	item, ok := bullet(l.text)
	if !ok {
		return Box{}, false
	}
	m := box().FindStringSubmatch(item)
	if m == nil {
		return Box{}, false
	}
	return Box{Text: strings.TrimSpace(m[2]), Ticked: m[1] == "x" || m[1] == "X", Line: l.number}, true
}

// stateOf reads a Status value exactly: an optional sign and one of the known wordings, which must not contradict each
// other.
func stateOf(value string) State {
	sign, signed := State(""), false
	for s, state := range statusSigns {
		if rest, ok := strings.CutPrefix(value, s); ok {
			sign, signed = state, true
			value = strings.TrimPrefix(rest, "\ufe0f")
			break
		}
	}

	words := strings.ToLower(strings.TrimSpace(value))
	if words == "" && signed {
		return sign
	}
	state, known := statusWords[words]
	if !known || signed && sign != state {
		return StateUnknown
	}
	return state
}

// readSteps reads the steps of PROMPT.md. A packet without steps cannot be finished, and a heading that is nearly a step
// would be work that nobody counts.
func (p *Packet) readSteps(doc document) []Problem {
	steps, odd := doc.steps()
	p.Steps = steps

	var problems []Problem
	for _, l := range odd {
		report := warning
		if l.level == 3 {
			report = failure
		}
		problems = append(problems, report(CodeStepHeading, doc.file, l.number,
			"reading the steps: %q is not read as a step; write ### Step N: name", shorten(l.title)))
	}
	problems = append(problems, doubles(doc.file, steps, failure)...)
	if len(steps) == 0 {
		problems = append(problems, failure(CodeNoSteps, doc.file, 0, "reading the steps: there is none; write ### Step 1: name, with boxes below it"))
	}
	return problems
}

type reporter func(code ProblemCode, file string, line int, format string, args ...any) Problem

// doubles reports step numbers that stand there twice.
func doubles(file string, steps []Step, report reporter) []Problem {
	var problems []Problem
	first := map[int]int{}
	for _, s := range steps {
		if at, seen := first[s.Number]; seen {
			problems = append(problems, report(CodeStepTwice, file, s.Line,
				"reading the steps: step %d stands in line %d already; number it anew", s.Number, at))
			continue
		}
		first[s.Number] = s.Line
	}
	return problems
}
