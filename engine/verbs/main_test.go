package verbs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// stepVar makes the test binary a child that does one step of testStep.
const stepVar = "VERBS_TEST_STEP"

func TestMain(m *testing.M) {
	if step := os.Getenv(stepVar); step != "" {
		cwd, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		os.Exit(testStep(step, cwd))
	}
	code := m.Run()
	if dir, built := toolDir.Load().(string); built {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// toolDir is the folder that buildTool made, once it has.
var toolDir atomic.Value

// buildTool builds the program once, without the race detector: it is started some hundred times.
var buildTool = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "verbs-tool-")
	if err != nil {
		return "", err
	}
	toolDir.Store(dir)
	path := filepath.Join(dir, "ferrox-tools")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/tool").CombinedOutput()
	if err != nil {
		return path, fmt.Errorf("build the program under test: %w: %s", err, out)
	}
	return path, nil
})

// tool is the path of the program under test.
func tool(t testing.TB) string {
	t.Helper()
	path, err := buildTool()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sandbox is an empty project outside any repository, and the program started in it.
type sandbox struct {
	t    testing.TB
	dir  string
	home string
	tool string
	env  []string
}

func newSandbox(t testing.TB) *sandbox {
	t.Helper()
	s := &sandbox{t: t, dir: t.TempDir(), home: t.TempDir(), tool: tool(t)}
	s.write(".planning/.keep", "")
	return s
}

func (s *sandbox) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// read returns a file, or "" and false when it is not there.
func (s *sandbox) read(name string) (string, bool) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if os.IsNotExist(err) {
		return "", false
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data), true
}

// git runs git in the sandbox, without the machine's own settings.
func (s *sandbox) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

type ran struct {
	exit   int
	stdout string
	stderr string
}

func (s *sandbox) command(args ...string) *exec.Cmd {
	return s.program(s.tool, args...)
}

// step is this test binary as a child that does one step.
func (s *sandbox) step(name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := s.program(self)
	cmd.Env = append(cmd.Env, stepVar+"="+name)
	return cmd
}

func (s *sandbox) program(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "FERROX_") && !strings.HasPrefix(pair, "HOME=") && !strings.HasPrefix(pair, "GIT_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+s.home)
	cmd.Env = append(cmd.Env, s.env...)
	return cmd
}

// run starts the program with stdin and waits for it.
func (s *sandbox) run(stdin string, args ...string) ran {
	s.t.Helper()
	cmd := s.command(args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// query runs a verb.
func (s *sandbox) query(args ...string) ran {
	s.t.Helper()
	return s.run("", append([]string{"query"}, args...)...)
}

// ok runs a verb that must exit 0 and returns its answer.
func (s *sandbox) ok(args ...string) map[string]any {
	s.t.Helper()
	r := s.query(args...)
	if r.exit != 0 {
		s.t.Fatalf("%q: exit %d: %s", args, r.exit, r.stderr)
	}
	return object(s.t, r.stdout)
}

// bad runs a verb that must fail and returns what it says.
func (s *sandbox) bad(args ...string) string {
	s.t.Helper()
	r := s.query(args...)
	if r.exit != 1 || r.stdout != "" {
		s.t.Fatalf("%q: exit %d, stdout %q; want 1 and nothing", args, r.exit, r.stdout)
	}
	return r.stderr
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("no JSON object: %q: %v", text, err)
	}
	return m
}
