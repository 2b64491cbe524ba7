package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// binary is the real program, built once: scripts run it, and it runs itself again as shim and as engine.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	// A race build stays for a second after its last line, and the program is started a thousand times.
	os.Setenv("GORACE", "atexit_sleep_ms=0 halt_on_error=1")
	dir, err := os.MkdirTemp("", "ferrox-bin-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "ferrox")
	if p := os.Getenv(program); p != "" {
		binary = p
	} else if out, err := buildProgram(binary); err != nil {
		panic(fmt.Sprintf("build: %v\n%s", err, out))
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// buildProgram builds the program as the tests need it.
func buildProgram(name string, options ...string) ([]byte, error) {
	args := []string{"build", "-o", name, "-ldflags", "-X main.signLimit=4s -X main.clockMoves=yes"}
	if raceEnabled {
		args = append(args, "-race")
	}
	return exec.Command("go", append(append(args, options...), ".")...).CombinedOutput()
}

// TestScript runs every script of testdata/script: what the command line promises.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mkrepo": mkrepo, "mkpacket": mkpacket, "json": jsonCheck, "until": until, "capture": capture, "endengine": endEngine, "becomes": becomes,
		},
	})
}

// condition knows what this machine lets a script do: [root] is to give files away, [mounts] a mount of its own and [inotify]
// limits of its own on file events, both in a namespace of its own.
func condition(name string) (bool, error) {
	if name == "root" {
		return os.Getuid() == 0, nil
	}
	try, ok := map[string][]string{
		"mounts":  {"-rm", "mount", "-t", "tmpfs", "-o", "size=100k", "none", "/mnt"},
		"inotify": {"-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_inotify_instances"},
	}[name]
	if !ok {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	return exec.Command("unshare", try...).Run() == nil, nil
}

func setUp(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	config := "[user]\n\tname = Tess\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("NO_COLOR", "1")
	env.Setenv("GORACE", os.Getenv("GORACE"))
	return nil
}

// standardWorker does what a packet's do.sh says, or, without one, what every good worker does: acknowledge rulings, do
// one commit, tick the boxes, claim.
const standardWorker = `#!/bin/sh
cat >"$FERROX_WORKTREE/../prompt-$FERROX_TASK-$FERROX_ITERATION" || exit 9
finish() {
	for r in $FERROX_RULINGS; do ferrox ack "$r" || exit 8; done
	if [ "$1" != "" ]; then
		mkdir -p "$(dirname "$1")"; echo "$FERROX_TASK" >>"$1"; git add -- "$1" && git commit -qm "work on $FERROX_TASK" -- "$1" || exit 7
	fi
	sed -i 's/- \[ \]/- [x]/' "$FERROX_TASK_DIR/STATUS.md"
	echo done >"$FERROX_TASK_DIR/.DONE.tmp" && mv "$FERROX_TASK_DIR/.DONE.tmp" "$FERROX_TASK_DIR/.DONE"
}
if [ -f "$FERROX_TASK_DIR/do.sh" ]; then . "$FERROX_TASK_DIR/do.sh"; else finish "$FERROX_TASK.txt"; fi
`

// mkrepo DIR [KEY=JSON…] makes a repository with the standard worker and settings; KEY=JSON adds to the block runner.
func mkrepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: mkrepo DIR [KEY=JSON…]")
	}
	dir := ts.MkAbs(args[0])
	runner := `"worker": {"preset": "shell", "command": ["sh", "-c", ". \"$FERROX_WORKTREE/worker.sh\""]}, "finish_grace": "5s", "backoff": {"initial": "10ms", "max": "20ms"}`
	for _, kv := range args[1:] {
		key, value, _ := strings.Cut(kv, "=")
		if key == "worker" || key == "finish_grace" || key == "backoff" {
			runner = replaceKey(runner, key, value)
			continue
		}
		runner += fmt.Sprintf(", %q: %s", key, value)
	}
	write(ts, filepath.Join(dir, ".planning", "config.json"), "{\"runner\": {"+runner+"}}\n")
	write(ts, filepath.Join(dir, "worker.sh"), standardWorker)
	write(ts, filepath.Join(dir, "README.md"), "a repository\n")
	git(ts, dir, "init", "-q")
	git(ts, dir, "add", "-A")
	git(ts, dir, "commit", "-q", "-m", "start")
}

// replaceKey replaces one key of the runner's defaults.
func replaceKey(runner, key, value string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte("{"+runner+"}"), &fields) != nil {
		return runner
	}
	fields[key] = json.RawMessage(value)
	body, err := json.Marshal(fields)
	if err != nil {
		return runner
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(body), "{"), "}")
}

func git(ts *testscript.TestScript, dir string, args ...string) {
	ts.Check(ts.Exec("git", append([]string{"-C", dir}, args...)...))
}

func write(ts *testscript.TestScript, name, body string) {
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
	ts.Check(os.WriteFile(name, []byte(body), 0o644))
}

// mkpacket DIR ID [needs=A,B] [scope=x,y] [level=N] [steps=N] [boxes=N] makes a packet in DIR/tasks, uncommitted. Without
// scope= the packet has no File Scope section; scope=- is a section without entries.
func mkpacket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mkpacket DIR ID [needs=…] [scope=…] [level=N] [steps=N] [boxes=N]")
	}
	opt := map[string]string{"level": "0", "steps": "1", "boxes": "1"}
	for _, kv := range args[2:] {
		key, value, _ := strings.Cut(kv, "=")
		opt[key] = value
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Task: %s - Title of %s\n\n**Size:** S\n\n## Review Level: %s\n\n## Dependencies\n\n", args[1], args[1], opt["level"])
	if opt["needs"] == "" {
		b.WriteString("**None**\n")
	}
	for _, id := range strings.FieldsFunc(opt["needs"], comma) {
		fmt.Fprintf(&b, "- **Task:** %s\n", id)
	}
	if scope, declared := opt["scope"]; declared {
		b.WriteString("\n## File Scope\n\n")
		for _, entry := range strings.FieldsFunc(strings.Trim(scope, "-"), comma) {
			fmt.Fprintf(&b, "- `%s`\n", entry)
		}
	}
	b.WriteString("\n## Steps\n")
	steps, _ := strconv.Atoi(opt["steps"])
	boxes, _ := strconv.Atoi(opt["boxes"])
	for s := 1; s <= steps; s++ {
		fmt.Fprintf(&b, "\n### Step %d: Part %d\n\n", s, s)
		for n := 1; n <= boxes; n++ {
			fmt.Fprintf(&b, "- [ ] box %d\n", n)
		}
	}
	write(ts, filepath.Join(ts.MkAbs(args[0]), "tasks", args[1]+"-x", "PROMPT.md"), b.String())
}

func comma(r rune) bool { return r == ',' }

// json FILE PATH VALUE checks one field of a JSON file (stdout and stderr too): a.b, list[0].c, list[id=T-1].state, or
// 'list.#' for a length, quoted: # begins a comment. ! json fails when it has the value. Without VALUE it checks that the field is there.
func jsonCheck(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	got, err := field(v, args[1])
	if strings.HasSuffix(args[1], ".") {
		ts.Check(err)
	}
	switch {
	case len(args) == 2 && (err == nil) == neg:
		ts.Fatalf("%s is %s: %v", args[1], got, err)
	case len(args) == 3 && (err == nil && got == args[2]) == neg:
		ts.Fatalf("%s is %q, %v", args[1], got, err)
	}
}

// field reads one field of a decoded JSON value as text.
func field(v any, path string) (string, error) {
	if strings.HasSuffix(path, ".") {
		return "", fmt.Errorf("%s ends with a dot: quote '%s#'", path, path)
	}
	inside := false // a dot between brackets is part of a value: [ref=a.txt]
	dot := func(r rune) bool {
		inside = r == '[' || inside && r != ']'
		return r == '.' && !inside
	}
	for _, part := range strings.FieldsFunc(strings.ReplaceAll(path, "[", ".["), dot) {
		var err error
		if v, err = step(v, part); err != nil {
			return "", err
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	body, err := json.Marshal(v)
	return string(body), err
}

func step(v any, part string) (any, error) {
	missing := fmt.Errorf("there is no %s", part)
	list, isList := v.([]any)
	if inner, ok := strings.CutPrefix(part, "["); ok && isList {
		inner = strings.TrimSuffix(inner, "]")
		if n, err := strconv.Atoi(inner); err == nil {
			if n >= len(list) {
				return nil, missing
			}
			return list[n], nil
		}
		key, want, _ := strings.Cut(inner, "=")
		for _, item := range list {
			if got, err := field(item, key); err == nil && got == want {
				return item, nil
			}
		}
		return nil, missing
	}
	if part == "#" && isList {
		return float64(len(list)), nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, missing
	}
	next, ok := fields[part]
	if !ok {
		return nil, missing
	}
	return next, nil
}

// until DURATION COMMAND… runs a command again and again until it succeeds (! until: fails), with a bound.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until DURATION COMMAND…")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var last string
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		out, err := command(ts, args[1:]).CombinedOutput()
		last = string(out)
		if (err == nil) != neg {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("not in %s: %v: %v\n%s", args[0], args[1:], err, last)
		}
	}
}

func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	if args[0] == "exec" {
		args = args[1:]
	}
	name := args[0]
	if name == "ferrox" {
		name = binary
	}
	cmd := exec.Command(name, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = os.Environ()
	for _, key := range []string{"HOME", "PATH", "GIT_CONFIG_NOSYSTEM", "NO_COLOR", "WORK"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	return cmd
}

// capture NAME COMMAND… puts a command's trimmed output into a variable. capture NAME PATH ferrox … --json with PATH
// starting with "json:" takes one field of it.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: capture NAME [json:PATH] COMMAND…")
	}
	name, args := args[0], args[1:]
	path, isJSON := strings.CutPrefix(args[0], "json:")
	if isJSON {
		args = args[1:]
	}
	out, err := command(ts, args).Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && isJSON) {
		ts.Fatalf("%v: %v", args, err)
	}
	value := strings.TrimSpace(string(out))
	if isJSON {
		var v any
		ts.Check(json.Unmarshal(out, &v))
		value, err = field(v, path)
		ts.Check(err)
	}
	ts.Setenv(name, value)
}

// endengine DIR [SIGNAL] signals the live engine of a repository (KILL by default) and waits until it is gone.
func endEngine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: endengine DIR [SIGNAL]")
	}
	sig := "KILL"
	if len(args) > 1 {
		sig = args[1]
	}
	status := func() (state, pid string) {
		out, err := command(ts, []string{"ferrox", "--repo", ts.MkAbs(args[0]), "status", "--json"}).Output()
		ts.Check(err)
		var v any
		ts.Check(json.Unmarshal(out, &v))
		state, err = field(v, "engine.state")
		ts.Check(err)
		pid, _ = field(v, "engine.pid")
		return state, pid
	}
	_, pid := status()
	ts.Check(exec.Command("kill", "-"+sig, pid).Run())
	until(ts, true, []string{"20s", "kill", "-0", pid})
}
