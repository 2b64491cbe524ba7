package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ferrox/engine"
	"ferrox/gates/coord"
	"ferrox/gates/halting"
)

// Planning is a project's .planning folder as the engine uses it: the same files and locks as the verbs.
type Planning struct {
	Root string // the main checkout
}

var _ engine.Planning = Planning{}

func (p Planning) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Root, filepath.FromSlash(name))
}

func (p Planning) limits(ctx context.Context) limits {
	l := defaultLimits()
	l.within(ctx)
	return l
}

// Log implements engine.Planning.
func (p Planning) Log(ctx context.Context, e halting.Entry) error {
	_, err := appendLine(p.path(runLogPath), p.limits(ctx), func() (any, error) { return e, nil })
	return err
}

// Rescope implements engine.Planning.
func (p Planning) Rescope(ctx context.Context, maxAttempts int, q halting.RescopeQuery) (d halting.RescopeDecision, err error) {
	err = updateState(p.path(rescopePath), p.limits(ctx), func(f fields) (bool, error) {
		stored, err := halting.ReadRescopeRecord(f[q.Increment])
		if err != nil {
			return false, fmt.Errorf("%s: %w", rescopePath, err)
		}
		var next *halting.RescopeRecord
		d, next = halting.CheckRescope(maxAttempts, stored, q)
		if next == nil {
			return false, nil
		}
		return true, f.set(q.Increment, next)
	})
	if e, fired := d.Entry(q); fired && err == nil {
		err = p.Log(ctx, e)
	}
	return d, err
}

// RescopeAttempts implements engine.Planning.
func (p Planning) RescopeAttempts(_ context.Context, increment string) (int, error) {
	f, err := readState(p.path(rescopePath))
	if err != nil {
		return 0, err
	}
	stored, err := halting.ReadRescopeRecord(f[increment])
	if err != nil || stored == nil {
		return 0, err
	}
	return int(stored.Attempts), nil
}

// Park implements engine.Planning.
func (p Planning) Park(ctx context.Context, park halting.Park) error {
	return updateState(p.path(parkPath), p.limits(ctx), func(f fields) (bool, error) { return true, f.set(park.Increment, park) })
}

// Migrations implements engine.Planning.
func (p Planning) Migrations(_ context.Context, store string) (coord.Migrations, bool, error) {
	if _, err := os.Stat(p.path(store)); errors.Is(err, fs.ErrNotExist) {
		return coord.Migrations{}, false, nil
	}
	f, err := readState(p.path(store))
	return coord.ReadMigrations(f), true, err
}

const backlogHead = "# Backlog\n\n## Open\n\n| ID | Sev | From | Item | Blocks |\n|---|---|---|---|---|\n"

// FileBacklog implements engine.Planning.
func (p Planning) FileBacklog(ctx context.Context, name string, rows []engine.BacklogRow) error {
	path := p.path(name)
	k, err := acquire(path, p.limits(ctx))
	if err != nil {
		return err
	}
	defer k.release()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file the backlog: %w", err)
	}
	next := addRows(data, rows)
	if bytes.Equal(next, data) {
		return nil
	}
	return replace(path, next, k)
}

// addRows puts rows below the last row of the open table. A backlog without one gets it at its end.
func addRows(data []byte, rows []engine.BacklogRow) []byte {
	if !bytes.Contains(data, []byte("\n## Open")) && !bytes.HasPrefix(data, []byte("## Open")) {
		head := backlogHead
		if len(data) > 0 {
			head = strings.TrimRight(string(data), "\n") + "\n\n" + strings.TrimPrefix(backlogHead, "# Backlog\n\n")
		}
		data = []byte(head)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	at := lastOpenRow(lines)
	var fresh []string
	for _, r := range rows {
		if !bytes.Contains(data, []byte("| "+r.ID+" |")) {
			fresh = append(fresh, fmt.Sprintf("| %s | MED | %s | %s |  |", r.ID, cell(r.From), cell(r.Item)))
		}
	}
	if len(fresh) == 0 {
		return data
	}
	all := append(append(append([]string{}, lines[:at+1]...), fresh...), lines[at+1:]...)
	return []byte(strings.Join(all, "\n") + "\n")
}

// lastOpenRow is the index of the last table line of the section Open, or of its heading.
func lastOpenRow(lines []string) int {
	at, open := len(lines)-1, false
	for i, line := range lines {
		if strings.HasPrefix(line, "## ") {
			if open {
				break
			}
			if open = strings.HasPrefix(line, "## Open"); open {
				at = i
			}
		}
		if open && strings.HasPrefix(strings.TrimSpace(line), "|") {
			at = i
		}
	}
	return at
}

func cell(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "|", `\|`)), " ")
}
