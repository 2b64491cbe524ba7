package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// demoRun runs `ferrox demo --json` with its temporary folder inside the test's; path stands before everything in PATH.
func demoRun(t *testing.T, path string) (stdout, stderr []byte, code int) {
	t.Helper()
	cmd := exec.Command(binary, "demo", "--json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, t.TempDir()
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "HOME="+t.TempDir(), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()
}

func TestDemo(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := demoRun(t, t.TempDir())
	var v told
	if err := json.Unmarshal(stdout, &v); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	seen := map[string]demoStep{}
	for _, s := range v.Steps {
		seen[strings.Join(s.Command[:2], " ")] = s
		if s.Why == "" {
			t.Errorf("%v says no reason", s.Command)
		}
	}
	for command, want := range map[string]string{
		"ferrox plan": "wave 2: DEMO-4", "ferrox wait": "completed", "ferrox status": "held", "ferrox merge": "hold-open",
		"ferrox rule": "released", "ferrox log": "ruling-acknowledged", "git show": "See you soon",
	} {
		if !strings.Contains(seen[command].Output, want) {
			t.Errorf("%s does not say %q:\n%s", command, want, seen[command].Output)
		}
	}
	if _, err := os.Stat(filepath.Join(v.Repository, ".git")); err != nil {
		t.Errorf("the repository is not kept: %v", err)
	}
}

// A step that does not do what it says makes the demo fail, and no engine stays behind.
func TestDemo_SaysWhenAStepFails(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := "#!/bin/sh\ncase \"$*\" in *letter.txt) [ \"$1\" = show ] && exit 3;; esac\nexec '" + git + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := demoRun(t, dir)
	var v struct {
		Error struct{ Code, Message, Next string }
	}
	if err := json.Unmarshal(stderr, &v); err != nil || code != 1 || v.Error.Code != "demo-failed" || !strings.Contains(v.Error.Message, "exit 3 instead of 0") {
		t.Fatalf("exit %d, %v\n%s", code, err, stderr)
	}
	if len(stdout) > 0 {
		t.Errorf("standard output is %q", stdout)
	}
}
