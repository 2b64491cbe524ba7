package migrations_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"ferrox/migrations"
)

// A new file without a raised Latest would never be applied, and one that forgets user_version would be applied for ever.
func TestLatestIsTheNewestFile(t *testing.T) {
	t.Parallel()

	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != migrations.Latest {
		t.Fatalf("%d files, Latest is %d", len(names), migrations.Latest)
	}
	for i, name := range names {
		number := i + 1
		if want := fourDigits(number) + "_"; !strings.HasPrefix(name, want) {
			t.Errorf("%s: want a name that begins with %s", name, want)
		}
		text, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("PRAGMA user_version = %d;", number)
		if !strings.HasSuffix(strings.TrimSpace(string(text)), want) {
			t.Errorf("%s: does not end with %s", name, want)
		}
	}
}

func fourDigits(n int) string { return fmt.Sprintf("%04d", n) }
