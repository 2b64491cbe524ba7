package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/gates"
)

// clean shows a text on one line. Control characters, and what could turn the direction of a line, are escaped: names and
// messages can neither move the cursor nor forge a row.
func clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar:
			q := strconv.QuoteToASCII(string(r))
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// show prints a value: as one JSON value with --json, else as text.
func (a *app) show(v any, text func(io.Writer)) error {
	defer crash.Around("print")()
	if !a.json {
		text(a.stdout)
		return nil
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table writes aligned columns; cells are cleaned.
func table(w io.Writer, head []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(rows) > 0 && head != nil {
		fmt.Fprintln(t, strings.Join(head, "\t"))
	}
	for _, row := range rows {
		for i := range row {
			row[i] = clean(row[i])
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
}

func (a *app) writeStatus(w io.Writer, v engine.StatusView) {
	fmt.Fprintf(w, "batch %s: %s", v.Batch, v.Phase)
	if v.PauseCause != "" {
		fmt.Fprintf(w, " (%s)", clean(v.PauseCause))
	}
	fmt.Fprintf(w, ", engine %s", v.Engine.State)
	if v.Engine.State == "alive" {
		fmt.Fprintf(w, " (pid %d)", v.Engine.PID)
	}
	fmt.Fprintf(w, "\n%s at %s, base %s: %s\n\n", clean(v.IntegrationBranch), v.IntegrationHead.Short(), v.Base.Short(), branchText(v.BranchState))
	a.writeTasks(w, v.Tasks)
	if len(v.Lanes) > 0 {
		fmt.Fprintln(w)
		a.writeLanes(w, v.Lanes)
	}
	if len(v.Holds) > 0 {
		fmt.Fprintln(w)
		a.writeHolds(w, v.Holds)
	}
	for _, t := range v.Tasks {
		for _, c := range t.Citations {
			fmt.Fprintf(w, "\nremark: %s: %s (%s)", clean(string(t.ID)), clean(c), remarkText(c))
		}
	}
	for _, n := range v.Next {
		fmt.Fprintf(w, "\nnext: %s", clean(n))
	}
	if len(v.Next) > 0 || slices.ContainsFunc(v.Tasks, func(t engine.TaskView) bool { return len(t.Citations) > 0 }) {
		fmt.Fprintln(w)
	}
}

// remarkText says for people what a remark on commits and rulings means.
func remarkText(c string) string {
	switch {
	case strings.HasPrefix(c, gates.FlagUncited):
		return "the worker has this ruling, and no commit names it"
	case strings.Contains(c, gates.FlagWrongUnit):
		return "a commit names a ruling on another task"
	}
	return "a commit speaks of a ruling that nobody gave"
}

// branchText says for people what an integration branch holds.
func branchText(s engine.BranchState) string {
	switch s {
	case engine.BranchMissing:
		return "the branch is missing"
	case engine.BranchEmpty:
		return "no commits over its base"
	case engine.BranchAhead:
		return "ahead of its base, not integrated"
	case engine.BranchMerged:
		return "merged into your branch"
	case engine.BranchUnknown:
	}
	return "what it holds is unknown"
}

// writeTasks writes a row a task, in the colour of its state.
func (a *app) writeTasks(w io.Writer, tasks []engine.TaskView) {
	rows := [][]string{}
	for _, t := range tasks {
		rows = append(rows, taskRow(t))
	}
	var b strings.Builder
	table(&b, []string{"TASK", "STATE", "LANE", "RUN", "STEPS", "BRANCH", "TITLE", "WHY"}, rows)
	n := -1 // the head
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimRight(line, " \n"); n >= 0 {
			line = a.paint(string(tasks[n].State), line)
		}
		n++
		fmt.Fprintln(w, line)
	}
}

func taskRow(t engine.TaskView) []string {
	lane, why := "-", ""
	if t.Lane != 0 {
		lane = fmt.Sprint(t.Lane)
	}
	if len(t.Reasons) > 0 {
		why = string(t.Reasons[0].Code) + ": " + t.Reasons[0].Text
	}
	if t.FinishedEarlier {
		why = "finished earlier"
	}
	if t.Empty {
		why = "empty: nothing was changed"
	}
	return []string{string(t.ID), string(t.State), lane, fmt.Sprint(t.Iteration), fmt.Sprintf("%d/%d", t.StepsDone, t.StepsTotal), string(t.BranchState), t.Title, why}
}

func (a *app) writeLanes(w io.Writer, lanes []engine.LaneView) {
	rows := [][]string{}
	for _, l := range lanes {
		worker := l.Worker.State
		if l.Worker.State == "running" {
			worker = "running " + age(l.Worker.StartedAt, a.clock().Now())
		}
		rows = append(rows, []string{fmt.Sprint(l.Lane), string(l.State), string(l.Task), worker, l.Head.Short(), l.Branch, l.Worktree})
	}
	table(w, []string{"LANE", "STATE", "TASK", "WORKER", "HEAD", "BRANCH", "WORKTREE"}, rows)
}

func (a *app) writeHolds(w io.Writer, holds []engine.HoldView) {
	now := a.clock().Now()
	rows := [][]string{}
	for _, h := range holds {
		who := "supervisor, operator"
		if h.ReservedFor != nil {
			who = string(*h.ReservedFor)
		}
		state := string(h.State)
		if h.State == "released" {
			state += ", " + string(h.Delivery)
		}
		if h.Expired {
			state += ", expired"
		}
		rows = append(rows, []string{string(h.ID), string(h.Task), gate(h.Gate), state, age(h.OpenedAt, now), due(h.Deadline, now), who, shorten(h.Question)})
	}
	table(w, []string{"HOLD", "TASK", "GATE", "STATE", "AGE", "DEADLINE", "WHO MAY RULE", "QUESTION"}, rows)
}

// gate is the gate that a question is about, if it names one.
func gate(name string) string {
	if name == "" {
		return "-"
	}
	return name
}

func shorten(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func eventLine(ev engine.EventView) string {
	where := ""
	if ev.Task != "" {
		where = " " + string(ev.Task)
	}
	if ev.Lane != 0 {
		where += fmt.Sprintf(" [lane %d]", ev.Lane)
	}
	return clean(fmt.Sprintf("%s %s%s %s", clock(ev.TS), ev.Event, where, ev.Text))
}

// clock shortens an instant to the time of day.
func clock(ts string) string {
	if len(ts) >= 19 {
		return ts[11:19]
	}
	return ts
}
