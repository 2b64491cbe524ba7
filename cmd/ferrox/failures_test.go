package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	failureRow = regexp.MustCompile(`(?m)^\| ([FW]\d+) \| (.+) \| (.+) \|$`)
	failureRef = regexp.MustCompile("^`([^`]+)`(?: (\\w+))?$")
	failureID  = regexp.MustCompile(`(?:\b|Test)(F\d{3}|W\d{1,2})\b`)
)

// neverGiven are the numbers up to W67 that no fault has.
var neverGiven = []int{5, 6, 13, 15, 18, 22, 27, 29, 30, 33, 36, 37, 39, 41, 43, 56, 57, 59, 60, 61, 63}

// failureNumbers lists every number of the catalogue, in the order of the page.
func failureNumbers() (ids []string) {
	for n := 1; n <= 194; n++ {
		ids = append(ids, fmt.Sprintf("F%03d", n))
	}
	for n := 1; n <= 67; n++ {
		if !slices.Contains(neverGiven, n) {
			ids = append(ids, fmt.Sprintf("W%d", n))
		}
	}
	return ids
}

// TestDocs_Failures holds docs/failures.md to the tests: every number once, every named test there and speaking of its
// number, and nothing called untested that a test speaks of.
func TestDocs_Failures(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "failures.md"))
	if err != nil {
		t.Fatal(err)
	}
	spoken, err := spokenOf(root)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range failureRow.FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1])
		for _, fault := range faultsOf(row[1], row[3], spoken) {
			t.Errorf("docs/failures.md: %s: %s", row[1], fault)
		}
	}
	if want := failureNumbers(); !slices.Equal(listed, want) {
		t.Errorf("docs/failures.md lists %d numbers, want %d, each once and in order:\n%v", len(listed), len(want), listed)
	}
	for id := range spoken {
		if !slices.Contains(listed, id) {
			t.Errorf("%v speak of %s, which docs/failures.md does not list", slices.Sorted(maps.Keys(spoken[id])), id)
		}
	}
}

// faultsOf says what is wrong with the last cell of one row.
func faultsOf(id, cell string, spoken map[string]map[string]bool) (faults []string) {
	for _, kind := range []string{"cannot: ", "later: "} {
		if why, ok := strings.CutPrefix(cell, kind); ok {
			if why == "" || len(spoken[id]) > 0 {
				faults = append(faults, fmt.Sprintf("%q, but %v speak of it", cell, slices.Sorted(maps.Keys(spoken[id]))))
			}
			return faults
		}
	}
	for ref := range strings.SplitSeq(cell, ", ") {
		if m := failureRef.FindStringSubmatch(ref); m == nil || !spoken[id][strings.TrimSpace(m[1]+" "+m[2])] {
			faults = append(faults, ref+" is no test that speaks of it")
		}
	}
	return faults
}

// spokenOf finds, for every number, the scripts ("path") and Go tests ("path TestName") that name it.
func spokenOf(root string) (map[string]map[string]bool, error) {
	spoken := map[string]map[string]bool{}
	add := func(where, text string) {
		for _, m := range failureID.FindAllStringSubmatch(strings.ReplaceAll(text, "_", " "), -1) {
			if spoken[m[1]] == nil {
				spoken[m[1]] = map[string]bool{}
			}
			spoken[m[1]][where] = true
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		script := strings.HasSuffix(path, ".txtar")
		if err != nil || d.IsDir() || !script && !strings.HasSuffix(path, "_test.go") || d.Name() == "failures_test.go" {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if script {
			add(name, string(body))
			return nil
		}
		for test, text := range testsOf(string(body)) {
			add(name+" "+test, text)
		}
		return nil
	})
	return spoken, err
}

var testHead = regexp.MustCompile(`(?m)(?:^//.*\n)*^func ((?:Test|Fuzz)\w+)\(`)

// testsOf cuts a formatted test file into its tests, each with the comment above it.
func testsOf(body string) map[string]string {
	tests := map[string]string{}
	for _, m := range testHead.FindAllStringSubmatchIndex(body, -1) {
		text := body[m[0]:]
		if end := strings.Index(text, "\n}\n"); end >= 0 {
			text = text[:end]
		}
		tests[body[m[2]:m[3]]] = text
	}
	return tests
}

// TestDocs_FailuresAreFound shows that the check above would see a wrong line.
func TestDocs_FailuresAreFound(t *testing.T) {
	t.Parallel()
	spoken := map[string]map[string]bool{"W1": {"a.txtar": true}, "F001": {"b_test.go TestB": true}}
	for _, c := range []struct {
		id, cell string
		faults   int
	}{
		{"W1", "`a.txtar`", 0},
		{"F001", "`b_test.go` TestB", 0},
		{"F001", "`b_test.go` TestC", 1},
		{"F001", "`b_test.go` TestB, `a.txtar`", 1},
		{"W2", "`a.txtar`", 1},
		{"W2", "MISSING", 1},
		{"W2", "later: reviews", 0},
		{"W1", "cannot: there is none", 1},
		{"W2", "cannot: ", 1},
	} {
		if got := faultsOf(c.id, c.cell, spoken); len(got) != c.faults {
			t.Errorf("%s %s: %q", c.id, c.cell, got)
		}
	}
	if got := testsOf("// F001\nfunc TestA(t *testing.T) {\n\tx()\n}\n\n// W2\n"); len(got) != 1 || strings.Contains(got["TestA"], "W2") || !strings.Contains(got["TestA"], "F001") {
		t.Errorf("%q", got)
	}
}
