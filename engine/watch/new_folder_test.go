package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Polling is off in these tests, so it is the events and the look after arming that find the claims.

func TestW48_FileInNewFolder(t *testing.T) {
	t.Parallel()

	t.Run("50 folders made and claimed at once", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		w := begin(t, open(), never)
		var dirs []string
		for i := range 50 {
			dirs = append(dirs, filepath.Join(root, fmt.Sprintf("TP-%d", i)))
			watch(t, w, dirs[i])
		}
		var wg sync.WaitGroup
		for _, d := range dirs {
			wg.Go(func() {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Error(err)
				}
				finish(t, d)
			})
		}
		claimed(t, w, dirs...)
		wg.Wait()
	})

	t.Run("50 folders whose ancestors are missing too", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		w := begin(t, open(), never)
		var dirs []string
		for i := range 50 {
			dirs = append(dirs, filepath.Join(root, fmt.Sprint("lane-", i), "tasks", "TP-1"))
			watch(t, w, dirs[i])
		}
		var wg sync.WaitGroup
		for _, d := range dirs {
			wg.Go(func() {
				if err := os.MkdirAll(d, 0o700); err != nil {
					t.Error(err)
				}
				finish(t, d)
			})
		}
		claimed(t, w, dirs...)
		wg.Wait()
	})

	t.Run("claimed before it is watched", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		finish(t, dir)
		w := begin(t, open(), never)
		watch(t, w, dir)
		claimed(t, w, dir)
	})

	t.Run("watched twice", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		w := begin(t, open(), never)
		watch(t, w, dir)
		settle(t, w)
		finish(t, dir)
		watch(t, w, dir+"/./")
		claimed(t, w, dir)
	})

	t.Run("renamed into place", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		w := begin(t, open(), never)
		watch(t, w, dir)
		settle(t, w)
		finish(t, dir)
		claimed(t, w, dir)
	})

	t.Run("renamed into place from elsewhere", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		dir, other := mkdir(t, filepath.Join(root, "task")), mkdir(t, filepath.Join(root, "scratch"))
		finish(t, other)
		w := begin(t, open(), never)
		watch(t, w, dir)
		settle(t, w)
		must(t, os.Rename(filepath.Join(other, claim), filepath.Join(dir, claim)))
		claimed(t, w, dir)
	})
}
