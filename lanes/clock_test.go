package lanes_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ferrox/lanes"
)

func mark(kind lanes.MarkKind, minute int) lanes.Mark {
	return lanes.Mark{Kind: kind, Hold: "H-1", At: now.Add(time.Duration(minute) * time.Minute)}
}

func TestWorking(t *testing.T) {
	t.Parallel()
	other := mark(lanes.MarkHeld, 12)
	other.Hold = "H-2"
	for _, tc := range []struct {
		name  string
		marks []lanes.Mark
		want  int // minutes, looked at after an hour
	}{
		{"nothing", nil, 0},
		{"a run", []lanes.Mark{mark(lanes.MarkBegan, 0)}, 60},
		{"a run that ended", []lanes.Mark{mark(lanes.MarkBegan, 10), mark(lanes.MarkEnded, 30)}, 20},
		{"held and not ruled", []lanes.Mark{mark(lanes.MarkBegan, 0), mark(lanes.MarkHeld, 10)}, 10},
		{"held and ruled", []lanes.Mark{mark(lanes.MarkBegan, 0), mark(lanes.MarkHeld, 10), mark(lanes.MarkFreed, 50)}, 20},
		{"two holds, one ruled", []lanes.Mark{mark(lanes.MarkBegan, 0), mark(lanes.MarkHeld, 10), other, mark(lanes.MarkFreed, 50)}, 10},
		{"ended while held", []lanes.Mark{mark(lanes.MarkBegan, 0), mark(lanes.MarkHeld, 10), mark(lanes.MarkEnded, 20), mark(lanes.MarkFreed, 50)}, 10},
		{"set back while held", []lanes.Mark{mark(lanes.MarkBegan, 0), mark(lanes.MarkHeld, 10), mark(lanes.MarkFreed, -40), mark(lanes.MarkEnded, -30)}, 20},
		{"set back while at work", []lanes.Mark{mark(lanes.MarkBegan, 30), mark(lanes.MarkEnded, 10)}, 0},
	} {
		if got := lanes.Working(tc.marks, now.Add(time.Hour)); got != time.Duration(tc.want)*time.Minute {
			t.Errorf("%s: %s, want %d minutes", tc.name, got, tc.want)
		}
	}
}

// TestTask_DueAfterTheClockWasSet (W58): a back-off neither ends early nor lasts longer than back-offs do.
func TestTask_DueAfterTheClockWasSet(t *testing.T) {
	t.Parallel()
	task := lanes.Task{RetryAt: now.Add(time.Minute)}
	for minutes, want := range map[int]bool{0: false, 1: true, 300: true, -300: true} {
		if got := task.Due(now.Add(time.Duration(minutes)*time.Minute), 5*time.Minute); got != want {
			t.Errorf("%d minutes on: %v", minutes, got)
		}
	}
	if !(lanes.Task{}).Due(now, time.Minute) {
		t.Error("a task without a back-off is not due")
	}
}

// piece is a stretch of a run: the worker works for so long, and then does something or not.
type piece struct {
	minutes int
	moves   bool
}

// history is what a task's worker does, run by run.
type history struct {
	runs  [][]piece
	facts []lanes.RunFacts
}

func drawHistory(t *rapid.T) history {
	var h history
	for range rapid.IntRange(1, 5).Draw(t, "runs") {
		var run []piece
		for range rapid.IntRange(1, 5).Draw(t, "pieces") {
			run = append(run, piece{rapid.IntRange(1, 50).Draw(t, "minutes"), rapid.Bool().Draw(t, "moves")})
		}
		facts := drawRun(t)
		facts.OpenedHold, facts.Interrupted = false, false
		h.runs, h.facts = append(h.runs, run), append(h.facts, facts)
	}
	return h
}

// stroke is something that befalls a history before one piece of one run.
type stroke struct {
	kind    string // held: the worker asks and stays. crash: the engine dies and another one adopts the run. asked, parked: before the whole run, one that asked and left, or was sent home
	run     int
	piece   int
	minutes int // of waiting, or until the next engine comes
	jump    int // minutes by which the wall clock is set while nobody works
}

func drawStrokes(t *rapid.T, h history) (strokes []stroke) {
	for range rapid.IntRange(0, 6).Draw(t, "strokes") {
		run := rapid.IntRange(0, len(h.runs)-1).Draw(t, "run")
		strokes = append(strokes, stroke{
			kind:  rapid.SampledFrom([]string{"held", "crash", "asked", "parked"}).Draw(t, "stroke"),
			run:   run,
			piece: rapid.IntRange(0, len(h.runs[run])-1).Draw(t, "piece"), minutes: rapid.IntRange(0, 600).Draw(t, "for minutes"),
			jump: rapid.SampledFrom([]int{0, 0, 120, -120}).Draw(t, "clock is set by"),
		})
	}
	return strokes
}

// reading is what the clocks say at the end of a piece, or what became of the budgets at the end of a run.
type reading struct {
	worked, quiet time.Duration
	spent, idle   int
	backoff       time.Duration
	next          lanes.Input
	reasons       int
}

// player lives a history as the engine does: marks in the log by the wall clock, a stopwatch by one that nobody sets.
type player struct {
	wall  time.Time
	mono  time.Duration
	marks []lanes.Mark
	watch lanes.Stopwatch
	task  lanes.Task
	read  []reading
}

func (p *player) passes(minutes int) {
	p.wall, p.mono = p.wall.Add(time.Duration(minutes)*time.Minute), p.mono+time.Duration(minutes)*time.Minute
}

func (p *player) mark(kind lanes.MarkKind) {
	p.marks = append(p.marks, lanes.Mark{Kind: kind, Hold: "H", At: p.wall})
}

func (p *player) spend(f lanes.RunFacts) {
	before := len(p.task.Reasons)
	next := lanes.Start
	p.task, next = budget.Spend(p.task, f, p.wall)
	backoff := time.Duration(0)
	if next == lanes.Start && !p.task.RetryAt.IsZero() {
		backoff = p.task.RetryAt.Sub(p.wall)
	}
	if f.OpenedHold || f.Interrupted {
		return // the property below compares what is left of the history
	}
	p.read = append(p.read, reading{0, 0, p.task.Spent, p.task.NoProgress, backoff, next, len(p.task.Reasons) - before})
}

func (p *player) suffer(s stroke) {
	switch s.kind {
	case "held":
		p.mark(lanes.MarkHeld)
		p.watch = p.watch.At(p.mono, true, false)
		p.passes(s.minutes)
		p.wall = p.wall.Add(time.Duration(s.jump) * time.Minute)
		p.watch = p.watch.At(p.mono, true, false)
		p.mark(lanes.MarkFreed)
		p.watch = p.watch.At(p.mono, false, false)
	case "crash": // the next engine knows the log alone, and its clock begins anywhere
		p.mono = time.Duration(s.minutes) * time.Hour
		quiet := p.watch.Quiet
		p.watch = lanes.NewStopwatch(lanes.Working(p.marks, p.wall), p.mono)
		p.watch.Quiet = quiet // it gives the worker new time to be quiet, which the test takes away to compare
	case "asked":
		p.spend(lanes.RunFacts{OpenedHold: true, HeadMoved: s.jump > 0})
		p.passes(s.minutes)
	case "parked":
		p.spend(lanes.RunFacts{Interrupted: true, EndedBy: "park", BoxesTicked: s.jump > 0})
		p.passes(s.minutes)
	}
}

func (p *player) play(h history, strokes []stroke) []reading {
	p.wall = now
	for n, run := range h.runs {
		for _, s := range strokes {
			if s.run == n && (s.kind == "asked" || s.kind == "parked") {
				p.suffer(s)
			}
		}
		p.marks = nil
		p.mark(lanes.MarkBegan)
		p.watch = lanes.NewStopwatch(0, p.mono)
		for i, pc := range run {
			for _, s := range strokes {
				if s.run == n && s.piece == i && (s.kind == "held" || s.kind == "crash") {
					p.suffer(s)
				}
			}
			p.passes(pc.minutes)
			p.watch = p.watch.At(p.mono, false, pc.moves)
			p.read = append(p.read, reading{worked: p.watch.Worked, quiet: p.watch.Quiet})
		}
		p.mark(lanes.MarkEnded)
		p.spend(h.facts[n])
	}
	return p.read
}

// TestW4_WaitingMovesNoBudget (F006, F007, W58): holds, crashes of the engine and pauses at any places of any history, with
// the wall clock set while the worker waits, change neither how long a run has worked, nor when it is quiet for too long,
// nor what its task has spent, nor its back-off, nor how it ends. Only a hold can make a stall later, never earlier.
func TestW4_WaitingMovesNoBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		strokes := drawStrokes(t, h)
		calm, rough := (&player{}).play(h, nil), (&player{}).play(h, strokes)
		if len(calm) != len(rough) {
			t.Fatalf("%d readings became %d", len(calm), len(rough))
		}
		held := slices.ContainsFunc(strokes, func(s stroke) bool { return s.kind == "held" })
		for i := range calm {
			want, got := calm[i], rough[i]
			if held && got.quiet <= want.quiet {
				got.quiet = want.quiet
			}
			if got != want {
				t.Fatalf("reading %d: %+v became %+v after %+v", i, want, got, strokes)
			}
		}
	})
}
