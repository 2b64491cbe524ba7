package gates_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// With -update the reviewed texts are written instead of compared.
var update = flag.Bool("update", false, "write testdata/gates")

// golden compares a text with the reviewed one.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("..", "testdata", "gates", name)
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
		t.Errorf("%s is not what the code does; review the change and run: go test ./gates -update\n%s", file, got)
	}
}
