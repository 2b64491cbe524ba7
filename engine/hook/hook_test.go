package hook

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"ferrox/gates/guard"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onMain has main checked out in every folder.
type onMain struct{}

func (onMain) Facts(_ context.Context, dir string, _ []string) (guard.Facts, error) {
	if dir == "/elsewhere" {
		return guard.Facts{}, errors.New("no repository")
	}
	return guard.Facts{Known: true, Branch: "main", Branches: []string{"main", "topic"}}, nil
}

// byFolder refuses, except where the folder says otherwise.
type byFolder struct{}

func (byFolder) Check(_ context.Context, cwd string, _ guard.Finding) (bool, string, error) {
	switch cwd {
	case "/waived":
		return true, "waived for prose", nil
	case "/broken":
		return true, "", errors.New("no verb program")
	}
	return false, "coverage-not-landed", nil
}

func deps() Deps {
	return Deps{Repository: onMain{}, Gate: byFolder{}, Protected: func(string) ([]string, error) { return []string{"main"}, nil }}
}

// TestAnswers compares exit code, stdout and stderr with what is on file for each event.
func TestAnswers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("events: %d, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := Main("pre-tool-use", bytes.NewReader(data), &out, &errs, nil, "/repo", deps())
			got := fmt.Sprintf("exit %d\n--- stdout\n%s--- stderr\n%s", code, out.String(), errs.String())
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func run(t *testing.T, stdin io.Reader, d Deps) (int, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main("pre-tool-use", stdin, &out, &errs, nil, "/repo", d)
	return code, errs.String()
}

func TestEventThatDoesNotEndIsABlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		code, text := run(t, r, deps())
		if code != 2 || !strings.Contains(text, "did not end within 4s") {
			t.Errorf("exit %d, %q", code, text)
		}
		_ = w.Close()
		synctest.Wait()
	})
}

func TestTooLongEventIsABlock(t *testing.T) {
	t.Parallel()
	if code, text := run(t, strings.NewReader(strings.Repeat(" ", maxEvent+1)), deps()); code != 2 || !strings.Contains(text, "longer") {
		t.Errorf("exit %d, %q", code, text)
	}
}

const mergeEvent = `{"tool_name":"bash","tool_input":{"command":"git merge x"}}`

func TestUnreadableSettingsAreABlock(t *testing.T) {
	t.Parallel()
	d := deps()
	d.Gate = allowAll{}
	d.Protected = func(string) ([]string, error) { return nil, errors.New("config.json:3: bad value") }
	if code, text := run(t, strings.NewReader(mergeEvent), d); code != 2 || !strings.Contains(text, "config.json:3") {
		t.Errorf("exit %d, %q", code, text)
	}
}

type allowAll struct{}

func (allowAll) Check(context.Context, string, guard.Finding) (bool, string, error) {
	return true, "", nil
}

type panics struct{}

func (panics) Check(context.Context, string, guard.Finding) (bool, string, error) { panic("gate") }

func TestPanicIsABlock(t *testing.T) {
	t.Parallel()
	d := deps()
	d.Gate = panics{}
	if code, text := run(t, strings.NewReader(mergeEvent), d); code != 2 || !strings.Contains(text, "merge guard") {
		t.Errorf("exit %d, %q", code, text)
	}
}

type stuck struct{}

func (stuck) Check(ctx context.Context, _ string, _ guard.Finding) (bool, string, error) {
	<-ctx.Done()
	return true, "", nil
}

func TestGateThatTakesTooLongIsABlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deps()
		d.Gate = stuck{}
		if code, text := run(t, strings.NewReader(mergeEvent), d); code != 2 || !strings.Contains(text, "within 9s") {
			t.Errorf("exit %d, %q", code, text)
		}
	})
}

func TestGatePassesLetsTheCommandRun(t *testing.T) {
	t.Parallel()
	d := deps()
	d.Gate = allowAll{}
	if code, text := run(t, strings.NewReader(mergeEvent), d); code != 0 || text != "" {
		t.Errorf("exit %d, %q", code, text)
	}
}

type counting struct{ calls int }

func (c *counting) Facts(context.Context, string, []string) (guard.Facts, error) {
	c.calls++
	return guard.Facts{Known: true, Branch: "main"}, nil
}

func TestHarmlessLineAsksNothing(t *testing.T) {
	t.Parallel()
	c := &counting{}
	d := deps()
	d.Repository = c
	for _, line := range []string{"ls -la", "go test ./...", "git status", "git commit -m 'git merge x'"} {
		code, text := run(t, strings.NewReader(fmt.Sprintf(`{"tool_name":"bash","command":%q}`, line)), d)
		if code != 0 || c.calls != 0 {
			t.Errorf("%s: exit %d, %q, %d look-ups", line, code, text, c.calls)
		}
	}
}

func TestLineCannotMakeTheHookLookEverywhere(t *testing.T) {
	t.Parallel()
	c := &counting{}
	d := deps()
	d.Repository = c
	var line strings.Builder
	for i := range 100 {
		fmt.Fprintf(&line, "git -C /d%d merge x; ", i)
	}
	code, _ := run(t, strings.NewReader(fmt.Sprintf(`{"tool_name":"bash","command":%q}`, line.String())), d)
	if code != 2 || c.calls > maxFolders {
		t.Errorf("exit %d, %d look-ups", code, c.calls)
	}
}

func TestUnknownHookName(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := Main("no-such", strings.NewReader(""), &out, &errs, nil, "/", deps()); code != 2 || !strings.Contains(errs.String(), "pre-tool-use") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}
