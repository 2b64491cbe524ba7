package antiloop

import "slices"

// Budget is the limits at which a review closes: 3 rounds permit three, 2 lineages permit one reviewer.
type Budget struct {
	MaxRounds   float64 `json:"max_rounds"`
	MaxLineages float64 `json:"max_lineages"`
}

// State is the fold of the records of one key.
type State struct {
	Budget   *Budget
	Rounds   int
	Lineages []string // distinct, in lower case, in order of first sight
	Findings []Record

	declared bool // a declaration stands in the log, good or not
}

// Fold counts the records of one key.
func Fold(records []Record, key Key) State {
	s := State{Lineages: []string{}, Findings: []Record{}}
	for _, r := range records {
		if KeyOf(r.Artifact, r.Question) != key {
			continue
		}
		switch r.Kind {
		case KindBudget:
			s.declare(r)
		case KindRound:
			s.Open(r.Lineage)
		case KindFinding:
			s.Findings = append(s.Findings, r)
		}
	}
	return s
}

// declare takes the first declaration, if it is whole and was made before any round.
func (s *State) declare(r Record) {
	first := !s.declared
	s.declared = true
	if !first || s.Rounds > 0 || !whole(r.MaxRounds) || !whole(r.MaxLineages) {
		return
	}
	s.Budget = &Budget{*r.MaxRounds, *r.MaxLineages}
}

func whole(f *float64) bool { return f != nil && *f >= 0 && *f == float64(int64(*f)) }

// MayDeclare says whether a budget may be declared: once for a key.
func (s State) MayDeclare() (Code, bool) {
	if s.declared {
		return CodeRedeclared, false
	}
	return "", true
}

// MayOpen says whether a reviewer of a lineage may open one more round. The rounds so far must be below their limit, the
// lineages with this one below theirs.
func (s State) MayOpen(lineage string) (Code, bool) {
	if s.Budget == nil {
		return CodeUndeclared, false
	}
	lineages := len(s.Lineages)
	if !slices.Contains(s.Lineages, fold(lineage)) {
		lineages++
	}
	if float64(s.Rounds) >= s.Budget.MaxRounds || float64(lineages) >= s.Budget.MaxLineages {
		return CodeSpent, false
	}
	return "", true
}

// next says what the reviewer who is most likely let in would be told: one that was here before, or the first.
func (s State) next() (Code, bool) {
	if len(s.Lineages) == 0 {
		return s.MayOpen("")
	}
	return s.MayOpen(s.Lineages[0])
}

// Blocks says whether a finding may block: only with a command that ended non-zero. Severity does not matter.
func Blocks(requested bool, command string, exit *float64) bool {
	return requested && fold(command) != "" && exit != nil && *exit != 0
}

// Status is the answer of antiloop.status.
type Status struct {
	Artifact    string   `json:"artifact"`
	Question    string   `json:"question"`
	Budget      *Budget  `json:"budget"`
	Rounds      int      `json:"rounds"`
	Lineages    int      `json:"lineages"`
	Decision    string   `json:"decision"` // open, or the code of the refusal that the next open-round gets
	Findings    []Record `json:"findings"`
	Disposition string   `json:"disposition"` // escalate-to-human or ship-with-backlog
}

// Status describes the key. The disposition is given also while the budget is not spent.
func (s State) Status(artifact, question string, securityCategories []string) Status {
	st := Status{
		Artifact: artifact, Question: question, Budget: s.Budget, Rounds: s.Rounds, Lineages: len(s.Lineages),
		Decision: "open", Findings: s.Findings, Disposition: "ship-with-backlog",
	}
	if code, ok := s.next(); !ok {
		st.Decision = string(code)
	}
	for _, f := range s.Findings {
		security := slices.ContainsFunc(securityCategories, func(c string) bool { return fold(c) == fold(f.Category) })
		if security && (f.Blocking == nil || !*f.Blocking) {
			st.Disposition = "escalate-to-human"
		}
	}
	return st
}

// Open counts one more round.
func (s *State) Open(lineage string) {
	s.Rounds++
	if l := fold(lineage); !slices.Contains(s.Lineages, l) {
		s.Lineages = append(s.Lineages, l)
	}
}
