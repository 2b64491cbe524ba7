package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ferrox/engine"
	"ferrox/engine/powercut"
	"ferrox/engine/sqlite"
	"ferrox/hold"
	"ferrox/lanes"
)

func init() { powercut.Launch() }

// The workers of the power batch keep nothing outside their lane, for that is lost as well, and can be run again at any
// point. What ferrox told them they tell the recorder, who has it as a mark.
const (
	powerGuard = `mark() { : >"$MARKS/$1"; sync "$MARKS/$1"; }
for r in $FERROX_RULINGS; do ferrox ack "$r" || exit 8; mark "acknowledged $r"; done
work() { echo "$FERROX_TASK" >"$1"; git add -- "$1"; git diff --cached --quiet || git commit -qm "work on $FERROX_TASK" || exit 7
	sed -i 's/- \[ \]/- [x]/' "$FERROX_TASK_DIR/STATUS.md"; echo done >"$FERROX_TASK_DIR/.DONE"; }
`
	powerEarly = powerGuard + `if [ "$FERROX_ITERATION" = 1 ]; then echo early >"$FERROX_TASK_DIR/.DONE"; else work a.txt; fi`
	powerAsks  = powerGuard + `if [ "$FERROX_RULINGS" = "" ]; then id=$(ferrox escalate --gate g -m which?) && mark "escalated $id"; else work b.txt; fi`
	powerPlain = powerGuard + `work c.txt`
)

// powerBatch is a batch whose every flush is recorded, and then run again on what a cut of the power may leave of it.
type powerBatch struct {
	*testRepo
	root string // all of it: the repository, its lanes, the home
	log  *powercut.Log
	want string

	sound map[string][]string // what was looked at already: stores, with what has landed, and gits
}

func recordPowerBatch(t *testing.T) *powerBatch {
	t.Helper()
	r := newTestRepo(t, `, "lanes": 2, "no_progress_limit": 8`,
		map[string]string{"A": powerEarly, "B": powerAsks, "C": powerPlain}, map[string]string{"C": "A"})
	r.abortAtEnd()
	if err := os.RemoveAll(filepath.Join(r.dir, ".git", "hooks")); err != nil { // samples
		t.Fatal(err)
	}
	marks := t.TempDir()
	r.env = []string{"MARKS=" + marks}
	p := &powerBatch{testRepo: r, root: filepath.Dir(r.dir), sound: map[string][]string{}}
	rec, err := powercut.Record(p.root, marks)
	if errors.Is(err, powercut.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	stopped := p.drive(func(args ...string) (string, int) {
		cmd := r.command(binary, args...)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := rec.Run(cmd); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if errOut.Len() > 0 {
			t.Logf("ferrox %v: %s", args, errOut.String())
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}, rec.Mark)
	if stopped != nil {
		t.Fatal(stopped)
	}
	if p.log, err = rec.End(); err != nil {
		t.Fatal(err)
	}
	p.want = p.outcome()
	return p
}

// drive brings the batch to its end, answering what is asked, and tells mark what it was told. An error says why it stopped
// before.
func (p *powerBatch) drive(ferrox func(args ...string) (out string, code int), mark func(string)) error {
	p.t.Helper()
	for range 6 {
		args := []string{"resume", "--no-wait"}
		if _, none := ferrox("status"); none == engine.ExitNotFound {
			args = []string{"run", "batch", "--batch", "x", "--no-wait"}
		}
		switch _, code := ferrox(args...); {
		case code == engine.ExitDone, code == engine.ExitRefused && p.phase() == lanes.PhaseCompleted:
			mark("completed")
			return nil
		case code != engine.ExitParked:
			return fmt.Errorf("ferrox %v: exit %d", args, code)
		}
		out, _ := ferrox("holds", "--json")
		var holds []engine.HoldView
		if err := json.Unmarshal([]byte(out), &holds); err != nil {
			p.t.Fatal(err)
		}
		for _, h := range holds {
			if _, code := ferrox("rule", "--reply-to", string(h.ID), "fix", "-m", "the second"); code != engine.ExitDone {
				return fmt.Errorf("rule on %s: exit %d", h.ID, code)
			}
			mark("ruled " + string(h.ID))
		}
	}
	return errors.New("the batch does not end")
}

// phase is asked only after the recording: it opens the store in this process, which nobody records.
func (p *powerBatch) phase() (phase lanes.Phase) {
	p.store(func(ctx context.Context, rd engine.Reader) error {
		b, err := rd.Batch(ctx, "x")
		phase = b.Phase
		return err
	})
	return phase
}

// outcome is what must be the same whenever the power was cut.
func (p *powerBatch) outcome() string {
	p.t.Helper()
	const head = "ferrox/x/integration"
	var b strings.Builder
	fmt.Fprintln(&b, "tree", p.git("ls-tree", "-r", head, "--", "a.txt", "b.txt", "c.txt", "tasks"))
	merges := strings.Fields(p.git("log", "--first-parent", "--format=%(trailers:key=Ferrox-Task,valueonly)", head))
	slices.Sort(merges)
	fmt.Fprintln(&b, "merges", merges)
	p.store(func(ctx context.Context, rd engine.Reader) error { return writeRecords(ctx, rd, &b) })
	return askedOnce(b.String())
}

// askedOnce is an outcome in which the worker asked once. A ruling that was acknowledged is in no later prompt, so a worker
// whose run was cut off after that asks again; but for each question there is one of everything.
func askedOnce(said string) string {
	times := strings.Count(said, "\nhold B g ")
	said = strings.Join(slices.Compact(strings.Split(said, "\n")), "\n")
	for _, name := range []string{"hold-opened", "hold-released", "ruling-acknowledged", "message escalate", "message ruling", "message reply"} {
		said = strings.Replace(said, fmt.Sprintf("\n%s %d\n", name, times), "\n"+name+" 1\n", 1)
	}
	return said
}

// What a disk is looked at for: the store without the side file that nobody relies on, and git.
var (
	powerStore = []string{"r/.git/ferrox/ferrox.db", "r/.git/ferrox/ferrox.db-wal", "r/.git/ferrox/ferrox.db-journal", "r/.git/ferrox/refused"}
	powerGit   = []string{"r/.git/HEAD", "r/.git/config", "r/.git/packed-refs", "r/.git/objects", "r/.git/refs"}
)

// lost says what of the marks a disk does not hold any more.
func (p *powerBatch) lost(marks []string, disk powercut.Image) error {
	seen := disk.Digest(powerStore...) + fmt.Sprint(marks)
	landed, known := p.sound[seen]
	if !known {
		var err error
		if landed, err = p.lostOfStore(marks, disk); err != nil {
			return err
		}
		p.sound[seen] = landed
	}
	seen = disk.Digest(powerGit...) + fmt.Sprint(landed)
	if _, known := p.sound[seen]; known || len(landed) == 0 {
		return nil
	}
	p.sound[seen] = nil
	return p.lostOfGit(landed, disk)
}

// lostOfStore opens the store and returns the merges that it has as landed.
func (p *powerBatch) lostOfStore(marks []string, disk powercut.Image) (landed []string, err error) {
	dir := filepath.Join(p.t.TempDir(), "disk")
	defer os.RemoveAll(dir)
	if err := disk.Write(dir, powerStore...); err != nil {
		return nil, err
	}
	ctx := p.t.Context()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "r", ".git", "ferrox", "ferrox.db"), sqlite.Options{})
	if len(marks) == 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, engine.ErrOlderSchema)) {
		return nil, nil // the first start was cut short
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Sound(ctx); err != nil {
		return nil, err
	}
	return landed, s.View(ctx, func(rd engine.Reader) error {
		kept, err := powerKept(ctx, rd)
		if err != nil {
			return err
		}
		for _, m := range marks {
			if kept[m] != 1 {
				return fmt.Errorf("%q is stored %d times", m, kept[m])
			}
		}
		tasks, err := rd.Tasks(ctx, "x")
		for _, t := range tasks {
			if t.Merge != "" {
				landed = append(landed, string(t.Merge))
			}
		}
		return errors.Join(err, p.claimKept(ctx, rd, dir))
	})
}

// claimKept checks that a refused claim which is said to be set aside is there with its bytes.
func (p *powerBatch) claimKept(ctx context.Context, rd engine.Reader, dir string) error {
	effects, err := rd.Effects(ctx, "x", false)
	if err != nil {
		return err
	}
	for _, e := range effects {
		if e.Kind != lanes.EffectSetAside || e.State != lanes.EffectDone {
			continue
		}
		inside, err := filepath.Rel(p.root, e.Outcome)
		if err != nil {
			return err
		}
		if claim, err := os.ReadFile(filepath.Join(dir, inside)); err != nil || string(claim) != "early\n" {
			return fmt.Errorf("the claim set aside as %s reads %q: %w", inside, claim, err)
		}
	}
	return nil
}

// lostOfGit checks that what is recorded as landed is in the integration branch, with every object.
func (p *powerBatch) lostOfGit(landed []string, disk powercut.Image) error {
	dir := filepath.Join(p.t.TempDir(), "disk")
	defer os.RemoveAll(dir)
	if err := disk.Write(dir, powerGit...); err != nil {
		return err
	}
	const head = "refs/heads/ferrox/x/integration"
	git := func(args ...string) error {
		cmd := p.command("git", append([]string{"--git-dir=" + filepath.Join(dir, "r", ".git")}, args...)...)
		cmd.Stdin = strings.NewReader(head + "\n")
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%v have landed, but git %v: %w: %s", landed, args, err, said.Bytes())
		}
		return nil
	}
	for _, merge := range landed {
		if err := git("merge-base", "--is-ancestor", merge, head); err != nil {
			return err
		}
	}
	return git("pack-objects", "--quiet", "--revs", "--stdout") // reads every object of the branch, and no other
}

// powerKept are the marks that a store holds, and how often.
func powerKept(ctx context.Context, rd engine.Reader) (map[string]int, error) {
	kept := map[string]int{}
	holds, err := rd.Holds(ctx, engine.HoldFilter{})
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		kept["escalated "+string(h.ID)]++
		if h.State == hold.Released && h.RulingText == "the second" {
			kept["ruled "+string(h.ID)]++
		}
		if h.Delivery == hold.DeliveryAcknowledged {
			kept["acknowledged "+string(h.Ruling)]++
		}
	}
	b, err := rd.Batch(ctx, "x")
	if errors.Is(err, engine.ErrNotFound) {
		return kept, nil
	}
	if b.Phase == lanes.PhaseCompleted {
		kept["completed"]++
	}
	return kept, err
}

// powerSoak asks for every cut in every kind of loss.
var powerSoak = os.Getenv("FERROX_TEST_SOAK") != ""

// firstLost is the first cut after which something is missing that somebody was told, or nil. Every step-th cut is looked at
// with all that was not flushed lost, and with one of the other losses; all of them with all when soaking.
func (p *powerBatch) firstLost(log *powercut.Log, step int) error {
	losses := powercut.Losses()
	if powerSoak {
		step = 1
	}
	for at := 0; at < log.Len(); at += step {
		for i, loss := range losses {
			if !powerSoak && i > 0 && i-1 != at/step%(len(losses)-1) {
				continue
			}
			if err := p.lost(log.Before(at), log.Cut(at, loss, 1)); err != nil {
				return fmt.Errorf("cut %d of %d, before the flush of %s, losing %s: %w", at, log.Len(), log.Path(at), loss, err)
			}
		}
	}
	return nil
}

// TestW14_W55_PowerCut cuts the power before every flush of a batch. Whatever of the rest is lost, each question, ruling and
// acknowledgement that somebody was told is stored, once, and what is recorded as landed is in the branch with all its
// objects.
func TestW14_W55_PowerCut(t *testing.T) {
	t.Parallel()
	p := recordPowerBatch(t)
	all := strings.Join(p.log.Before(p.log.Len()), " ")
	for _, part := range []string{"escalated", "ruled", "acknowledged", "completed"} {
		if strings.Count(all, part) != 1 {
			t.Fatalf("the undisturbed run was told %q", all)
		}
	}
	often := 1
	if raceEnabled {
		often = 3 // the run without the race detector takes all
	}
	t.Run("nothing that was told is lost", func(t *testing.T) {
		if err := p.firstLost(p.log, often); err != nil {
			t.Error(err)
		}
	})
	// What proves that the test can see a flush that is missing: a disk that forgets it.
	for name, forgotten := range map[string]func(string) bool{
		"of the store":           func(path string) bool { return strings.HasPrefix(path, "r/.git/ferrox/ferrox.db") },
		"of the store's folder":  func(path string) bool { return path == "r/.git" },
		"of objects":             func(path string) bool { return strings.HasPrefix(path, "r/.git/objects/") },
		"of an object's folder":  func(path string) bool { return path == "r/.git/objects" },
		"of a refused claim":     func(path string) bool { return strings.HasSuffix(path, "/.DONE") },
		"of where that lies":     func(path string) bool { return path == "r/.git/ferrox/refused/x" },
		"of the branch":          func(path string) bool { return strings.HasSuffix(path, "/integration.lock") },
		"of the branch's folder": func(path string) bool { return path == "r/.git/refs/heads/ferrox/x" },
	} {
		t.Run("a forgotten flush "+name+" is seen", func(t *testing.T) {
			if p.firstLost(p.log.Without(forgotten), 5) == nil {
				t.Error("nothing is missing")
			}
		})
	}
	t.Run("the batch goes on", p.goesOn)
}
