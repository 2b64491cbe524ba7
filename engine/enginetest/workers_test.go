package enginetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

// worker is one worker under its shim. It outlives the engine that started it, and does what the history says.
type worker struct {
	spec  engine.WorkerSpec
	id    lanes.Identity
	task  lanes.TaskID
	born  time.Duration
	gone  chan struct{} // closed when its tree has ended
	exit  engine.WorkerExit
	spool []engine.WorkerRequest
	asked int // requests so far, for their ids
}

func (k *worker) alive() bool {
	select {
	case <-k.gone:
		return false
	default:
		return true
	}
}

// end ends the worker's tree; its shim keeps the exit record.
func (k *worker) end(w *world, exit engine.WorkerExit) {
	if !k.alive() {
		return
	}
	if !exit.Lost {
		exit.EndedAt = w.clock.Now()
	}
	k.exit = exit
	close(k.gone)
}

// workers is the process table as one process sees it.
type workers struct {
	engine.Workers // what no history needs
	p              *proc
}

func (k workers) Start(_ context.Context, s engine.WorkerSpec) (lanes.Identity, error) {
	var id lanes.Identity
	err := k.p.effect("start worker", func() error {
		w := k.p.w
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, other := range w.workers {
			if other.spec.LaneLock == s.LaneLock && other.alive() {
				w.violateLocked("run %s starts in a lane where the worker of run %s is alive", s.Run, other.spec.Run)
				return engine.ErrLaneBusy
			}
		}
		w.pids++
		id = lanes.Identity{PID: w.pids, Start: uint64(w.pids), Boot: "boot", PIDNS: 1}
		w.workers = append(w.workers, &worker{
			spec: s, id: id, task: lanes.TaskID(envOf(s.Env, "FERROX_TASK")), born: w.clock.Monotonic(), gone: make(chan struct{}),
		})
		return nil
	})
	return id, err
}

func envOf(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func (k workers) by(match func(*worker) bool) *worker {
	k.p.w.mu.Lock()
	defer k.p.w.mu.Unlock()
	for _, one := range k.p.w.workers {
		if match(one) {
			return one
		}
	}
	return nil
}

func (k workers) Find(dir string) (lanes.Identity, bool) {
	one := k.by(func(o *worker) bool { return o.spec.Dir == dir })
	if one == nil {
		return lanes.Identity{}, false
	}
	return one.id, true
}

// Bar never meets a shim on its way: here a start is one step.
func (k workers) Bar(dir, laneLock string) (barred bool, err error) {
	one := k.by(func(o *worker) bool { return o.spec.Dir == dir || o.spec.LaneLock == laneLock && o.alive() })
	if one != nil {
		return false, k.p.alive()
	}
	err = k.p.effect("bar run", func() error {
		k.p.w.mu.Lock()
		defer k.p.w.mu.Unlock()
		k.p.w.barred[dir] = engine.WorkerExit{Code: -1, Terminated: true, EndedAt: k.p.w.clock.Now()}
		return nil
	})
	return err == nil, err
}

func (k workers) Record(dir string) (engine.WorkerExit, bool) {
	k.p.w.mu.Lock()
	exit, barred := k.p.w.barred[dir]
	k.p.w.mu.Unlock()
	if barred {
		return exit, true
	}
	one := k.by(func(o *worker) bool { return o.spec.Dir == dir })
	if one == nil || one.alive() || one.exit.Lost {
		return engine.WorkerExit{}, false
	}
	return one.exit, true
}

func (k workers) Alive(id lanes.Identity) bool {
	one := k.by(func(o *worker) bool { return o.id == id })
	return one != nil && one.alive()
}

func (k workers) Age(id lanes.Identity) (time.Duration, bool) {
	one := k.by(func(o *worker) bool { return o.id == id })
	if one == nil || !one.alive() {
		return 0, false
	}
	return k.p.w.clock.Monotonic() - one.born, true
}

func (k workers) Wait(ctx context.Context, id lanes.Identity, _ string) (engine.WorkerExit, error) {
	one := k.by(func(o *worker) bool { return o.id == id })
	if one == nil {
		return engine.WorkerExit{}, fmt.Errorf("wait for %d: no such shim", id.PID)
	}
	select {
	case <-one.gone:
		return one.exit, k.p.alive()
	case <-ctx.Done():
		return engine.WorkerExit{}, ctx.Err()
	}
}

func (k workers) Terminate(id lanes.Identity) error {
	one := k.by(func(o *worker) bool { return o.id == id })
	return k.p.effect("terminate worker", func() error {
		one.end(k.p.w, engine.WorkerExit{Code: -1, Signal: "SIGTERM", Terminated: true})
		return nil
	})
}

func (k workers) Sweep(context.Context, string) ([]string, error) { return nil, k.p.alive() }
func (k workers) ReapOrphans() (int, error)                       { return 0, k.p.alive() }
func (k workers) LastOutput(string) time.Time                     { return time.Time{} }

func (k workers) DrainSpool(_ context.Context, _, token string, fn func(engine.WorkerRequest) (engine.WorkerAnswer, error)) error {
	one := k.by(func(o *worker) bool { return o.spec.Token == token })
	if one == nil {
		return k.p.alive()
	}
	for len(one.spool) > 0 {
		answer, err := fn(one.spool[0])
		if err != nil {
			return err
		}
		if err := k.p.effect("remove from spool", func() error {
			k.p.w.answered(one, one.spool[0], answer)
			one.spool = one.spool[1:]
			return nil
		}); err != nil {
			return err
		}
	}
	return k.p.alive()
}

// packet is the folder of the worker's packet.
func (k *worker) packet() string { return "tasks/" + string(k.task) + "-x" }

func (k *worker) taskDir() string { return filepath.Join(k.spec.Cwd, filepath.FromSlash(k.packet())) }

// write puts a file into the lane.
func (k *worker) write(path, text string) error {
	full := filepath.Join(k.spec.Cwd, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, []byte(text), 0o644)
}

// commit commits what is in the lane, but for the packet's records.
func (k *worker) commit(w *world, message string, more ...lanes.Commit) error {
	files, err := readFiles(k.spec.Cwd)
	if err != nil {
		return err
	}
	w.repo.mu.Lock()
	defer w.repo.mu.Unlock()
	branch := w.repo.worktrees[k.spec.Cwd]
	head := w.repo.branches[branch]
	committed := w.repo.commits[head].files
	for path := range files {
		if path == k.packet()+"/STATUS.md" || path == k.packet()+"/.DONE" {
			if text, known := committed[path]; known {
				files[path] = text
			} else {
				delete(files, path)
			}
		}
	}
	w.repo.branches[branch] = w.repo.add(commit{files, append([]lanes.Commit{head}, more...), message}, w.clock.Now())
	return nil
}

// catchUp merges what landed into the lane, where the lane's own work cannot be merged with it. The lane's side wins.
func (k *worker) catchUp(w *world) error {
	w.repo.mu.Lock()
	into, head := w.repo.branches[integration], w.repo.branches[w.repo.worktrees[k.spec.Cwd]]
	theirs := w.repo.commits[into].files
	_, _, conflicts := w.repo.merge(into, head)
	w.repo.mu.Unlock()
	if len(conflicts) == 0 {
		return nil
	}
	mine, err := readFiles(k.spec.Cwd)
	if err != nil {
		return err
	}
	for path, text := range theirs {
		if _, has := mine[path]; !has {
			if err := k.write(path, text); err != nil {
				return err
			}
		}
	}
	return k.commit(w, "Merge what landed", into)
}

// tick ticks every box.
func (k *worker) tick() error {
	file := filepath.Join(k.taskDir(), "STATUS.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "- [ ]", "- [x]")), 0o644)
}

// claim writes .DONE.
func (k *worker) claim() error {
	return os.WriteFile(filepath.Join(k.taskDir(), ".DONE"), []byte("done by "+string(k.spec.Run)+"\n"), 0o644)
}
