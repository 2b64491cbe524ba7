package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ferrox/engine"
)

// TestPlan_RealPackets plans packets that real projects worked with. Those that are finished are not run, so of what they
// say only the ids matter; what is wrong with the others is named with file and line.
func TestPlan_RealPackets(t *testing.T) {
	t.Parallel()
	dir, prompts := realPackets(t)
	var v engine.PlanView
	stdout, stderr := planned(t, dir)
	if err := json.Unmarshal(stdout, &v); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if len(v.Tasks) != prompts {
		t.Errorf("%d tasks of %d packets", len(v.Tasks), prompts)
	}
	ids := map[string]bool{}
	for _, task := range v.Tasks {
		if task.ID == "" || task.Title == "" || ids[string(task.ID)] {
			t.Errorf("%s: id %q, title %q", task.Path, task.ID, task.Title)
		}
		ids[string(task.ID)] = true
		if !task.Done && len(task.Steps) == 0 {
			t.Errorf("%s has no steps", task.Path)
		}
	}
	if !bytes.HasPrefix(stdout, []byte("{")) || len(stderr) > 0 {
		t.Errorf("standard error is %q", stderr)
	}
}

// realPackets copies every real packet of testdata into a fresh repository, each once.
func realPackets(t *testing.T) (string, int) {
	t.Helper()
	dir, n := t.TempDir(), 0
	found, err := filepath.Glob(filepath.Join("..", "..", "testdata", "packets", "TP-*", "*", "PROMPT.md"))
	if err != nil || len(found) < 25 {
		t.Fatalf("%d packets, %v", len(found), err)
	}
	for _, prompt := range found {
		from := filepath.Dir(prompt)
		if err := os.CopyFS(filepath.Join(dir, "tasks", filepath.Base(from)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		n++
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "packets"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir, n
}

func planned(t *testing.T, dir string) (stdout, stderr []byte) {
	t.Helper()
	cmd := exec.Command(binary, "--repo", dir, "plan", "--json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(fmt.Errorf("run plan: %w", err))
	}
	return out.Bytes(), errs.Bytes()
}
