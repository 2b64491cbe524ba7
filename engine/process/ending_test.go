//go:build linux

package process

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stubborn ignores polite signals and keeps two children, a setsid'd one and a double fork busy with appending.
const stubborn = `trap '' INT TERM HUP
	busy() { echo $$ >>pids; while :; do echo x >>file; sleep 0.02; done; }
	export W
	loop='trap "" INT TERM HUP; echo $$ >>pids; while :; do echo x >>file; sleep 0.02; done'
	sh -c "$loop" & sh -c "$loop" &
	setsid sh -c "$loop" &
	env -i PATH="$PATH" setsid sh -c "($loop) & exit" &
	env -i PATH="$PATH" setsid sh -c 'sh -c "$0" & exit' "$loop" &
	echo $$ >>pids
	while :; do sleep 0.02; done`

func TestW42_StoppedMeansGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, stubborn)
	b.spec.KillGrace = 50 * time.Millisecond
	id := b.start()
	pids := b.see("pids", 6)
	b.see("file", 20)
	ok(t, b.runner.Terminate(id))
	exit := b.wait(id)
	if !exit.Terminated || exit.Signal != "SIGKILL" || exit.Code != -1 {
		t.Errorf("exit = %+v", exit)
	}
	for _, p := range pids {
		if running(p) {
			t.Errorf("%s is alive after its run ended", p)
		}
	}
	if len(exit.Ended) < len(pids) {
		t.Errorf("ended = %q, at least these were: %q", exit.Ended, pids)
	}
}

// Whoever forks and exits without end is another process by the time that it is looked at. It writes all the while, so
// that one that got away is seen; it gives up by itself after a minute, which is longer than we wait.
func TestW42_MovingTarget(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("no perl to fork quickly with")
	}
	b := newBench(t, `exec perl -MPOSIX -e '
		$SIG{TERM} = "IGNORE"; my $end = time + 60; open(my $f, ">>", "beat");
		while (time < $end) { my $p = fork(); POSIX::_exit(0) if $p; POSIX::setsid(); syswrite($f, "x"); }'`)
	b.spec.FinishGrace, b.spec.KillGrace = time.Hour, 0
	id := b.start()
	b.eventually("forking", func() bool { s, _ := os.ReadFile(b.tree("beat")); return len(s) > 20 })
	ok(t, b.runner.Terminate(id))
	if exit := b.wait(id); exit.Lost || !exit.Terminated {
		t.Errorf("exit = %+v", exit)
	}
	size := len(b.read("beat"))
	if err := poll(t.Context(), 100*time.Millisecond, func() bool { return len(b.read("beat")) > size }); err == nil {
		t.Error("it got away")
	}
}

func TestW46_SecondSignalKillsAtOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `trap 'echo told >>told' TERM; echo ready >ready; while :; do sleep 0.01; done`)
			b.spec.KillGrace = time.Hour
			id := b.start()
			b.see("ready", 1)
			signalIdentity(t, id, sig)
			b.see("told", 1)
			begun := time.Now()
			signalIdentity(t, id, sig)
			if exit := b.wait(id); !exit.Terminated || exit.Signal != "SIGKILL" {
				t.Errorf("exit = %+v", exit)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestPoliteWorkerEndsInItsOwnWay(t *testing.T) {
	t.Parallel()
	b := newBench(t, `trap 'echo saved; exit 9' TERM; echo ready >ready; while :; do sleep 0.01; done`)
	b.spec.KillGrace = time.Hour
	id := b.start()
	b.see("ready", 1)
	ok(t, b.runner.Terminate(id))
	if exit := b.wait(id); exit.Code != 9 || exit.Signal != "" || !exit.Terminated || !strings.HasSuffix(exit.Tail, "saved\n") {
		t.Errorf("exit = %+v", exit)
	}
}

func TestStoppedWorkerObeysTERM(t *testing.T) {
	t.Parallel()
	b := newBench(t, `trap 'exit 9' TERM; echo ready >ready; kill -STOP $$; while :; do sleep 0.01; done`)
	b.spec.KillGrace = time.Hour
	id := b.start()
	b.see("ready", 1)
	rec, _ := ReadShim(b.spec.Dir)
	b.eventually("stopped", func() bool {
		rec, _ = ReadShim(b.spec.Dir)
		s, err := readStat(rec.Worker.PID)
		return err == nil && s.state == 'T'
	})
	ok(t, b.runner.Terminate(id))
	if exit := b.wait(id); exit.Code != 9 {
		t.Errorf("exit = %+v", exit)
	}
}

func TestTerminateBeforeTheCommandBegan(t *testing.T) {
	t.Parallel()
	b := newBench(t, "exec sleep 1000")
	id := b.start()
	ok(t, b.runner.Terminate(id)) // wherever the shim stands by now
	if exit := b.wait(id); !exit.Terminated || exit.Code != -1 {
		t.Errorf("exit = %+v", exit)
	}
}

func TestRestOfTheTreeIsEndedAfterTheCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t, `sleep 1000 & echo $! >pid; echo bye; exit 3`) // the child keeps the output open
	exit := b.finish()
	if exit.Code != 3 || exit.Tail != "bye\n" || exit.Terminated {
		t.Errorf("exit = %+v", exit)
	}
	if want := strings.TrimSpace(b.read("pid")) + " sleep"; !slices.Contains(exit.Ended, want) {
		t.Errorf("ended = %q, want %q", exit.Ended, want)
	}
}

func TestRestOfTheTreeMayFinish(t *testing.T) {
	t.Parallel()
	b := newBench(t, `setsid sh -c 'until test -e go; do sleep 0.01; done; echo late' & exit 0`)
	b.spec.FinishGrace = time.Hour
	id := b.start()
	b.eventually("command exited", func() bool {
		rec, _ := ReadShim(b.spec.Dir)
		return rec.Worker.Known() && !alive(rec.Worker)
	})
	if exists(b.spec.Dir + "/" + exitFile) {
		t.Error("exit record before the tree was gone")
	}
	ok(t, os.WriteFile(b.tree("go"), nil, 0o600))
	if exit := b.wait(id); exit.Tail != "late\n" || len(exit.Ended) > 0 {
		t.Errorf("exit = %+v", exit)
	}
}

func TestWorkerThatClosesItsOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo first; exec >&- 2>&- <&-; until test -e go; do sleep 0.01; done; exit 5`)
	id := b.start()
	b.eventually("output", func() bool { return strings.Contains(b.output(), "first") })
	ok(t, os.WriteFile(b.tree("go"), nil, 0o600))
	if exit := b.wait(id); exit.Code != 5 || exit.Tail != "first\n" {
		t.Errorf("exit = %+v", exit)
	}
}

// Somebody outside of the worker's tree has the pipe as well and keeps it.
func TestOutputHeldOpenElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo $$ >pid; until test -e go; do sleep 0.01; done; echo bye`)
	id := b.start()
	held, err := os.OpenFile("/proc/"+b.see("pid", 1)[0]+"/fd/1", os.O_WRONLY, 0)
	ok(t, err)
	defer held.Close()
	ok(t, os.WriteFile(b.tree("go"), nil, 0o600))
	if exit := b.wait(id); exit.Code != 0 || exit.Tail != "bye\n" {
		t.Errorf("exit = %+v", exit)
	}
}

// A long-lived worker must not fill the process table.
func TestOrphansAreReapedWhileTheWorkerRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, `for i in 1 2 3 4 5; do sh -c '(echo $$ >>pids; exec true) & exit'; done; echo all >all; exec sleep 1000`)
	id := b.start()
	b.see("all", 1)
	b.eventually("no dead child of the shim", func() bool {
		every, err := everyProcess()
		return err == nil && !slices.ContainsFunc(every, func(s stat) bool { return s.ppid == id.PID && s.dead() })
	})
	if !b.runner.Alive(id) {
		t.Error("the run ended early")
	}
}
