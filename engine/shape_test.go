package engine_test

import (
	"bytes"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository, seen from this package's folder.
const root = ".."

// project parses every Go file of the module.
func project(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	fset := token.NewFileSet()
	var all []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(p, d.Name())
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		s, err := parse(fset, filepath.ToSlash(strings.TrimPrefix(p, root+string(filepath.Separator))), text)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatalf("reading the project: %v", err)
	}
	if len(all) < 10 {
		t.Fatalf("reading the project: only %d Go files found below %s", len(all), root)
	}
	return fset, all
}

// skipFolder leaves out what the go command leaves out, and the module of the tools.
func skipFolder(p, name string) error {
	hidden := strings.HasPrefix(name, ".") && p != root
	if hidden || name == "testdata" || p == filepath.Join(root, "tools") {
		return filepath.SkipDir
	}
	return nil
}

func report(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

func TestShape_CoreImportsOnlyWhatIsPure(t *testing.T) {
	t.Parallel()
	_, all := project(t)
	seen := map[string]bool{}
	for _, s := range all {
		if inCore(s.folder()) && !s.test() {
			seen[layerOf(s.folder())] = true
			report(t, impureImports(s))
		}
	}
	for _, l := range layers[:coreLayers] {
		if !seen[l] {
			t.Errorf("no files of %s were looked at", l)
		}
	}
}

func TestShape_CoreCodeIsPure(t *testing.T) {
	t.Parallel()
	fset, all := project(t)
	packages := map[string][]source{}
	for _, s := range all {
		if inCore(s.folder()) && !s.test() {
			packages[s.folder()] = append(packages[s.folder()], s)
		}
	}
	for _, files := range packages {
		report(t, impureCode(fset, files))
	}
}

func TestShape_ArrowsPointDown(t *testing.T) {
	t.Parallel()
	_, all := project(t)
	for _, s := range all {
		if !s.test() {
			report(t, upwardImports(s))
		}
		report(t, strayDrivers(s))
	}
}

func TestShape_TextIsForEveryone(t *testing.T) {
	t.Parallel()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("git ls-files: %v: not a checkout, so nothing is tracked", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		// Packets of other projects are kept byte for byte, whatever they say.
		if under(name, "testdata/packets") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			continue // deleted but still tracked, a link to nothing, or binary
		}
		report(t, strayText(name, string(text)))
	}
}
