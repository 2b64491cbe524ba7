package engine

import (
	"encoding/json"
	"strings"
	"time"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// StatusView is `ferrox status --json`.
type StatusView struct {
	Batch             lanes.BatchID `json:"batch"`
	Phase             lanes.Phase   `json:"phase"`
	PauseCause        string        `json:"pause_cause,omitempty"`
	Why               string        `json:"why,omitempty"`
	Engine            EngineState   `json:"engine"`
	Base              lanes.Commit  `json:"base"`
	IntegrationBranch string        `json:"integration_branch"`
	IntegrationHead   lanes.Commit  `json:"integration_head"`
	BranchState       BranchState   `json:"branch_state"` // of the integration branch
	CreatedAt         string        `json:"created_at"`
	EndedAt           string        `json:"ended_at,omitempty"`
	Tasks             []TaskView    `json:"tasks"`
	Lanes             []LaneView    `json:"lanes"`
	Holds             []HoldView    `json:"holds"`
	Next              []string      `json:"next"` // what happens next, or what to type
}

// TaskView is one task as the outside sees it.
type TaskView struct {
	ID               lanes.TaskID    `json:"id"`
	Title            string          `json:"title"`
	State            lanes.TaskState `json:"state"`
	Lane             lanes.Number    `json:"lane,omitempty"`
	Iteration        int             `json:"iteration"`
	StepsDone        int             `json:"steps_done"`
	StepsTotal       int             `json:"steps_total"`
	DependsOn        []lanes.TaskID  `json:"depends_on"`
	Empty            bool            `json:"empty"`
	FinishedEarlier  bool            `json:"finished_earlier,omitempty"`
	AuthorizedCommit lanes.Commit    `json:"authorized_commit,omitempty"`
	MergeCommit      lanes.Commit    `json:"merge_commit,omitempty"`
	BranchState      BranchState     `json:"branch_state,omitempty"` // of its commits
	Reasons          []lanes.Reason  `json:"reasons"`
	Citations        []string        `json:"citations,omitempty"` // commits that speak of a ruling nobody gave, rulings that no commit names; nothing follows from them
	Path             string          `json:"path"`
	StartedAt        string          `json:"started_at,omitempty"`
	EndedAt          string          `json:"ended_at,omitempty"`
}

// LaneView is one lane as the outside sees it.
type LaneView struct {
	Lane     lanes.Number    `json:"lane"`
	State    lanes.LaneState `json:"state"`
	Task     lanes.TaskID    `json:"task,omitempty"`
	Worktree string          `json:"worktree"`
	Branch   string          `json:"branch"`
	Head     lanes.Commit    `json:"head,omitempty"`
	Worker   WorkerView      `json:"worker"`
}

// WorkerView says whether a worker is alive in a lane.
type WorkerView struct {
	State     string `json:"state"` // none, running or exited
	PID       int    `json:"pid,omitempty"`
	StartedAt string `json:"started_at,omitempty"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Signal    string `json:"signal,omitempty"`
}

// HoldView is one hold as the outside sees it.
type HoldView struct {
	ID             lanes.HoldID  `json:"id"`
	State          hold.State    `json:"state"`
	Batch          lanes.BatchID `json:"batch"`
	Task           lanes.TaskID  `json:"task"`
	Lane           lanes.Number  `json:"lane"`
	Gate           string        `json:"gate,omitempty"`
	Question       string        `json:"question"`
	OpenedAt       string        `json:"opened_at"`
	Deadline       string        `json:"deadline"`
	Expired        bool          `json:"expired"`
	ReservedFor    *mailbox.Role `json:"reserved_for"`
	Delivery       hold.Delivery `json:"delivery"`
	Ruling         *RulingView   `json:"ruling,omitempty"`
	AcknowledgedAt string        `json:"acknowledged_at,omitempty"`
	NotedAt        string        `json:"noted_at,omitempty"` // last info message: somebody with authority has seen it
	CancelReason   string        `json:"cancel_reason,omitempty"`
	Unproven       string        `json:"unproven,omitempty"` // why a stored ruling does not count
}

// RulingView is the ruling that released a hold.
type RulingView struct {
	ID         lanes.MessageID `json:"id"`
	Verdict    mailbox.Verdict `json:"verdict,omitempty"`
	Role       mailbox.Role    `json:"role"`
	By         string          `json:"by"`
	Text       string          `json:"text"`
	Head       lanes.Commit    `json:"head,omitempty"`
	AcceptedAt string          `json:"accepted_at"`
	Signed     bool            `json:"signed"`
}

// EventView is one event as the outside sees it.
type EventView struct {
	TS    string        `json:"ts"`
	Seq   int64         `json:"seq"`
	Type  string        `json:"type"`
	Event string        `json:"event"`
	Batch lanes.BatchID `json:"batch,omitempty"`
	Task  lanes.TaskID  `json:"task,omitempty"`
	Lane  lanes.Number  `json:"lane,omitempty"`
	Ref   string        `json:"ref,omitempty"`
	Text  string        `json:"text,omitempty"`

	Data json.RawMessage `json:"data,omitempty"` // what was measured
}

// ErrorView is the object that --json writes to standard error.
func ErrorView(e *Error) map[string]any {
	body := map[string]any{"code": e.Code, "message": e.Message, "next": e.Next, "reasons": e.Reasons}
	if e.Reasons == nil {
		body["reasons"] = []lanes.Reason{}
	}
	return map[string]any{"error": body}
}

// ViewEvent shows an event.
func ViewEvent(ev lanes.Event) EventView {
	return EventView{
		TS: stamp(ev.At), Seq: ev.Seq, Type: ev.Type, Event: ev.Name, Batch: ev.Batch, Task: ev.Task, Lane: ev.Lane,
		Ref: ev.Ref, Text: ev.Text, Data: json.RawMessage(ev.Data),
	}
}

func viewTask(t lanes.Task) TaskView {
	v := TaskView{
		ID: t.ID, Title: t.Title, State: t.State, Lane: t.Lane, Iteration: t.Iteration, StepsDone: t.StepsDone,
		StepsTotal: t.StepsTotal, DependsOn: t.DependsOn, Empty: t.Empty, FinishedEarlier: t.Finished,
		AuthorizedCommit: t.Authorized, MergeCommit: t.Merge, Reasons: t.Reasons, Path: t.Path,
		StartedAt: stamp(t.StartedAt), EndedAt: stamp(t.EndedAt),
	}
	if v.DependsOn == nil {
		v.DependsOn = []lanes.TaskID{}
	}
	if v.Reasons == nil {
		v.Reasons = []lanes.Reason{}
	}
	return v
}

// viewLane shows a lane with the newest run in it; alive tells of a running worker's shim whether it still is.
func viewLane(l lanes.Lane, last *lanes.Run, alive func(lanes.Identity) bool) LaneView {
	v := LaneView{Lane: l.Number, State: l.State, Task: l.Task, Worktree: l.Worktree, Branch: l.Branch, Head: l.Head, Worker: WorkerView{State: "none"}}
	if last == nil || last.Task != l.Task {
		return v
	}
	v.Worker.PID, v.Worker.StartedAt, v.Worker.Signal = last.Shim.PID, stamp(last.StartedAt), last.Signal
	switch last.State {
	case lanes.RunStarting, lanes.RunRunning:
		if v.Worker.State = "running"; last.Shim.Known() && !alive(last.Shim) {
			v.Worker.State = "exited"
		}
	case lanes.RunExited, lanes.RunJudged:
		code := last.ExitCode
		v.Worker.State, v.Worker.ExitCode = "exited", &code
	}
	return v
}

func viewHold(h hold.Record, now time.Time) HoldView {
	v := HoldView{
		ID: h.ID, State: h.State, Batch: h.Batch, Task: h.Task, Lane: h.Lane, Gate: h.Gate, Question: h.Question,
		OpenedAt: stamp(h.OpenedAt), Deadline: stamp(h.Deadline), Expired: !h.ExpiredAt.IsZero() || h.ExpiredBy(now),
		Delivery: h.Delivery, AcknowledgedAt: stamp(h.AcknowledgedAt), NotedAt: stamp(h.NotedAt), CancelReason: h.CancelReason, Unproven: h.Unproven,
	}
	if h.ReservedFor != "" {
		v.ReservedFor = &h.ReservedFor
	}
	if h.Ruling != "" {
		v.Ruling = &RulingView{
			ID: h.Ruling, Verdict: h.RulingVerdict, Role: h.RulingRole, By: h.RulingBy, Text: h.RulingText,
			Head: h.RulingHead, AcceptedAt: stamp(h.RuledAt), Signed: h.RulingSigned,
		}
	}
	return v
}

// reservedFor says which role alone may rule on a gate, by the batch's frozen settings.
func reservedFor(b lanes.Batch, gate string) mailbox.Role {
	set, err := settingsOf(b)
	if err != nil {
		return mailbox.RoleOperator // unreadable settings: the narrower answer
	}
	for role, gates := range set.Authority.Reserve {
		for _, g := range gates {
			if strings.EqualFold(g, gate) {
				return mailbox.Role(role)
			}
		}
	}
	return ""
}
