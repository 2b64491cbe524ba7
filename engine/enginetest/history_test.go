package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// history is what happens to a batch: a list of steps, and whose turn it is where several could go on.
type history struct {
	Steps []step
	Order []int
	Grace string // how long a worker may stay after it asked
}

// step is one thing that happens. What A, B and C pick among is what is there at the time.
type step struct {
	Kind    kind
	A, B, C int
}

type kind string

// The kinds of steps.
const (
	finish      kind = "finish"       // a worker does its work, claims and ends; it has acknowledged what it was told
	finishDeaf  kind = "finish deaf"  // the same, and whatever it was told is not acknowledged
	claimEarly  kind = "claim early"  // a worker claims with boxes open
	claimStay   kind = "claim, stay"  // a worker claims and does not end
	work        kind = "work"         // a worker commits something and ends
	idleOut     kind = "idle"         // a worker ends without having done anything
	crashOut    kind = "crash"        // a worker is killed
	loseShim    kind = "lose shim"    // a shim is killed with its worker
	escalate    kind = "escalate"     // a worker asks
	askAgain    kind = "ask again"    // a worker asks what it asked before
	spool       kind = "spool"        // a worker asks by file
	askAndEnd   kind = "ask and end"  // a worker asks and ends
	ack         kind = "ack"          // a worker acknowledges a ruling
	ackWrong    kind = "ack wrong"    // a worker acknowledges what is no ruling of its task
	note        kind = "note"         // a worker says something
	rule        kind = "rule"         // somebody with authority rules
	ruleAgain   kind = "rule again"   // the same ruling once more
	ruleOther   kind = "rule other"   // another ruling on a hold that has one
	ruleWrong   kind = "rule wrong"   // a ruling that no rule allows
	ruleStale   kind = "rule stale"   // a ruling for a commit that the lane has left
	extend      kind = "extend"       // somebody moves a deadline
	pause       kind = "pause"        //
	takeover    kind = "takeover"     //
	park        kind = "park"         // a signal to the engine
	resume      kind = "resume"       //
	abort       kind = "abort"        //
	retry       kind = "retry"        //
	skip        kind = "skip"         //
	mergeNow    kind = "merge"        //
	hours       kind = "hours"        // the wall clock goes on by hours
	clockBack   kind = "clock back"   // the wall clock is set back
	deadlines   kind = "deadlines"    // every deadline passes
	wait        kind = "wait"         // a while passes
	useBranch   kind = "use branch"   // somebody checks the integration branch out, or lets go of it
	killEngine  kind = "kill engine"  // the engine is killed at one of the next commits or effects
	killShim    kind = "kill shim"    // a shim that carries a request is
	killCommand kind = "kill command" // a command is
	diskFull    kind = "disk full"    // commits of the engine fail
	locked      kind = "locked"       // another program has the store
	nothing     kind = "nothing"      // no more than between any two steps
)

// faults are the steps that only put something in the way of the others.
var faults = map[kind]bool{killEngine: true, killShim: true, killCommand: true, diskFull: true, locked: true}

// common is what happens often; a kind that stands twice happens twice as often.
var common = []kind{
	finish, finish, finish, finishDeaf, claimEarly, claimStay, work, work, idleOut, crashOut, loseShim, escalate, escalate, escalate, askAgain, spool,
	askAndEnd, askAndEnd, ack, ack, ackWrong, note, rule, rule, rule, rule, ruleAgain, ruleOther, ruleWrong, ruleStale, extend, retry, skip, mergeNow, hours,
	clockBack, deadlines, wait, useBranch,
}

// anyKind is everything.
func anyKind() []kind {
	return append([]kind{
		pause, takeover, park, resume, resume, abort, killEngine, killEngine, killEngine, killEngine, killShim, killCommand, diskFull, locked,
	}, common...)
}

// crashKinds is what may happen in a history whose end must not depend on where it was cut: nothing in it depends on how
// long an engine has watched.
func crashKinds() []kind {
	calm := slices.DeleteFunc(slices.Clone(common), func(k kind) bool { return k == claimStay })
	return append([]kind{killEngine, killEngine, killEngine, killEngine, killEngine, killEngine, killShim, killCommand, diskFull, locked}, calm...)
}

func histories(kinds []kind, quiesce string) *rapid.Generator[history] {
	one := rapid.Custom(func(t *rapid.T) step {
		return step{
			rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 11).Draw(t, "a"), rapid.IntRange(0, 11).Draw(t, "b"), rapid.IntRange(0, 11).Draw(t, "c"),
		}
	})
	return rapid.Custom(func(t *rapid.T) history {
		return history{
			rapid.SliceOfN(one, 1, 30).Draw(t, "steps"), rapid.SliceOfN(rapid.IntRange(0, 3), 0, 7).Draw(t, "order"), quiesce,
		}
	})
}

// GoString prints a history so that it can be pasted into a test.
func (h history) GoString() string {
	var b strings.Builder
	b.WriteString("history{[]step{\n")
	for _, s := range h.Steps {
		fmt.Fprintf(&b, "\t{%q, %d, %d, %d},\n", s.Kind, s.A, s.B, s.C)
	}
	fmt.Fprintf(&b, "}, %#v, %q}", h.Order, h.Grace)
	return b.String()
}

// calm is the same history with nothing in its way: what was a fault is a wait.
func (h history) calm() history {
	steps := slices.Clone(h.Steps)
	for i, s := range steps {
		if faults[s.Kind] {
			steps[i].Kind = nothing
		}
	}
	return history{steps, h.Order, h.Grace}
}
