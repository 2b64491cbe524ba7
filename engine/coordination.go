package engine

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"ferrox/gates"
	"ferrox/gates/coord"
	"ferrox/gates/halting"
	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// coordinate asks the coordination verbs about what a lane changed: hot seams that it met without being serialised, files
// that have one writer, and migration numbers that nobody handed out.
func (r *runner) coordinate(ctx context.Context, u unit, f *gates.Facts) error {
	registry := coord.RegistryOf(r.set.Coordination).OrDefault()
	for _, p := range f.Changed {
		if u.ownRecord(p) {
			continue
		}
		if d := registry.CheckWrite("worker", p); d.Decision == coord.WriteForbidden {
			f.SharedWrites = append(f.SharedWrites, p)
		}
	}
	if err := r.unserialised(ctx, u, registry, f); err != nil {
		return err
	}
	return r.uncentral(ctx, f)
}

// unserialised finds hot seams that the lane changed although somebody else landed a change to them since it started. Tasks
// that declare a seam are never run beside each other, so this meets tasks that declare nothing.
func (r *runner) unserialised(ctx context.Context, u unit, registry coord.Registry, f *gates.Facts) error {
	seams := registry.CheckSeams(f.Changed)
	if seams.Decision == coord.SeamParallel || len(graph.Seams(seams.Matched, []graph.Node{graph.NodeOf(u.task)})) == len(seams.Matched) {
		return nil
	}
	if f.Integration.Head == u.lane.Base {
		return nil
	}
	others, err := r.Git.Changed(ctx, u.lane.Base, f.Integration.Head)
	if err != nil {
		return err
	}
	for _, c := range others {
		for _, glob := range seams.Matched {
			if coord.Match(glob, coord.Normalize(c.Path)) && !slices.Contains(f.Seams, glob) {
				f.Seams = append(f.Seams, glob)
			}
		}
	}
	return nil
}

// uncentral finds numbered migration files that the lane added with a number that was not handed out, where the project
// hands numbers out.
func (r *runner) uncentral(ctx context.Context, f *gates.Facts) error {
	var numbered []string
	for _, p := range f.Added {
		if coord.Match("**/migrations/**", coord.Normalize(p)) && migrationNumber(p) >= 0 {
			numbered = append(numbered, p)
		}
	}
	if len(numbered) == 0 {
		return nil
	}
	m, there, err := r.Planning.Migrations(ctx, r.set.Coordination.MigrationStore)
	if err != nil || !there {
		return err
	}
	for _, p := range numbered {
		if m.Check(float64(migrationNumber(p))) != coord.MigrationValid {
			f.Migrations = append(f.Migrations, p)
		}
	}
	return nil
}

// migrationNumber reads the number that a migration's file name begins with; -1 when it has none.
func migrationNumber(p string) int {
	base := path.Base(p)
	digits := base[:len(base)-len(strings.TrimLeft(base, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// logRefusals writes what the verbs' callers would find in the run-log: a gate that fired, and undeclared files as
// coord.ownership-check names them.
func (r *runner) logRefusals(ctx context.Context, t lanes.TaskID, reasons []lanes.Reason, fired *firedCap) {
	if fired != nil {
		r.logEntry(ctx, fired.entry)
	}
	var paths []string
	for _, re := range reasons {
		if re.Code == lanes.CodeUndeclaredFiles {
			paths = append(paths, re.Ref)
		}
	}
	if len(paths) > 0 {
		entry, _ := coord.CheckOwnership(nil, paths).Entry(string(t), millis(r.Clock.Now()))
		r.logEntry(ctx, entry)
	}
}

// logEntry appends to the run-log. A log that cannot be written is said, and stops nothing: the store has the event.
func (r *runner) logEntry(ctx context.Context, e halting.Entry) {
	if err := r.Planning.Log(ctx, e); err != nil {
		r.Logger.Warn("write the run-log", "error", err)
	}
}
