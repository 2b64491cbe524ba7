package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/lanes"
)

// shim runs one worker.
type shim struct {
	spec     engine.WorkerSpec
	identity lanes.Identity
	lock     *flock.Flock // held until this process ends
	told     chan os.Signal
	children chan os.Signal
	alert    alert
	beside   Companion
	out      *collector // nil as long as no worker was started
}

// Companion runs beside a worker for as long as its tree lives, and returns soon after its context ends. tell sends the worker's
// own process the signal that the worker asked for, if it asked for one.
type Companion func(ctx context.Context, tell func())

// Shim is the main function of a shim: it runs the worker that a spec file describes and returns when the worker's
// whole tree is gone and its exit record is on disk. handle carries out the worker's requests; beside may be nil.
func Shim(ctx context.Context, specFile string, handle Handler, beside Companion) error {
	ready := takeReady()
	s, err := prepare(specFile)
	tell(ready, s, err)
	if err != nil {
		return fmt.Errorf("run shim: %w", err)
	}
	defer s.lock.Close()
	s.beside = beside
	if err := s.run(ctx, handle); err != nil {
		return fmt.Errorf("run shim of %s: %w", s.spec.Run, err)
	}
	return nil
}

// takeReady finds the pipe that the parent waits on and closes whatever else was inherited: a descriptor that some
// caller of ferrox forgot must not live on in a worker. nil when nobody waits.
func takeReady() *os.File {
	fd, err := strconv.Atoi(os.Getenv(readyEnv))
	if err != nil {
		return nil
	}
	os.Unsetenv(readyEnv)
	closeInherited(fd)
	return os.NewFile(uintptr(fd), "ready")
}

// closeInherited closes descriptors that came through exec. Everything that Go opens is marked to be closed by exec.
func closeInherited(except int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 || fd == except {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// prepare does everything up to the durable identity.
func prepare(file string) (*shim, error) {
	s := &shim{told: make(chan os.Signal, 8), children: make(chan os.Signal, 1)}
	signal.Notify(s.told, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	signal.Notify(s.children, unix.SIGCHLD)
	if err := BecomeSubreaper(); err != nil {
		return nil, err
	}
	if err := readJSON(file, &s.spec); err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	var err error
	if s.identity, err = Self(); err != nil {
		return nil, err
	}
	if s.lock, err = lockLane(s.spec.LaneLock); err != nil {
		return nil, err
	}
	if err := s.record(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// lockLane takes the lane for as long as this process lives.
func lockLane(name string) (*flock.Flock, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("lock lane: %w", err)
	}
	l := flock.New(name, flock.SetPermissions(0o600))
	got, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock lane: %w", err)
	}
	if !got {
		return nil, engine.ErrLaneBusy
	}
	return l, nil
}

// record writes who the shim is. A run has one shim ever: the second one finds the record. A run that was barred has none: the
// first one finds that it has ended.
func (s *shim) record() error {
	name := filepath.Join(s.spec.Dir, shimFile)
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("record shim: %s is there, the run was started before; start a new run", name)
	}
	if info, err := os.Lstat(filepath.Join(s.spec.Dir, exitFile)); err == nil && info.Mode().IsRegular() {
		return errors.New("record shim: the run ended before it began; start a new run")
	}
	if err := writeJSON(name, ShimRecord{Identity: s.identity}); err != nil {
		return fmt.Errorf("record shim: %w", err)
	}
	return nil
}

// tell reports to the parent and lets it go. A parent that is gone is no reason to stop.
func tell(ready *os.File, s *shim, err error) {
	if ready == nil {
		return
	}
	defer ready.Close()
	var r report
	if err != nil {
		r.Busy, r.Error = errors.Is(err, engine.ErrLaneBusy), err.Error()
	} else {
		r.Identity = s.identity
	}
	if b, err := json.Marshal(r); err == nil {
		ready.Write(b)
	}
}

// run carries the worker from its start to its exit record. Whatever fails on the way is in the record.
func (s *shim) run(ctx context.Context, handle Handler) error {
	d := newDesk(s.spec.Token, handle)
	d.alert = &s.alert
	exit := s.work(ctx, d)
	var leftover error
	if err := serveSpool(context.Background(), s.spec.Spool, d, true); err != nil {
		leftover = err // stays in the spool for the engine
	} else {
		clearSpool(s.spec.Spool)
	}
	exit.EndedAt = now()
	return errors.Join(leftover, s.leave(exit))
}

// leaveTime and leaveEvery say how long the exit record is tried on a disk that refuses it.
const (
	leaveTime  = time.Minute
	leaveEvery = time.Second
)

// leave writes the exit record, and before it what could not be written of the output's.
func (s *shim) leave(exit engine.WorkerExit) error {
	name := filepath.Join(s.spec.Dir, exitFile)
	end := time.Now().Add(leaveTime)
	for {
		if s.out != nil {
			s.out.note(s.spec.Run)
		}
		err := writeJSONForGood(name, exit)
		if err == nil || time.Now().After(end) {
			return err
		}
		fmt.Fprintln(os.Stderr, "leave exit record:", err)
		time.Sleep(leaveEvery)
	}
}

// work runs the worker between the servers that it needs and returns how it ended.
func (s *shim) work(ctx context.Context, d *desk) engine.WorkerExit {
	out, err := openOutput(s.spec)
	if err != nil {
		return failedStart(err)
	}
	srv, err := listen(s.spec.Socket, d)
	if err != nil {
		return failedStart(errors.Join(err, out.abandon()))
	}
	stopSpool := pollSpool(s.spec.Spool, d)
	leave := s.accompany()
	s.out = out
	exit := s.runCommand(ctx, out)
	leave()
	stopSpool()
	srv.close()
	exit.Tail = out.text()
	return exit
}

// accompany starts the worker's companion. The function that it returns ends it and waits for that.
func (s *shim) accompany() (leave func()) {
	if s.beside == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.beside(ctx, s.alert.tell) })
	return func() {
		cancel()
		running.Wait()
	}
}

func failedStart(err error) engine.WorkerExit {
	exit := engine.WorkerExit{Code: codeNotRunnable, Failure: err.Error()}
	var start *startError
	if errors.As(err, &start) {
		exit.Code = start.code
	}
	return exit
}

// runCommand starts the command and stays until nothing of its tree is left.
func (s *shim) runCommand(ctx context.Context, out *collector) engine.WorkerExit {
	defer out.finish(s.spec.Run)
	if len(s.told) > 0 || ctx.Err() != nil {
		return engine.WorkerExit{Code: -1, Terminated: true}
	}
	after := crash.Around("start worker")
	cmd, err := startCommand(s.spec, out.writer)
	after()
	out.release()
	if err != nil {
		return failedStart(err)
	}
	s.alert.process.Store(cmd.Process)
	worker, err := readStat(cmd.Process.Pid) // before anyone may reap it
	var noted sync.WaitGroup
	if err == nil {
		noted.Go(func() { s.noteWorker(worker) }) // aside: a slow disk must not keep a signal waiting
	}
	defer noted.Wait()
	return newEnding(s, cmd).follow(ctx)
}

// noteWorker writes the command down beside the shim's record, for people. Nothing depends on it.
func (s *shim) noteWorker(worker stat) {
	id := s.identity
	id.PID, id.Start = worker.pid, worker.start
	if err := noteJSON(filepath.Join(s.spec.Dir, workerFile), id); err != nil {
		fmt.Fprintln(os.Stderr, "note the worker:", err)
	}
}
