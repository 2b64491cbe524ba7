package verbs

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// hookVerb is what the case file calls the merge hook; testdata/tool answers it.
const hookVerb = "hook.merge-gate-guard"

// testStep is what a child process does that is to be seen or stopped half-way. It says "ready" and then waits for a line.
func testStep(step, cwd string) int {
	target := filepath.Join(cwd, ".planning", "state.json")
	switch step {
	case "count":
		return countUp(target, 120)
	case "late":
		return writeLate(target)
	}
	fmt.Fprintln(os.Stderr, "no step", step)
	return 99
}

// countUp adds one, many times, each under the lock.
func countUp(target string, times int) int {
	for range times {
		err := updateState(target, defaultLimits(), func(f fields) (bool, error) {
			n, _ := member[int](f["n"])
			return true, f.set("n", n+1)
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// writeLate takes the lock, writes the temporary file, and goes on only when it is told to.
func writeLate(target string) int {
	k, err := acquire(target, defaultLimits())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := writeSynced(tempName(target, k.stamp.Nonce), []byte("half"), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return 2
	}
	err = replace(target, []byte(`{"n":"late"}`), k)
	k.release()
	fmt.Println(err)
	return 0
}
