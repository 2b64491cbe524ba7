package verbs

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ferrox/gates/halting"
)

// FuzzMain gives arbitrary words to every verb in an empty project: it ends with 0 or 1, prints JSON or nothing, and never
// leaves the project.
func FuzzMain(f *testing.F) {
	for i := range verbs {
		f.Add(verbs[i].name + "\n" + strings.ReplaceAll(verbs[i].example, " ", "\n"))
	}
	for _, seed := range []string{
		"", "query", "gate\ncap-check\n--gate\n--increment\nK\n--passes\n1e3\n--start-ts\n.5\n--now-ts\n8640000000000000", "--list", "--pick\na[0].b\ncoverage.delta\n--before\n-0\n--after\n0",
		"--cwd\n..\ncoord.alloc-migration", "trident.audit\n--panel\n[{}]\n--max-rounds\nall", "antiloop.open-round\n--log\n../x\n--now-ts\n9e99", "--raw\n--json-errors\nno.such\n\xff",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\n")
		for _, w := range words {
			// These reach out of the project by design: a folder, a log, a store or a program that the caller names.
			if strings.HasPrefix(w, "--cwd") || w == "--log" || w == "--store" || w == "--file" || w == "--live" {
				t.Skip()
			}
		}
		var out, errOut bytes.Buffer
		none := func(string) string { return "" }
		exit := Main(append([]string{"ferrox-tools"}, words...), strings.NewReader(""), &out, &errOut, none, dir)
		switch {
		case exit != 0 && exit != 1:
			t.Fatalf("exit %d", exit)
		case exit == 1 && errOut.Len() == 0:
			t.Fatal("failed without a word")
		case exit == 1 && out.Len() > 0 && !strings.Contains(text, "file-finding"):
			t.Fatalf("failed with an answer: %s", out.String())
		case exit == 0 && out.Len() == 0:
			t.Fatal("no answer")
		}
		for _, line := range strings.SplitAfter(errOut.String(), "\n") {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
				t.Fatalf("control character on stderr: %q", line)
			}
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"7", "+7.", ".5e-3", "0x1", "1_0", "", "NaN", "1e309", "-0", "٣"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseNumber(text)
		if !ok {
			return
		}
		if math.IsNaN(got) || math.IsInf(got, 0) || math.Signbit(got) && got == 0 {
			t.Fatalf("%q is %v", text, got)
		}
		if strings.Trim(strings.TrimSpace(text), "0123456789+-.eE") != "" {
			t.Fatalf("%q is taken for a plain decimal number", text)
		}
		if want, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err != nil || want != got {
			t.Fatalf("%q: %v, want %v %v", text, got, want, err)
		}
	})
}

// FuzzState: a state file is read whole or refused, and what no verb knows survives an update.
func FuzzState(f *testing.F) {
	for _, seed := range []string{"", " ", "{}", "[]", "null", "7", `{"i":{"attempts":1,"lastSize":9}}`, `{"i":`, `{"i":7}`, `{"a":1,"a":2}`, "{\"\xff\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := parseState("state.json", data)
		if err != nil {
			if json.Valid(data) {
				t.Fatalf("refused JSON: %v", err)
			}
			return
		}
		_, _ = halting.ReadRescopeRecord(state["i"])
		before := len(state)
		if _, had := state["new"]; !had {
			before++
		}
		if err := state.set("new", 1); err != nil {
			t.Fatal(err)
		}
		text, err := encode(state, "  ")
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseState("state.json", text)
		if err != nil || len(again) != before {
			t.Fatalf("%d keys, want %d: %v", len(again), before, err)
		}
	})
}

// FuzzRunLog: whatever the log holds, a line that is appended to it can be read back whole.
func FuzzRunLog(f *testing.F) {
	for _, seed := range []string{"", "\n", "{}", "{}\n", "{\"a\":", "\r\n{}\r", "{}\n\n  \n{\"ts\":\"x\"}", "\xff\n"} {
		f.Add([]byte(seed), "gate")
	}
	dir := f.TempDir()
	n := 0
	f.Fuzz(func(t *testing.T, data []byte, gate string) {
		n++
		path := filepath.Join(dir, strconv.Itoa(n))
		if err := writeSynced(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		want := halting.Entry{Gate: strings.ToValidUTF8(gate, "?")}
		torn, err := appendLine(path, defaultLimits(), func() (any, error) { return want, nil })
		if err != nil {
			t.Fatal(err)
		}
		if torn != (len(data) > 0 && data[len(data)-1] != '\n') {
			t.Fatalf("torn is %v for %q", torn, data)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(after)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		got, err := readLines[halting.Entry](path, []byte(lines[len(lines)-1]))
		if err != nil || len(got) != 1 || got[0].Gate != want.Gate || !strings.HasPrefix(text, string(data)) {
			t.Fatalf("%v %+v", err, got)
		}
	})
}
