package watch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRing(t *testing.T) {
	t.Parallel()

	t.Run("every ring is heard", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "ferrox", "bell") // the first ring makes it
		w := begin(t, open(), never)
		watch(t, w, dir)
		for range 20 {
			settle(t, w)
			must(t, Ring(dir))
			told(t, w, dir, 1)
		}
	})

	t.Run("from another process", func(t *testing.T) {
		t.Parallel()
		dir := mkdir(t, filepath.Join(t.TempDir(), "bell"))
		w := begin(t, open(), never)
		watch(t, w, dir)
		settle(t, w)
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), ringer+"="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		told(t, w, dir, 1)
	})

	t.Run("writes beside its folder are not heard", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		dir := filepath.Join(root, "bell")
		must(t, Ring(dir))
		w := begin(t, open(), never)
		watch(t, w, dir)
		settle(t, w)
		finish(t, root)
		other := mkdir(t, filepath.Join(root, "other"))
		watch(t, w, other)
		finish(t, other)
		late := time.After(limit)
		for {
			select {
			case d := <-w.Changed():
				if d == dir {
					t.Fatal("the bell was heard")
				}
				if there(filepath.Join(other, claim)) {
					return
				}
			case <-late:
				t.Fatal("the other folder was not delivered")
			}
		}
	})

	t.Run("a bell that cannot ring says what happens", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(file, nil, 0o600))
		if err := Ring(file); err == nil || !strings.Contains(err.Error(), "next poll") {
			t.Errorf("got %v, want an error with the next step", err)
		}
	})
}

func BenchmarkRing(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "bell")
	for b.Loop() {
		must(b, Ring(dir))
	}
}
