package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/engine/watch"
)

// nightWorker writes each of its runs down, and each ruling that it applies. One that is asked to be slow stays after its
// question until it is told to go.
const nightWorker = `base="$FERROX_WORKTREE/../.."
echo "$FERROX_TASK $FERROX_ITERATION" >>"$base/runs"
for r in $FERROX_RULINGS; do ferrox ack "$r" || exit 8; echo "$FERROX_TASK $r" >>"$base/applied"; done
[ "$FERROX_RULINGS$ASKS" != "" ] || finish $FERROX_TASK.txt
[ "$FERROX_RULINGS" = "" ] || { FERROX_RULINGS=; finish $FERROX_TASK.txt; exit 0; }
`

const nightAsker = "ASKS=yes\n" + nightWorker + `ferrox escalate --gate "gate-$FERROX_TASK" -m "what of $FERROX_TASK?" || exit 9
`

// TestOvernight is the night that ferrox is made for: six tasks in three lanes, four of which ask; an evening and a morning
// supervisor; nine hours in between in which nobody looks, one deadline passes and the engine is killed twice; a late ruling,
// and one resume. Everything lands, every ruling took effect once, and waiting cost nothing. W11 W38 F013 F033.
func TestOvernight(t *testing.T) {
	t.Parallel()
	n := newNight(t)

	// Evening. T-1 lands, T-2 to T-4 ask and fill the lanes. T-2's worker is alive when the engine is killed.
	n.ask(0, "batch", "run", "batch", "--detach", "--hold-timeout", "4h")
	n.becomes("three holds and a landed task", func() bool { return n.open("T-2", "T-3", "T-4") && n.task("T-1") == "succeeded" })
	n.kill()
	evening := n.supervise()
	evening.rule("T-2", "queued")
	n.goOn()
	n.write("r.lanes/go", "")
	n.becomes("the ruling reaches T-2, and T-5 asks in its lane", func() bool { return n.task("T-2") == "succeeded" && n.open("T-3", "T-4", "T-5") })
	for _, task := range []string{"T-3", "T-5"} {
		evening.says(0, "ferrox", "extend", "--reply-to", string(n.hold(task).ID), "--by", "12h", "--why", "nobody is up")
	}
	evening.end()

	// Night. T-4's deadline passes, its lane parks, T-6 takes the slot. Then nothing moves.
	n.clock(9 * time.Hour)
	n.becomes("T-4 parks and T-6 lands", func() bool { return n.lane("T-4") == "parked" && n.task("T-6") == "succeeded" })
	n.idles()
	n.kill()
	n.goOn()

	// Morning. Another supervisor rules; what is left is parked, and so parks the batch.
	morning := n.supervise()
	morning.rule("T-3", "released")
	morning.rule("T-5", "released")
	n.becomes("only the parked lane is left", func() bool { return n.ask(0, "engine.state", "status") == "exited" })
	if got := n.ask(0, "pause_cause", "status"); got != "hold-timeout" {
		t.Errorf("the batch parks with %s", got)
	}
	morning.rule("T-4", "queued")
	morning.rule("T-4", "repeated")
	morning.end()
	if _, errOut, code := n.ferrox("resume"); code != 0 {
		t.Errorf("the resume ends with %d\n%s", code, errOut)
	}
	n.nothingLost()
}

// night is the batch of TestOvernight, with a clock of its own.
type night struct {
	*testRepo
	hours string // the file of its clock
}

func newNight(t *testing.T) *night {
	slow := nightAsker + `n=0; until [ -e "$base/go" ]; do n=$((n+1)); [ $n -lt 1200 ] || exit 6; sleep 0.05; done` + "\n"
	packets := map[string]string{"T-1": nightWorker, "T-2": slow, "T-3": nightAsker, "T-4": nightAsker, "T-5": nightAsker, "T-6": nightWorker}
	r := newTestRepo(t, `, "lanes": 3`, packets, map[string]string{"T-5": "T-2", "T-6": "T-2"})
	r.abortAtEnd()
	n := &night{testRepo: r, hours: filepath.Join(filepath.Dir(r.dir), "clock")}
	r.write("clock", "0s")
	r.env = []string{engine.ClockFile + "=" + n.hours}
	return n
}

// clock moves the wall clock of everything that runs on the batch, and has the engine look at it.
func (n *night) clock(ahead time.Duration) {
	n.t.Helper()
	n.write("clock.new", ahead.String())
	if err := os.Rename(n.hours+".new", n.hours); err != nil {
		n.t.Fatal(err)
	}
	if err := watch.Ring(filepath.Join(n.records(), "bell")); err != nil {
		n.t.Fatal(err)
	}
}

// records is the folder of the state.
func (n *night) records() string { return filepath.Join(n.dir, ".git", "ferrox") }

// nothingLost holds what came of the night to what was asked and ruled in it.
func (n *night) nothingLost() {
	n.t.Helper()
	n.same("the tasks", n.tasks(), "T-1 succeeded 1, T-2 succeeded 2, T-3 succeeded 2, T-4 succeeded 2, T-5 succeeded 2, T-6 succeeded 1")
	n.same("the runs", n.lines("runs"), "T-1 1, T-2 1, T-2 2, T-3 1, T-3 2, T-4 1, T-4 2, T-5 1, T-5 2, T-6 1")
	var applied, rulings, deadlines []string
	for _, h := range n.holds("--all") {
		if h.State != "released" || h.Delivery != "acknowledged" || h.Ruling == nil || h.Ruling.Role != "supervisor" || h.Ruling.Text != "of "+string(h.Task) {
			n.t.Errorf("the hold of %s is %s, %s: %+v", h.Task, h.State, h.Delivery, h.Ruling)
			continue
		}
		if instant(n.t, h.AcknowledgedAt).Before(instant(n.t, h.Ruling.AcceptedAt)) {
			n.t.Errorf("the ruling on %s was given at %s and acknowledged at %s", h.Task, h.Ruling.AcceptedAt, h.AcknowledgedAt)
		}
		applied = append(applied, fmt.Sprint(h.Task, " ", h.Ruling.ID))
		rulings = append(rulings, string(h.Ruling.ID))
		deadlines = append(deadlines, fmt.Sprint(h.Task, " ", instant(n.t, h.Deadline).Sub(instant(n.t, h.OpenedAt)), " ", h.Expired))
	}
	slices.Sort(deadlines)
	n.same("the deadlines", strings.Join(deadlines, ", "), "T-2 4h0m0s false, T-3 16h0m0s false, T-4 4h0m0s true, T-5 16h0m0s false")
	slices.Sort(applied)
	n.same("the rulings that workers applied", n.lines("applied"), strings.Join(applied, ", "))
	branch := n.ask(0, "integration_branch", "status")
	n.same("the merges", n.trailers("Ferrox-Task", branch), "T-1, T-2, T-3, T-4, T-5, T-6")
	slices.Sort(rulings)
	n.same("the rulings that landed", n.trailers("Ferrox-Ruling", branch), strings.Join(rulings, ", "))
	n.store(n.countRecords)
}

// countRecords finds everything that was said in the store, once.
func (n *night) countRecords(ctx context.Context, rd engine.Reader) error {
	counts := map[string]int{}
	batches, err := rd.Batches(ctx)
	if err != nil {
		return err
	}
	events, err := rd.Events(ctx, engine.EventFilter{Batch: batches[0].ID})
	if err != nil {
		return err
	}
	for _, e := range events {
		counts[e.Name]++
	}
	messages, err := rd.Messages(ctx, engine.MessageFilter{Batch: batches[0].ID})
	if err != nil {
		return err
	}
	for _, m := range messages {
		counts["message "+string(m.Type)]++
	}
	supervisors, err := rd.Supervisors(ctx)
	if err != nil {
		return err
	}
	owed, err := rd.Effects(ctx, batches[0].ID, true)
	counts["supervisors"], counts["effects owed"] = len(supervisors), len(owed)
	for name, want := range map[string]int{
		"hold-opened": 4, "hold-expired": 1, "hold-extended": 2, "hold-released": 4, "ruling-acknowledged": 4, "landed": 6, "started": 4,
		"message escalate": 4, "message ruling": 4, "message reply": 4, "supervisors": 3, "effects owed": 0,
	} {
		if counts[name] != want {
			n.t.Errorf("%s: %d, want %d", name, counts[name], want)
		}
	}
	return err
}

func (n *night) same(what, got, want string) {
	n.t.Helper()
	if got != want {
		n.t.Errorf("%s are\n%s\nwant\n%s", what, got, want)
	}
}

func (n *night) tasks() string {
	var all []string
	for _, t := range n.status().Tasks {
		all = append(all, fmt.Sprint(t.ID, " ", t.State, " ", t.Iteration))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// lines lists what workers wrote into a file of theirs.
func (n *night) lines(name string) string {
	n.t.Helper()
	body, err := os.ReadFile(n.outside(name))
	if err != nil {
		n.t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(string(body)), "\n")
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// trailers lists one trailer of all merges of a branch.
func (n *night) trailers(key, branch string) string {
	n.t.Helper()
	all := strings.Fields(n.git("log", "--first-parent", "--format=%(trailers:key="+key+",valueonly)", branch))
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
