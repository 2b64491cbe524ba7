package hold_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// With -update the reviewed texts are written instead of compared.
var update = flag.Bool("update", false, "write testdata/hold and docs/states.md")

// golden compares a text with the one in the repository.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("..", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the code does; review the change and run: go test ./hold -update\n%s", file, got)
	}
}
