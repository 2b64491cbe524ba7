package verbs

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// row is one conformance case of testdata/cases/verbs.jsonl (verbs.md 14).
type row struct {
	ID         string                     `json:"id"`
	Verb       string                     `json:"verb"`
	Config     json.RawMessage            `json:"config"`
	StateFiles map[string]string          `json:"state_files"`
	Argv       []string                   `json:"argv"`
	Expect     map[string]any             `json:"expect"`
	Exit       any                        `json:"exit"`
	FilesAfter map[string]json.RawMessage `json:"files_after"`
}

func TestConformance(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/cases/verbs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		n++
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			r.check(t)
		})
	}
	if n != 155 {
		t.Errorf("%d rows, want 155", n)
	}
}

func (r row) check(t *testing.T) {
	s := newSandbox(t)
	if len(r.Config) > 0 && string(r.Config) != "null" {
		s.write(".planning/config.json", string(r.Config))
	}
	for name, text := range r.StateFiles {
		s.write(name, text)
	}

	var got ran
	if r.Verb == hookVerb {
		got = s.run(r.Argv[0], "query", hookVerb)
	} else {
		got = s.query(append([]string{"--raw"}, r.Argv...)...)
	}
	r.checkExit(t, got)
	if len(r.Expect) > 0 {
		if diff := subset(r.Expect, object(t, got.stdout)); diff != "" {
			t.Errorf("answer %s: %s", got.stdout, diff)
		}
	}
	for name, want := range r.FilesAfter {
		text, there := s.read(name)
		if diff := checkFile(name, want, text, there); diff != "" {
			t.Errorf("%s: %s (file: %q)", name, diff, text)
		}
	}
}

func (r row) checkExit(t *testing.T, got ran) {
	t.Helper()
	switch {
	case r.Exit == "nonzero" && r.Verb == hookVerb && got.exit != 2,
		r.Exit == "nonzero" && got.exit == 0,
		r.Exit != "nonzero" && got.exit != 0:
		t.Errorf("exit %d, want %v; stderr: %s", got.exit, r.Exit, got.stderr)
	}
	if r.Verb == hookVerb && r.Exit != "nonzero" && got.stdout != "" {
		t.Errorf("an allowed event printed %q", got.stdout)
	}
}

func checkFile(name string, want json.RawMessage, text string, there bool) string {
	if string(want) == "null" {
		if there {
			return "exists"
		}
		return ""
	}
	if !there {
		return "is missing"
	}

	var w map[string]any
	if err := json.Unmarshal(want, &w); err != nil {
		return err.Error()
	}
	if exact, ok := w["text"]; ok {
		if exact != text {
			return "text differs"
		}
		return ""
	}
	if strings.HasSuffix(name, ".jsonl") {
		return checkLines(w, text)
	}
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return err.Error()
	}
	return subset(w, got)
}

func checkLines(want map[string]any, text string) string {
	var lines []any
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return err.Error()
		}
		lines = append(lines, v)
	}
	if n, ok := want["lines"]; ok && n != float64(len(lines)) {
		return fmt.Sprintf("%d lines, want %v", len(lines), n)
	}
	if len(lines) == 0 {
		return ""
	}
	if first, ok := want["first"]; ok {
		if d := subset(first, lines[0]); d != "" {
			return d
		}
	}
	if last, ok := want["last"]; ok {
		return subset(last, lines[len(lines)-1])
	}
	return ""
}

// subset compares objects as subsets, everything else exactly. It returns "" or the difference.
func subset(want, got any) string {
	w, ok := want.(map[string]any)
	if !ok {
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("got %v, want %v", got, want)
		}
		return ""
	}
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("got %v, want an object", got)
	}
	for k, v := range w {
		have, there := g[k]
		if !there {
			return k + " is missing"
		}
		if d := subset(v, have); d != "" {
			return k + ": " + d
		}
	}
	return ""
}
