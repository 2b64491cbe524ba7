package enginetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"ferrox/engine"
	"ferrox/engine/sqlite"
	"ferrox/gates"
	"ferrox/lanes"
)

const (
	batchID     lanes.BatchID = "x"
	integration               = "ferrox/x/integration"
	slow                      = 2 * time.Second // how often the engine looks by itself
)

// tasks of every history. C needs A.
var tasks = []lanes.TaskID{"A", "B", "C", "D"}

// config is the settings file. The longest back-off is shorter than what passes between two steps.
const config = `{"runner": {"lanes": 2, "no_progress_limit": 3, "hold_timeout": "4h", "hold_quiesce": %q, "finish_grace": "10s",
	"backoff": {"initial": "1s", "max": "2s"}, "worker": {"preset": "shell", "command": ["work"], "max_iterations": 12}}}`

// world is a machine with one repository: what is on its disk, what runs on it, and what was promised to whom.
type world struct {
	dir     string
	repo    *repo
	clock   *clock
	turns   *turnstile
	fault   fault
	mutant  mutant
	order   []int // whose turn it is, over and over
	turn    int
	excused int          // strikes of faults that an end of an engine was put down to
	looks   atomic.Int64 // at the store, since all came to rest

	outside *sqlite.Store // of shims, commands and the checks
	opened  []*sqlite.Store

	mu        sync.Mutex
	owner     *proc // who has the repository's lock
	running   *proc // the engine that was started last
	workers   []*worker
	barred    map[string]engine.WorkerExit // by the folder of the run
	pids      int
	ids       int
	promises  []promise
	violation string   // what went wrong first
	told      []string // the history in words
}

// newWorld makes a machine and starts the batch on it. It is called in a bubble.
func newWorld(dir, template string, h history, m mutant) (*world, error) {
	w := &world{
		dir: dir, repo: newRepo(), clock: &clock{start: time.Now()}, mutant: m, order: h.Order,
		barred: map[string]engine.WorkerExit{},
		turns:  &turnstile{labels: map[string]string{}},
	}
	for _, d := range []string{w.home(), filepath.Join(w.root(), ".planning")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return w, err
		}
	}
	empty, err := os.ReadFile(template)
	if err != nil {
		return w, err
	}
	if err := os.WriteFile(w.file(), empty, 0o600); err != nil {
		return w, err
	}
	if err := os.WriteFile(filepath.Join(w.root(), ".planning", "config.json"), fmt.Appendf(nil, config, h.Grace), 0o600); err != nil {
		return w, err
	}
	if w.outside, err = w.open(); err != nil {
		return w, err
	}
	files := map[string]string{"README.md": "a project\n"}
	for _, id := range tasks {
		need := "**None**"
		if id == "C" {
			need = "- **Task:** A"
		}
		files["tasks/"+string(id)+"-x/PROMPT.md"] = fmt.Sprintf(
			"# Task: %s - Title\n\n**Size:** S\n\n## Review Level: 0\n\n## Dependencies\n\n%s\n\n## Steps\n\n### Step 1: Part\n\n- [ ] box\n", id, need)
	}
	w.repo.branches["main"] = w.repo.add(commit{files: files, message: "start"}, dawn)
	w.boot(func(ctx context.Context, e *engine.Engine, run engine.RunOptions) (engine.Outcome, error) {
		return e.StartBatch(ctx, engine.StartOptions{Batch: batchID}, run, func(lanes.Batch, []string) {})
	})
	return w, nil
}

func (w *world) home() string { return filepath.Join(w.dir, "git", "ferrox") }
func (w *world) root() string { return filepath.Join(w.dir, "r") }
func (w *world) file() string { return filepath.Join(w.home(), "ferrox.db") }

// open opens the store once more, as a fresh process would, whoever else has it open.
func (w *world) open() (*sqlite.Store, error) {
	s, err := sqlite.Open(context.Background(), w.file(), sqlite.Options{})
	if err == nil {
		w.opened = append(w.opened, s)
	}
	return s, err
}

// close ends everything that still runs, so that the bubble can end.
func (w *world) close() error {
	if w.running != nil {
		w.running.kill()
	}
	w.turns.release()
	if w.running != nil {
		<-w.running.done
	}
	synctest.Wait()
	for _, s := range w.opened {
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// boot starts an engine. It has the store open beside whoever was killed with it open.
func (w *world) boot(run func(context.Context, *engine.Engine, engine.RunOptions) (engine.Outcome, error)) {
	db, err := w.open()
	if err != nil {
		w.violate("open the store: %v", err)
		return
	}
	p := w.newProc(roleEngine, db)
	w.mu.Lock()
	w.running = p
	w.mu.Unlock()
	go func() {
		defer close(p.done)
		p.out, p.err = run(p.ctx, p.engine(), engine.RunOptions{Signal: p.signal})
	}()
	w.settle()
}

func (w *world) resume() {
	w.boot(func(ctx context.Context, e *engine.Engine, run engine.RunOptions) (engine.Outcome, error) {
		return e.Resume(ctx, engine.ResumeOptions{Batch: batchID}, run, func(lanes.Batch, []string) {})
	})
}

// up reports whether an engine runs.
func (w *world) up() bool {
	select {
	case <-w.running.done:
		return false
	default:
		return true
	}
}

// What may be done at one instant: more than that is going round in circles.
const (
	mostTurns = 3000 // turns that are taken until nothing is left to do
	mostLooks = 400  // looks at the store between two turns
)

// settle lets everybody take turns until all rest.
func (w *world) settle() {
	for n := 0; ; n++ {
		synctest.Wait()
		w.looks.Store(0)
		if n > mostTurns {
			w.violate("nobody comes to rest: %d turns at one instant", n)
			w.running.kill()
			w.turns.release()
			return
		}
		if !w.turns.next(w.pick) {
			return
		}
	}
}

func (w *world) pick(n int) int {
	if len(w.order) == 0 || n == 1 {
		return 0
	}
	w.turn++
	return w.order[w.turn%len(w.order)] % n
}

// pass lets time pass, as the engine would see it.
func (w *world) pass(d time.Duration) {
	for ; d > 0; d -= slow {
		<-time.After(min(d, slow))
		w.settle()
	}
}

func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("%026d", w.ids)
}

// ring wakes the engine.
func (w *world) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.running.bell <- "bell":
	default:
	}
}

func (w *world) unlock(p *proc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner == p {
		w.owner = nil
	}
}

// say adds to the history in words.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, fmt.Sprintf(format, args...))
}

// violate notes what went wrong; the first time counts.
func (w *world) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violateLocked(format, args...)
}

func (w *world) violateLocked(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.told = append(w.told, "   WRONG: "+w.violation)
	}
}

func (w *world) wrong() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violation
}

func (w *world) words() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.told, "\n")
}

// workerOf returns the live worker of a task.
func (w *world) workerOf(id lanes.TaskID) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		if k.task == id && k.alive() {
			return k
		}
	}
	return nil
}

// checkPublish looks at what the branch is about to be moved over.
func (w *world) checkPublish(ctx context.Context, p gates.Permit) {
	holds, err := w.holdsOf(ctx, p.Task())
	if err != nil || !p.Valid() {
		w.violate("publish %s: permit valid is %v, %v", p.Task(), p.Valid(), err)
	}
	for _, h := range holds {
		if h.Unresolved() {
			w.violate("the branch is moved for %s over hold %s, which is %s, delivery %s", p.Task(), h.ID, h.State, h.Delivery)
		}
	}
	for _, k := range w.workers {
		if k.task == p.Task() && len(k.spool) > 0 {
			w.violate("the branch is moved for %s over the question %q in its spool", p.Task(), k.spool[0].Text)
		}
	}
	if w.workerOf(p.Task()) != nil {
		w.violate("the branch is moved for %s while its worker is alive", p.Task())
	}
}

// checkLanded looks whether the branch has what is about to be recorded as landed.
func (w *world) checkLanded(t lanes.Task) {
	w.repo.mu.Lock()
	has := w.repo.reach(w.repo.branches[integration])[t.Merge]
	w.repo.mu.Unlock()
	if !has {
		w.violate("%s is recorded as landed by %s, which the branch does not have", t.ID, t.Merge)
	}
	if slices.ContainsFunc(w.workers, func(k *worker) bool { return k.task == t.ID && k.alive() }) {
		w.violate("%s lands while its worker is alive", t.ID)
	}
}
