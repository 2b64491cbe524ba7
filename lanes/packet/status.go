package packet

import (
	"strconv"
	"strings"
)

// Status is what STATUS.md says. Its header and its steps often contradict each other; nothing is made of that here.
type Status struct {
	Present       bool
	CurrentStep   string
	Status        string // the header's wording, sign included
	LastUpdated   string
	Size          string
	ReviewLevel   *int // nil when the header has none, or no number
	ReviewCounter *int
	Iteration     *int
	Steps         []Step // in the order of the file
}

// ReadStatus reads a STATUS.md. Its problems are warnings: a worker writes the file, and what is not there is not done.
func ReadStatus(file string, body []byte) (Status, []Problem) {
	doc, problems := readDocument(file, body)
	status := Status{Present: true}
	status.readHeader(doc)

	steps, odd := doc.steps()
	status.Steps = steps
	for _, l := range odd {
		problems = append(problems, warning(CodeStepHeading, file, l.number,
			"reading the steps: %q is not read as a step; write ### Step N: name", shorten(l.title)))
	}
	problems = append(problems, doubles(file, steps, warning)...)
	problems = append(problems, checkStates(file, steps)...)
	if len(steps) == 0 {
		problems = append(problems, warning(CodeNoSteps, file, 0, "reading the steps: there is none; copy the steps of PROMPT.md"))
	}
	for i := range problems {
		problems[i].Severity = SeverityWarning
	}
	return status, problems
}

// readHeader reads the bold fields above the first section.
func (s *Status) readHeader(doc document) {
	texts := map[string]*string{
		"current step": &s.CurrentStep, "status": &s.Status, "last updated": &s.LastUpdated, "size": &s.Size,
	}
	numbers := map[string]**int{
		"review level": &s.ReviewLevel, "review counter": &s.ReviewCounter, "iteration": &s.Iteration,
	}
	for _, l := range doc.lines {
		if l.level > 1 {
			return
		}
		name, value, ok := fieldOf(l)
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		if text := texts[name]; text != nil && *text == "" {
			*text = value
		}
		if number := numbers[name]; number != nil && *number == nil {
			*number = leadingNumber(value)
		}
	}
}

// leadingNumber reads the first word of a value as a number that is not negative; nil when it is none.
func leadingNumber(value string) *int {
	word, _, _ := strings.Cut(value, " ")
	number, err := strconv.Atoi(word)
	if err != nil || number < 0 {
		return nil
	}
	return &number
}

func checkStates(file string, steps []Step) []Problem {
	var problems []Problem
	for _, s := range steps {
		if s.State == StateUnknown {
			problems = append(problems, warning(CodeStateUnknown, file, s.Line,
				"reading step %d: its Status is none of the known ones and counts as open; write ✅ Complete, 🟨 In Progress or ⬜ Not Started", s.Number))
		}
	}
	return problems
}
