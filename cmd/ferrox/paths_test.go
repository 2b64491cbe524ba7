package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pathRow   = regexp.MustCompile(`(?m)^\| ([a-z][a-z -]*) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	pathMark  = regexp.MustCompile(`\bpath: ([a-z][a-z-]*(?: --force| abort| batch)?)`)
	pathConst = regexp.MustCompile(`(?m)^\tPath\w+\s+Path = "(\w+)"`)
)

// knownPaths are the ways to an end that the page has to speak of, whatever else it does.
var knownPaths = []string{
	"finish", "claim", "scan", "resume", "catch-up", "recorded", "ship", "deadline", "stop", "rule", "merge", "merge --force", "retry", "skip",
	"pause", "takeover", "integrate", "abort", "send abort", "clean", "run batch", "restore", "lost-store", "segment", "step", "review", "ratify", "wave",
	"auto-integration", "sweep",
}

// TestDocs_Paths holds docs/paths.md to the predicate and to the tests: every path of the one is asked somewhere on the page,
// every test is there and walks the path that it is named for, and no test walks one that the page does not know.
func TestDocs_Paths(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "paths.md"))
	if err != nil {
		t.Fatal(err)
	}
	walked, err := walkedOf(root)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(root, "gates", "permit.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range pathFaults(string(page), string(source), walked) {
		t.Errorf("docs/paths.md: %s", fault)
	}
}

func pathFaults(page, source string, walked map[string][]string) (faults []string) {
	var listed []string
	asked := ""
	for _, row := range pathRow.FindAllStringSubmatch(page, -1) {
		if row[1] == "path" {
			continue
		}
		listed = append(listed, row[1])
		asked += row[2]
		faults = append(faults, rowFaults(row[1], row[6], walked[row[1]])...)
	}
	sorted, want := slices.Sorted(slices.Values(listed)), slices.Sorted(slices.Values(knownPaths))
	if !slices.Equal(sorted, want) {
		faults = append(faults, fmt.Sprintf("it lists %v, want %v", sorted, want))
	}
	for name := range walked {
		if !slices.Contains(listed, name) {
			faults = append(faults, fmt.Sprintf("%v walk %q, which is not on it", walked[name], name))
		}
	}
	for _, m := range pathConst.FindAllStringSubmatch(source, -1) {
		if !strings.Contains(asked, "`"+m[1]+"`") {
			faults = append(faults, fmt.Sprintf("nobody asks the predicate on path %q", m[1]))
		}
	}
	return faults
}

// rowFaults says what is wrong with the last cell of a row.
func rowFaults(name, cell string, by []string) (faults []string) {
	for _, kind := range []string{"cannot: ", "later: "} {
		if why, ok := strings.CutPrefix(cell, kind); ok {
			if why == "" || len(by) > 0 {
				faults = append(faults, fmt.Sprintf("%s: %q, but %v walk it", name, cell, by))
			}
			return faults
		}
	}
	for ref := range strings.SplitSeq(cell, ", ") {
		if m := failureRef.FindStringSubmatch(ref); m == nil || !slices.Contains(by, strings.TrimSpace(m[1]+" "+m[2])) {
			faults = append(faults, fmt.Sprintf("%s: %s is no test that walks it", name, ref))
		}
	}
	return faults
}

// walkedOf finds, for every path, the scripts and Go tests that say they walk it.
func walkedOf(root string) (map[string][]string, error) {
	walked := map[string][]string{}
	add := func(where, text string) {
		for _, m := range pathMark.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(walked[m[1]], where) {
				walked[m[1]] = append(walked[m[1]], where)
			}
		}
	}
	scripts, err := filepath.Glob(filepath.Join(root, "testdata", "script", "*.txtar"))
	if err != nil {
		return nil, err
	}
	for _, file := range scripts {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		add("testdata/script/"+filepath.Base(file), remarksOf(string(body), "#"))
	}
	return walked, filepath.WalkDir(filepath.Join(root, "gates"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		for test, text := range testsOf(string(body)) {
			add(name+" "+test, remarksOf(text, "//"))
		}
		return nil
	})
}

// remarksOf keeps the lines that begin with a mark.
func remarksOf(text, mark string) string {
	var remarks strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, mark) {
			remarks.WriteString(line)
		}
	}
	return remarks.String()
}

// TestDocs_PathsAreFound shows that the check above would see a wrong page.
func TestDocs_PathsAreFound(t *testing.T) {
	t.Parallel()
	page := "| path | asks | held | ruled | free | held to it by |\n"
	for _, name := range knownPaths {
		page += "| " + name + " | – | a | b | c | cannot: it is so |\n"
	}
	if faults := pathFaults(page, "", nil); faults != nil {
		t.Fatalf("nothing is wrong: %q", faults)
	}
	merge := func(cell string) string {
		return strings.Replace(page, "| merge | – | a | b | c | cannot: it is so |", cell, 1)
	}
	by := map[string][]string{"merge": {"a.txtar"}}
	for _, c := range []struct {
		page, source string
		walked       map[string][]string
		faults       int
	}{
		{merge("| merge | `merge` | a | b | c | `a.txtar` |"), "\tPathMerge     Path = \"merge\" // x\n", by, 0},
		{merge("| merge | – | a | b | c | `a.txtar` |"), "\tPathMerge     Path = \"merge\" // x\n", by, 1},
		{merge("| merge | – | a | b | c | `b.txtar` |"), "", by, 1},
		{merge("| merge | – | a | b | c | `a.txtar`, `gone_test.go` TestGone |"), "", by, 1},
		{page, "", by, 1},
		{merge(""), "", nil, 1},
		{page, "", map[string][]string{"teleport": {"a.txtar"}}, 1},
	} {
		if got := pathFaults(c.page, c.source, c.walked); len(got) != c.faults {
			t.Errorf("%q", got)
		}
	}
	if got := pathMark.FindAllString("# path: merge --force. path: send abort, path: lost-store\n# the path: a b", -1); len(got) != 4 || got[0] != "path: merge --force" || got[1] != "path: send abort" {
		t.Errorf("%q", got)
	}
}
