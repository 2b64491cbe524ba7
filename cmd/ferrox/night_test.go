package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/engine/sqlite"
)

func (n *night) decode(into any, args ...string) {
	n.t.Helper()
	out, errOut, code := n.ferrox(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil || code != 0 {
		n.t.Fatalf("ferrox %v: exit %d, %v\n%s%s", args, code, err, out, errOut)
	}
}

func (n *night) status() (v engine.StatusView) {
	n.t.Helper()
	n.decode(&v, "status")
	return v
}

func (n *night) holds(args ...string) (v []engine.HoldView) {
	n.t.Helper()
	n.decode(&v, append([]string{"holds"}, args...)...)
	return v
}

func (n *night) hold(task string) engine.HoldView {
	n.t.Helper()
	for _, h := range n.holds("--all") {
		if string(h.Task) == task {
			return h
		}
	}
	n.t.Fatalf("%s has no hold", task)
	return engine.HoldView{}
}

func (n *night) task(id string) string {
	n.t.Helper()
	return n.ask(0, "tasks[id="+id+"].state", "status")
}

// lane is the state of a task's lane; "" when it has none.
func (n *night) lane(task string) string {
	n.t.Helper()
	for _, l := range n.status().Lanes {
		if string(l.Task) == task {
			return string(l.State)
		}
	}
	return ""
}

// open reports whether just these tasks have an open hold.
func (n *night) open(tasks ...string) bool {
	n.t.Helper()
	var open []string
	for _, h := range n.holds() {
		if h.State == "open" {
			open = append(open, string(h.Task))
		}
	}
	slices.Sort(open)
	return slices.Equal(open, tasks)
}

// kill ends the engine as nothing else does.
func (n *night) kill() {
	n.t.Helper()
	if err := exec.Command("kill", "-KILL", n.ask(0, "engine.pid", "status")).Run(); err != nil {
		n.t.Fatal(err)
	}
	n.becomes("the engine is dead", func() bool { return n.status().Engine.State == "dead" })
}

// goOn starts an engine after a kill, as whatever watches over it would.
func (n *night) goOn() {
	n.t.Helper()
	n.ask(0, "batch", "resume", "--detach")
	n.becomes("an engine is alive", func() bool { return n.status().Engine.State == "alive" })
}

// supervisor is a shell below `ferrox supervise` that does what it is told.
type supervisor struct {
	n    *night
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *bufio.Scanner
}

func (n *night) supervise() *supervisor {
	n.t.Helper()
	s := &supervisor{n: n, cmd: n.command(binary, "supervise", "--", "sh")}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	s.in, s.said = in, bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { in.Close(); _ = s.cmd.Wait() })
	return s
}

// says gives one command and returns what it printed; a code other than want fails the test.
func (s *supervisor) says(want int, args ...string) (out string) {
	s.n.t.Helper()
	for i, arg := range args {
		args[i] = "'" + arg + "'"
	}
	fmt.Fprintf(s.in, "%s; echo; echo ended $?\n", strings.Join(args, " "))
	for s.said.Scan() {
		code, ended := strings.CutPrefix(s.said.Text(), "ended ")
		if ended && code != strconv.Itoa(want) {
			s.n.t.Fatalf("%v: exit %s, want %d\n%s", args, code, want, out)
		}
		if ended {
			return out
		}
		out += s.said.Text() + "\n"
	}
	s.n.t.Fatalf("%v: the supervisor has ended\n%s", args, out)
	return out
}

func (s *supervisor) rule(task, want string) {
	s.n.t.Helper()
	out := s.says(0, "ferrox", "rule", "--reply-to", string(s.n.hold(task).ID), "fix", "-m", "of "+task, "--json")
	var ruled engine.Ruled
	if err := json.Unmarshal([]byte(out), &ruled); err != nil || ruled.Result != want {
		s.n.t.Errorf("the ruling on %s is %q, want %s: %v\n%s", task, ruled.Result, want, err, out)
	}
}

// end ends `ferrox supervise` itself, by a signal.
func (s *supervisor) end() {
	s.n.t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		s.n.t.Fatal(err)
	}
	_ = s.cmd.Wait()
}

// idles holds a waiting batch to its promise: for a minute of its clock, in which the engine is made to look again and
// again, there is no process but the engine, and nothing is written.
func (n *night) idles() {
	n.t.Helper()
	pid := n.status().Engine.PID
	n.becomes("there is only the engine", func() bool { return slices.Equal(n.processes(), []int{pid}) })
	store, err := sqlite.Open(n.t.Context(), filepath.Join(n.records(), "ferrox.db"), sqlite.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	defer store.Close()
	before, cpu := n.written(store), ticks(n.t, pid)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for second := range 12 {
		n.clock(9*time.Hour + time.Duration(second+1)*5*time.Second)
		<-tick.C
	}
	looked := ticks(n.t, pid)
	for range 25 {
		<-tick.C
	}
	if got := n.processes(); !slices.Equal(got, []int{pid}) {
		n.t.Errorf("an idle batch has the processes %v, and the engine is %d", got, pid)
	}
	if after := n.written(store); after != before {
		n.t.Errorf("an idle engine wrote: before\n%s\nafter\n%s", before, after)
	}
	resting := ticks(n.t, pid) - looked
	n.t.Logf("idle engine: %d ms of CPU for twelve looks, %d ms in 2.5 s without a reason to look", 10*(looked-cpu), 10*resting)
	if resting > 50 {
		n.t.Errorf("an idle engine used %d ms of CPU in 2.5 s", 10*resting)
	}
	passer := n.supervise()
	passer.says(0, "true")
	passer.end()
	if n.written(store) == before {
		n.t.Error("a write to the store would not have been seen")
	}
}

// written describes all that a write to the store would change.
func (n *night) written(store *sqlite.Store) string {
	n.t.Helper()
	version, err := store.DataVersion(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	all := fmt.Sprintf("data version %d", version)
	for _, name := range []string{"ferrox.db", "ferrox.db-wal"} {
		info, err := os.Stat(filepath.Join(n.records(), name))
		if err != nil {
			n.t.Fatal(err)
		}
		all += fmt.Sprintf("\n%s: %d bytes, %s", name, info.Size(), info.ModTime())
	}
	return all
}

// processes lists everything that runs on behalf of this test: its home folder goes with all of it.
func (n *night) processes() (pids []int) {
	n.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), "HOME="+n.home) {
			continue // gone, or somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			n.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// ticks is the CPU time that a process has used, in hundredths of a second.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		t.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		t.Fatal(err)
	}
	return user + system
}
