package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilledClean kills `ferrox clean` right before and right after git has done something for it. The next one finishes
// the job, and whatever the instant, the commits and files are there, once. W23 W25 W38.
func TestKilledClean(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{" ferrox: rescue ", " worktree remove ", " -d -- refs/heads/ferrox/b/lane-1 ", " -d -- refs/heads/ferrox/b/integration "} {
		for _, when := range []string{"before", "after"} {
			t.Run("W38 "+when+at, func(t *testing.T) {
				t.Parallel()
				r := newTestRepo(t, `, "no_progress_limit": 1`, map[string]string{"A": "echo 1 >a.txt; git add a.txt; git commit -qm one; echo half >half.txt; kill -9 $$\n"}, nil)
				r.abortAtEnd()
				if _, _, code := r.ferrox("run", "batch", "--batch", "b"); code != 1 {
					t.Fatalf("run: exit %d", code)
				}
				head := r.git("rev-parse", "ferrox/b/lane-1")
				bin, mark := t.TempDir(), filepath.Join(t.TempDir(), "killed")
				if err := os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, killer, git), 0o755); err != nil {
					t.Fatal(err)
				}
				r.env = []string{"PATH=" + bin + ":" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "KILL_AT=" + at, "KILL_WHEN=" + when, "KILL_MARK=" + mark}
				if _, _, code := r.ferrox("clean", "b"); code != -1 {
					t.Fatalf("clean was not killed: exit %d", code)
				}
				r.env = nil
				r.ask(0, "kept.#", "clean", "b")
				if got := r.ask(0, "removed.#", "clean", "b"); got != "0" {
					t.Errorf("the third clean still removed %s", got)
				}
				r.cleaned(head)
			})
		}
	}
}

// cleaned checks that nothing is left of the batch but one rescue, which holds all of lane 1.
func (r *testRepo) cleaned(head string) {
	r.t.Helper()
	const ref = "refs/ferrox/rescue/b/lane-1"
	if refs := r.git("for-each-ref", "--format=%(refname)", "refs/heads/ferrox", "refs/ferrox"); refs != ref {
		r.t.Errorf("refs are %q", refs)
	}
	r.git("merge-base", "--is-ancestor", head, ref)
	if got := r.git("show", ref+":half.txt"); got != "half" {
		r.t.Errorf("half.txt is %q", got)
	}
	if list := r.git("worktree", "list"); strings.Contains(list, "r.lanes") {
		r.t.Errorf("worktrees are %s", list)
	}
	if _, err := os.Stat(r.outside("b/lane-1")); !os.IsNotExist(err) {
		r.t.Errorf("the folder: %v", err)
	}
	out, _, _ := r.ferrox("doctor")
	if !strings.Contains(out, "they agree") {
		r.t.Errorf("doctor says\n%s", out)
	}
}
