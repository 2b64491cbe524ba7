package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrox/engine/powercut"
)

func init() { powercut.Launch() }

// rolePower writes numbers, and marks each once it is stored. Its name is what synchronous shall be; none means the store.
const rolePower = "power"

const marksVariable = "FERROX_TEST_STORE_MARKS"

// marked is how many numbers are written.
const marked = 5

func powerChild(ctx context.Context, path string) error {
	insert, end, err := powerWriter(ctx, path, os.Getenv(nameVariable))
	for n := 1; n <= marked && err == nil; n++ {
		if err = insert(n); err == nil {
			err = setMark(n)
		}
	}
	return errors.Join(err, end())
}

// powerWriter is the store itself, or a database with another setting, which the store would refuse.
func powerWriter(ctx context.Context, path, synchronous string) (insert func(int) error, end func() error, err error) {
	if synchronous == "" {
		s, err := Open(ctx, path, Options{Patience: time.Minute})
		return func(n int) error { return appendNumber(ctx, s, "power", n, "") }, s.Close, err
	}
	source := strings.Replace(dataSource(path, write, time.Minute), "_synchronous=FULL", "_synchronous="+synchronous, 1)
	db, err := sql.Open("sqlite3", source)
	insert = func(n int) error {
		_, err := db.ExecContext(ctx, "INSERT INTO events (at, batch, type, task, lane, ref, name, text, data) VALUES (1, '', '', '', 0, ?, 'power', '', '')", n)
		return err
	}
	return insert, db.Close, err
}

// setMark tells the recorder.
func setMark(n int) error {
	f, err := os.Create(filepath.Join(os.Getenv(marksVariable), fmt.Sprint(n)))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// TestW14_W55_PowerCut cuts the power before every flush of a writer: the store opens, is sound and has all that was
// acknowledged. With less than FULL, the same test finds something lost.
func TestW14_W55_PowerCut(t *testing.T) {
	t.Parallel()
	for synchronous, safe := range map[string]bool{"": true, "FULL": true, "NORMAL": false, "OFF": false} {
		t.Run("synchronous="+synchronous, func(t *testing.T) {
			t.Parallel()
			err := lostInPowerCut(t, synchronous)
			if (err == nil) != safe {
				t.Errorf("safe is to be %v: %v", safe, err)
			}
		})
	}
}

func lostInPowerCut(t *testing.T, synchronous string) error {
	path, marks := newFile(t), t.TempDir()
	rec, err := powercut.Record(filepath.Dir(path), marks)
	if errors.Is(err, powercut.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), roleVariable+"="+rolePower, pathVariable+"="+path, nameVariable+"="+synchronous, marksVariable+"="+marks)
	if err := rec.Run(cmd); err != nil {
		t.Fatal(err)
	}
	log, err := rec.End()
	if err != nil {
		t.Fatal(err)
	}
	if got := log.Before(log.Len()); len(got) != marked {
		t.Fatalf("marks %v", got)
	}
	for at := range log.Len() {
		for _, loss := range powercut.Losses() {
			if err := lostIn(t, log.Cut(at, loss, 1), filepath.Base(path), len(log.Before(at))); err != nil {
				return fmt.Errorf("cut %d of %d, before the flush of %s, losing %s: %w", at, log.Len(), log.Path(at), loss, err)
			}
		}
	}
	return nil
}

// lostIn opens the store of an image and looks for what was acknowledged.
func lostIn(t *testing.T, disk powercut.Image, name string, want int) error {
	dir := filepath.Join(t.TempDir(), "disk")
	if err := disk.Write(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), filepath.Join(dir, name), Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Sound(t.Context()); err != nil {
		return err
	}
	if got := len(eventsOf(t, s)); got < want {
		return fmt.Errorf("%d of %d acknowledged rows are there", got, want)
	}
	return nil
}
