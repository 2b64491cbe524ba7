package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"ferrox/lanes"
	"ferrox/lanes/graph"
	"ferrox/lanes/packet"
)

// PlanView is `ferrox plan --json`.
type PlanView struct {
	Base     lanes.Commit     `json:"base"`
	Tasks    []PlanTask       `json:"tasks"`
	Waves    [][]lanes.TaskID `json:"waves"`
	Lanes    []PlanLane       `json:"lanes"`
	Seams    []PlanSeam       `json:"seams"`
	Problems []packet.Problem `json:"problems"`
	Imports  []string         `json:"imports"` // packets that would be committed as found
}

// PlanTask is one packet of a plan.
type PlanTask struct {
	ID          lanes.TaskID     `json:"id"`
	Title       string           `json:"title"`
	Size        packet.Size      `json:"size"`
	DependsOn   []lanes.TaskID   `json:"depends_on"`
	Files       []string         `json:"files"`
	Scoped      bool             `json:"scoped"`
	ReviewLevel int              `json:"review_level"`
	Steps       []PlanStep       `json:"steps"`
	Gates       []PlanGate       `json:"gates"`
	Done        bool             `json:"done"`
	Path        string           `json:"path"`
	Problems    []packet.Problem `json:"problems"`
}

// PlanStep is one step of a packet, with its boxes in STATUS.md where that has them.
type PlanStep struct {
	Number  int    `json:"number"`
	Name    string `json:"name"`
	Checked int    `json:"checked"`
	Total   int    `json:"total"`
	State   string `json:"state,omitempty"`
}

// PlanGate is the latest verdict of one review gate.
type PlanGate struct {
	Gate    string `json:"gate"`
	Verdict string `json:"verdict"`
	File    string `json:"file"`
}

// PlanLane is one lane of a wave, as planned.
type PlanLane struct {
	Wave  int            `json:"wave"`
	Lane  lanes.Number   `json:"lane"`
	Tasks []lanes.TaskID `json:"tasks"`
}

// PlanSeam is a file or folder that many tasks meet at, and the tasks that declare it.
type PlanSeam struct {
	Seam  string         `json:"seam"`
	Tasks []lanes.TaskID `json:"tasks"`
}

// Plan looks at packets and runs nothing.
func (e *Engine) Plan(ctx context.Context, paths []string, baseRef string, limit int) (PlanView, error) {
	v := PlanView{Tasks: []PlanTask{}, Waves: [][]lanes.TaskID{}, Lanes: []PlanLane{}, Seams: []PlanSeam{}, Problems: []packet.Problem{}, Imports: []string{}}
	set, _, _, err := e.LoadSettings()
	if err != nil {
		return v, err
	}
	if limit == 0 {
		limit = set.Runner.Lanes
	}
	if baseRef == "" {
		baseRef = "HEAD"
	}
	info, err := e.Git.Inspect(ctx)
	if err != nil {
		return v, err
	}
	if err := usable(info); err != nil {
		return v, err
	}
	if v.Base, err = e.Git.Resolve(ctx, baseRef); err != nil {
		return v, refuse(ExitUsage, "no-such-revision", "git log", "--base %s: %v", baseRef, err)
	}
	all, err := e.discover(ctx, v.Base, paths, set)
	if err != nil {
		return v, err
	}
	o := &owner{Engine: e}
	extra, err := o.finishedElsewhere(ctx, v.Base, all, set)
	if err != nil {
		return v, err
	}
	all = append(all, extra...)
	var nodes []graph.Node
	for _, f := range all {
		v.add(f)
	}
	for _, t := range taskRows("", all) {
		nodes = append(nodes, graph.NodeOf(t))
	}
	v.Problems = append(v.Problems, problemsOf(all, all)...)
	v.share()
	v.lay(nodes, limit, set.Coordination.HotSeams)
	return v, nil
}

// share gives every task the problems that only the whole set shows, as an unknown dependency.
func (v *PlanView) share() {
	for i := range v.Tasks {
		t := &v.Tasks[i]
		for _, p := range v.Problems {
			if path.Dir(p.File) == t.Path && !slices.Contains(t.Problems, p) {
				t.Problems = append(t.Problems, p)
			}
		}
	}
}

func (v *PlanView) add(f found) {
	p := f.packet
	t := PlanTask{
		ID: p.ID, Title: p.Title, Size: p.Size, DependsOn: p.Needs(), Files: p.Scope.Entries, Scoped: p.Scope.Declared,
		ReviewLevel: p.ReviewLevel, Steps: []PlanStep{}, Gates: []PlanGate{}, Done: p.Done, Path: f.dir, Problems: f.issues,
	}
	if t.Files == nil {
		t.Files = []string{}
	}
	if t.Problems == nil {
		t.Problems = []packet.Problem{}
	}
	for _, s := range p.Steps {
		t.Steps = append(t.Steps, planStep(s, p.Status))
	}
	for _, g := range p.Gates {
		t.Gates = append(t.Gates, PlanGate{Gate: g.Name, Verdict: g.Verdict, File: g.File})
	}
	if len(f.changed) > 0 && !p.Done {
		v.Imports = append(v.Imports, f.dir)
	}
	v.Tasks = append(v.Tasks, t)
}

func planStep(s packet.Step, status packet.Status) PlanStep {
	step := PlanStep{Number: s.Number, Name: s.Name, Total: len(s.Boxes)}
	for _, got := range status.Steps {
		if got.Number == s.Number {
			step.Checked, step.Total, step.State = got.Checked, got.Total, string(got.State)
		}
	}
	return step
}

// lay sorts the tasks into waves and lanes. A graph that cannot be sorted is a problem that is listed already.
func (v *PlanView) lay(nodes []graph.Node, limit int, seams []string) {
	waves, err := graph.Waves(nodes)
	var cycle *graph.CycleError
	var unknown *graph.UnknownError
	if errors.As(err, &cycle) || errors.As(err, &unknown) {
		return
	}
	byID := map[lanes.TaskID]graph.Node{}
	for _, n := range nodes {
		byID[n.ID] = n
	}
	for i, wave := range waves {
		v.Waves = append(v.Waves, wave)
		members := make([]graph.Node, 0, len(wave))
		for _, id := range wave {
			members = append(members, byID[id])
		}
		for _, l := range graph.PlanLanes(members, limit) {
			v.Lanes = append(v.Lanes, PlanLane{Wave: i + 1, Lane: l.Number, Tasks: l.Tasks})
		}
	}
	for _, s := range graph.Seams(seams, nodes) {
		v.Seams = append(v.Seams, PlanSeam{Seam: s.Glob, Tasks: s.Tasks})
	}
}

// Text is what is said of a plan that has errors.
func (v PlanView) Text() string {
	return fmt.Sprintf("%d tasks, %d waves, %d problems", len(v.Tasks), len(v.Waves), len(v.Problems))
}
