package hold_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"pgregory.net/rapid"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const timeout = 4 * time.Hour

func opened() hold.Record {
	return hold.New(mailbox.Message{ID: "H-1", Batch: "B", Task: "T-1", Lane: 2, Type: mailbox.TypeEscalate, Gate: "code-step1", Text: "May I?", CreatedAt: now}, "R-1", timeout)
}

func ruling(id lanes.MessageID, v mailbox.Verdict) mailbox.Message {
	return mailbox.Message{ID: id, Type: mailbox.TypeRuling, Role: mailbox.RoleOperator, By: "ann", Verdict: v, Text: "Do it.", Head: "abc", Signed: true, CreatedAt: now.Add(time.Hour)}
}

// act is one thing that can be done with a hold, as the engine does it.
type act struct {
	name string
	do   func(r hold.Record) (hold.Record, error)
}

// acts lists all of them: the inputs of the table, and the extension, which moves the deadline and no state.
func acts() []act {
	return []act{
		{"info", func(r hold.Record) (hold.Record, error) { return r.Note(now) }},
		{"query", func(r hold.Record) (hold.Record, error) { return r.Fire(hold.Query) }},
		{"steer", func(r hold.Record) (hold.Record, error) { return r.Fire(hold.Steer) }},
		{"rule", func(r hold.Record) (hold.Record, error) { return r.Rule(ruling("M-1", mailbox.VerdictFix)) }},
		{"deliver", func(r hold.Record) (hold.Record, error) { return r.DeliverIn("R-2") }},
		{"ack", func(r hold.Record) (hold.Record, error) { return r.Acknowledge(now) }},
		{"expire", func(r hold.Record) (hold.Record, error) {
			next, ok := r.Expire(r.Deadline)
			if !ok {
				return r, errors.New("nothing to expire")
			}
			return next, nil
		}},
		{"cancel", func(r hold.Record) (hold.Record, error) { return r.CancelFor("given up", now) }},
		{"extend", func(r hold.Record) (hold.Record, error) { return r.Extend(time.Hour, now) }},
	}
}

var (
	states     = []hold.State{hold.Open, hold.Released, hold.Cancelled}
	deliveries = []hold.Delivery{hold.DeliveryNone, hold.DeliveryPending, hold.DeliveryInFlight, hold.DeliveryAcknowledged}
)

// everywhere calls f with a hold in every state and delivery, those that cannot be included.
func everywhere(f func(r hold.Record)) {
	for _, s := range states {
		for _, d := range deliveries {
			r := opened()
			r.State, r.Delivery = s, d
			f(r)
		}
	}
}

func at(r hold.Record) string { return fmt.Sprintf("%s/%s", r.State, r.Delivery) }

// row names the row of the table for a move, "" when there is none.
func row(r hold.Record, in string) string {
	for _, t := range hold.Table() {
		if t.From == r.State && t.FromDelivery == r.Delivery && string(t.Input) == in {
			return t.Name
		}
	}
	return ""
}

func TestHold_Matrix(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# What each input makes of a hold, by its state and delivery, with the row of the table. A dash is a refusal.\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	head := []string{"hold"}
	for _, a := range acts() {
		head = append(head, a.name)
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	everywhere(func(r hold.Record) {
		cells := []string{at(r)}
		for _, a := range acts() {
			cell := "-"
			if next, err := a.do(r); err == nil {
				cell = strings.TrimSpace(row(r, a.name) + " " + at(next))
			}
			cells = append(cells, cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	})
	_ = w.Flush()
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	golden(t, "testdata/hold/hold.txt", strings.Join(lines, "\n")+"\n")
}

// TestHold_RefusalsChangeNothing: whatever is refused leaves the record as it was and says what stood against it.
func TestHold_RefusalsChangeNothing(t *testing.T) {
	t.Parallel()
	everywhere(func(r hold.Record) {
		for _, a := range acts() {
			next, err := a.do(r)
			if err == nil {
				continue
			}
			var refused *hold.RefusedError
			if next != r || a.name != "expire" && (!errors.As(err, &refused) || refused.Hold != "H-1" || refused.State != r.State || refused.Delivery != r.Delivery || string(refused.Input) != a.name) {
				t.Errorf("%s %s: %+v, %v", a.name, at(r), next, err)
			}
		}
	})
}

// TestHold_Unresolved: only an acknowledged ruling or a cancellation frees the task (F027).
func TestHold_Unresolved(t *testing.T) {
	t.Parallel()
	everywhere(func(r hold.Record) {
		want := !slices.Contains([]string{"released/acknowledged", "cancelled/none", "cancelled/pending", "cancelled/in-flight", "cancelled/acknowledged"}, at(r))
		if got := r.Unresolved(); got != want {
			t.Errorf("%s binds its task: %v, want %v", at(r), got, want)
		}
	})
}

func TestHold_New(t *testing.T) {
	t.Parallel()
	m := mailbox.Message{ID: "H-1", Batch: "B", Task: "T-1", Lane: 2, Gate: "code-step1", Text: "May I?", Reserved: mailbox.RoleOperator, CreatedAt: now}
	want := hold.Record{
		ID: "H-1", Batch: "B", Task: "T-1", Lane: 2, Run: "R-1", Gate: "code-step1", Question: "May I?", State: hold.Open,
		ReservedFor: mailbox.RoleOperator, OpenedAt: now, Deadline: now.Add(timeout), Delivery: hold.DeliveryNone,
	}
	if got := hold.New(m, "R-1", timeout); got != want {
		t.Errorf("%+v", got)
	}
}

func TestHold_RulingIsKeptWhole(t *testing.T) {
	t.Parallel()
	m := ruling("M-1", mailbox.VerdictReject)
	want := opened()
	want.State, want.Delivery = hold.Released, hold.DeliveryPending
	want.Ruling, want.RulingVerdict, want.RulingText, want.RulingRole = "M-1", mailbox.VerdictReject, "Do it.", mailbox.RoleOperator
	want.RulingBy, want.RulingHead, want.RulingSigned, want.RuledAt = "ann", "abc", true, m.CreatedAt
	if got, err := opened().Rule(m); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestHold_AcknowledgedOnce(t *testing.T) {
	t.Parallel()
	r, _ := opened().Rule(ruling("M-1", ""))
	r, err := r.Acknowledge(now)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Acknowledge(now.Add(time.Hour))
	if again != r || err != nil {
		t.Errorf("said twice: %+v, %v", again, err)
	}
}

// TestF035_CancelNeverApproves: a cancelled hold has no ruling that could be delivered or acknowledged, and nothing moves it.
func TestF035_CancelNeverApproves(t *testing.T) {
	t.Parallel()
	everywhere(func(r hold.Record) {
		next, err := r.CancelFor("given up", now)
		if err != nil {
			return
		}
		if next.State != hold.Cancelled || next.Delivery != hold.DeliveryNone || next.CancelReason != "given up" || next.CancelledAt != now {
			t.Errorf("%s: %+v", at(r), next)
		}
		for _, a := range acts() {
			if after, err := a.do(next); err == nil {
				t.Errorf("%s moves a cancelled hold to %s", a.name, at(after))
			}
		}
	})
	if _, err := (hold.Record{State: hold.Released, Delivery: hold.DeliveryAcknowledged}).CancelFor("late", now); err == nil {
		t.Error("an acknowledged ruling was taken back")
	}
}

// TestF018_TwoHolds: each hold has a state of its own: ruling one leaves the other open.
func TestF018_TwoHolds(t *testing.T) {
	t.Parallel()
	a, b := opened(), opened()
	b.ID = "H-2"
	a, err := a.Rule(ruling("M-1", ""))
	if err != nil || a.State != hold.Released || b.State != hold.Open || !b.Unresolved() {
		t.Errorf("%s, %s, %v", at(a), at(b), err)
	}
}

func TestHold_Asks(t *testing.T) {
	t.Parallel()
	gated, free := opened(), opened()
	free.Gate = ""
	released, _ := opened().Rule(ruling("M-1", ""))
	for _, tc := range []struct {
		name       string
		r          hold.Record
		gate, text string
		want       bool
	}{
		{"the same gate, other words", gated, "code-step1", "Well?", true},
		{"another gate, the same words", gated, "code-step2", "May I?", false},
		{"no gate, though the hold has one", gated, "", "May I?", false},
		{"no gate, the same words", free, "", "May I?", true},
		{"no gate, other words", free, "", "May I ?", false},
		{"a gate, though the hold has none", free, "code-step1", "May I?", false},
		{"ruled already", released, "code-step1", "May I?", false},
	} {
		if got := tc.r.Asks(tc.gate, tc.text); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	if got := gated.Append("May I?"); got != gated {
		t.Errorf("said twice, kept twice: %q", got.Question)
	}
	if got := gated.Append("Well?").Question; got != "May I?\n\nWell?" {
		t.Errorf("appended: %q", got)
	}
}

// TestW47_RacingInputs: notes, two rulings and the deadline arrive at one instant, in any order. Exactly one ruling wins;
// the other gets a typed error that says what the hold is; the deadline never undoes a ruling (F013).
func TestW47_RacingInputs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := opened()
		won := lanes.MessageID("")
		for _, what := range rapid.Permutation([]string{"info", "M-1", "M-2", "expire", "query", "info"}).Draw(t, "order") {
			var err error
			switch what {
			case "info":
				r, err = r.Note(now)
			case "query":
				r, err = r.Fire(hold.Query)
			case "expire":
				r, _ = r.Expire(r.Deadline)
			default:
				if r, err = r.Rule(ruling(lanes.MessageID(what), mailbox.VerdictFix)); err == nil {
					if won != "" {
						t.Fatalf("%s and %s both released the hold", won, what)
					}
					won = lanes.MessageID(what)
				}
			}
			var refused *hold.RefusedError
			if err != nil && (won == "" || !errors.As(err, &refused) || refused.State != hold.Released) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if r.State != hold.Released || r.Ruling != won || won == "" {
			t.Fatalf("%s by %q, won %q", at(r), r.Ruling, won)
		}
	})
	var wg sync.WaitGroup
	for range 200 {
		for _, a := range acts() {
			wg.Go(func() { _, _ = a.do(opened()) }) // a record is a value: whoever asks at once gets an answer of their own
		}
	}
	wg.Wait()
}

// TestHold_ReplayGivesTheStoredState: the record that stands at the end is the one that the accepted inputs give again, and
// refused ones leave no trace. On the way: W11, the deadline moves by an extension only; an expiry is marked once; a hold
// never opens again; a ruling is never exchanged.
func TestHold_ReplayGivesTheStoredState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stored := opened()
		var log []act
		for _, n := range rapid.SliceOf(rapid.IntRange(0, len(acts())-1)).Draw(t, "inputs") {
			a := acts()[n]
			before := stored
			next, err := a.do(stored)
			if err != nil {
				continue
			}
			stored = next
			log = append(log, a)
			switch {
			case a.name != "extend" && !stored.Deadline.Equal(before.Deadline):
				t.Fatalf("%s moved the deadline", a.name)
			case a.name == "extend" && (!stored.Deadline.Equal(before.Deadline.Add(time.Hour)) || at(stored) != at(before)):
				t.Fatalf("extended: %s, deadline %s", at(stored), stored.Deadline)
			case a.name == "expire" && (!before.ExpiredAt.IsZero() || stored.ExpiredAt.IsZero() || at(stored) != at(before)):
				t.Fatalf("expired twice, or moved: %+v", stored)
			case before.State != hold.Open && stored.State == hold.Open:
				t.Fatalf("%s opened the hold again", a.name)
			case before.Ruling != "" && stored.Ruling != before.Ruling:
				t.Fatalf("%s exchanged the ruling", a.name)
			case !stored.Unresolved() && stored.State == hold.Released && stored.AcknowledgedAt.IsZero():
				t.Fatalf("%s freed the task without an acknowledgement", a.name)
			}
		}
		again := opened()
		for _, a := range log {
			var err error
			if again, err = a.do(again); err != nil {
				t.Fatalf("replay of %s: %v", a.name, err)
			}
		}
		if again != stored {
			t.Fatalf("replay gives %+v\nstored was %+v", again, stored)
		}
	})
}

func TestW11_DeadlineIsAnInstant(t *testing.T) {
	t.Parallel()
	r := opened()
	if r.ExpiredBy(r.Deadline.Add(-time.Microsecond)) || !r.ExpiredBy(r.Deadline) || !r.ExpiredBy(r.Deadline.Add(time.Hour)) {
		t.Error("a deadline is passed from its instant on")
	}
	if early, ok := r.Expire(r.Deadline.Add(-time.Microsecond)); ok || early != r {
		t.Errorf("expired before the deadline: %+v", early)
	}
	r, ok := r.Expire(r.Deadline.Add(time.Minute))
	if !ok || r.ExpiredAt != r.Deadline.Add(time.Minute) || !r.Unresolved() {
		t.Errorf("at the deadline: %+v", r)
	}
	if twice, ok := r.Expire(r.Deadline.Add(time.Hour)); ok || twice != r {
		t.Errorf("expired twice: %+v", twice)
	}
	longer, err := r.Extend(time.Hour, now)
	if err != nil || !longer.ExpiredAt.IsZero() || longer.ExpiredBy(r.Deadline.Add(time.Minute)) {
		t.Errorf("extended: %+v, %v", longer, err)
	}
	if late, err := r.Rule(ruling("M-1", "")); err != nil || late.State != hold.Released {
		t.Errorf("H11: a late ruling: %+v, %v", late, err)
	}
}

func TestRefusedError(t *testing.T) {
	t.Parallel()
	_, err := opened().Acknowledge(now)
	if err == nil || err.Error() != "ack hold H-1: it is open, delivery none" {
		t.Errorf("%v", err)
	}
}
