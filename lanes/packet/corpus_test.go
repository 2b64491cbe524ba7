package packet_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/lanes/packet"
)

const corpus = "../../testdata/packets"

// fact is the intended reading of one packet, written down before the parser was.
type fact struct {
	Dir         string      `json:"dir"`
	ID          string      `json:"id"`
	Title       string      `json:"title"`
	Size        string      `json:"size"`
	Level       *int        `json:"level"` // nil: not declared
	DependsOn   []string    `json:"depends_on"`
	Scope       []string    `json:"scope"`
	PromptSteps [][2]int    `json:"prompt_steps"` // number, boxes
	Status      *factStatus `json:"status"`       // nil: no STATUS.md
	Gates       []factGate  `json:"gates"`
	Done        bool        `json:"done"`
}

type factStatus struct {
	Steps     []factStep `json:"steps"`
	Status    string     `json:"status"`
	Counter   *int       `json:"counter"`
	Iteration *int       `json:"iteration"`
}

type factStep struct {
	Number  int    `json:"n"`
	Checked int    `json:"checked"`
	Total   int    `json:"total"`
	State   string `json:"state"`
}

type factGate struct {
	Name    string   `json:"name"`
	Number  int      `json:"number"`
	Verdict string   `json:"verdict"`
	Text    *string  `json:"text,omitempty"` // how the verdict as written begins, when it is not the bare word
	History []string `json:"history"`
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	facts := readFacts(t)
	if len(facts) != 44 {
		t.Fatalf("facts of %d packets, want 44", len(facts))
	}
	for _, want := range facts {
		t.Run(want.Dir, func(t *testing.T) {
			t.Parallel()
			p, problems := packet.Parse(readFiles(t, want.Dir))
			if diff := cmp.Diff(want, factOf(p, want)); diff != "" {
				t.Errorf("reading (-want +got):\n%s", diff)
			}
			checkCorpusProblems(t, want.Dir, problems)
		})
	}
}

// TestCorpusIsWhole keeps a packet from being added without facts, or dropped with them.
func TestCorpusIsWhole(t *testing.T) {
	t.Parallel()
	var found []string
	err := filepath.WalkDir(corpus, func(name string, _ os.DirEntry, err error) error {
		if filepath.Base(name) == packet.PromptName {
			rel, _ := filepath.Rel(corpus, filepath.Dir(name))
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range readFacts(t) {
		known[f.Dir] = true
	}
	if len(found) != len(known) {
		t.Errorf("%d packets, %d facts", len(found), len(known))
	}
	for _, dir := range found {
		if !known[dir] {
			t.Errorf("no facts of %s", dir)
		}
	}
}

// TestCorpusKeepsCarriageReturns fails when a checkout changed the line endings of the one packet that has CRLF.
func TestCorpusKeepsCarriageReturns(t *testing.T) {
	t.Parallel()
	f := readFiles(t, "derived/TP-062-crlf/TP-062-status-step-display-fix")
	if n := strings.Count(string(f.Prompt), "\r\n"); n == 0 || n != strings.Count(string(f.Prompt), "\n") {
		t.Errorf("%d of %d lines end with CRLF, want all", n, strings.Count(string(f.Prompt), "\n"))
	}
}

// corpusErrors are the packets that must not run, with the reason.
var corpusErrors = map[string]packet.ProblemCode{
	"derived/TP-069-h2-steps/TP-069-verdict-extraction-cleanup": packet.CodeNoSteps,
	"synthetic/SYN-001/SYN-001-two-repo-segments":               packet.CodeSegments,
	"synthetic/SYN-005/SYN-005-zero-steps":                      packet.CodeNoSteps,
}

func checkCorpusProblems(t *testing.T, dir string, problems []packet.Problem) {
	t.Helper()
	for _, p := range problems {
		if p.Severity == packet.SeverityError && corpusErrors[dir] != p.Code {
			t.Errorf("unexpected error: %s", p)
		}
	}
	if want := corpusErrors[dir]; want != "" && !packet.Failed(problems) {
		t.Errorf("no error, want %s", want)
	}
}

func readFacts(t *testing.T) []fact {
	t.Helper()
	body, err := os.ReadFile("testdata/facts.json")
	if err != nil {
		t.Fatal(err)
	}
	var facts []fact
	if err := json.Unmarshal(body, &facts); err != nil {
		t.Fatal(err)
	}
	return facts
}

// readFiles loads a packet folder as the engine would.
func readFiles(t testing.TB, dir string) packet.Files {
	t.Helper()
	f := packet.Files{Dir: dir, Reviews: map[string][]byte{}}
	f.Prompt, f.HasPrompt = readFile(t, dir, packet.PromptName)
	f.Status, f.HasStatus = readFile(t, dir, packet.StatusName)
	f.Done, f.HasDone = readFile(t, dir, packet.DoneName)

	entries, err := os.ReadDir(filepath.Join(corpus, dir, packet.ReviewsName))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		f.Reviews[e.Name()], _ = readFile(t, path.Join(dir, packet.ReviewsName), e.Name())
	}
	return f
}

func readFile(t testing.TB, dir, name string) ([]byte, bool) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(corpus, dir, name))
	if os.IsNotExist(err) {
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return body, true
}

// factOf turns a packet into the form of the facts. Verdict texts are cut to the length that the fact has.
func factOf(p packet.Packet, want fact) fact {
	got := fact{
		Dir: p.Dir, ID: string(p.ID), Title: p.Title, Size: string(p.Size),
		DependsOn: []string{}, Scope: []string{}, PromptSteps: [][2]int{}, Gates: []factGate{}, Done: p.Done,
	}
	if p.LevelDeclared {
		got.Level = &p.ReviewLevel
	}
	for _, d := range p.DependsOn {
		got.DependsOn = append(got.DependsOn, d.Written)
	}
	got.Scope = append(got.Scope, p.Scope.Entries...)
	for _, s := range p.Steps {
		got.PromptSteps = append(got.PromptSteps, [2]int{s.Number, s.Total})
	}
	got.Status = statusFact(p.Status)
	texts := map[string]*string{}
	for _, g := range want.Gates {
		texts[g.Name] = g.Text
	}
	for _, name := range want.Gates { // facts are in the order of the numbers, gates in that of the names
		for _, g := range p.Gates {
			if g.Name == name.Name {
				got.Gates = append(got.Gates, gateFact(g, texts[g.Name]))
			}
		}
	}
	if len(p.Gates) != len(want.Gates) {
		for _, g := range p.Gates {
			got.Gates = append(got.Gates, gateFact(g, nil))
		}
	}
	return got
}

func statusFact(s packet.Status) *factStatus {
	if !s.Present {
		return nil
	}
	got := &factStatus{Steps: []factStep{}, Status: s.Status, Counter: s.ReviewCounter, Iteration: s.Iteration}
	for _, step := range s.Steps {
		got.Steps = append(got.Steps, factStep{step.Number, step.Checked, step.Total, string(step.State)})
	}
	return got
}

func gateFact(g packet.Gate, text *string) factGate {
	got := factGate{Name: g.Name, Number: g.Number, Verdict: g.Verdict}
	if text != nil {
		start := g.Text[:min(len(g.Text), len(*text))]
		got.Text = &start
	} else if g.Text != g.Verdict && g.Text != "**"+g.Verdict+"**" {
		got.Text = &g.Text
	}
	for _, r := range g.History {
		got.History = append(got.History, r.Verdict)
	}
	return got
}
