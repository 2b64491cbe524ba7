package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrox/engine"
	"ferrox/engine/sqlite"
)

// result is what has to be the same wherever the batch was killed: refs, trees, records, what was set aside, and that
// everything which was answered is there.
func (c *crashRun) result() string {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, "tree", c.git("ls-tree", "-r", "main", "--", "shared.txt", "b.txt", "c.txt", "d.txt", "tasks"))
	merges := strings.Fields(c.git("log", "--format=%(trailers:key=Ferrox-Task)%(trailers:key=Ferrox-Ruling,keyonly)", "main"))
	slices.Sort(merges)
	fmt.Fprintln(&b, "merges", merges)
	fmt.Fprintln(&b, "refs", c.git("for-each-ref", "--format=%(refname)"))
	fmt.Fprintln(&b, "worktrees", len(strings.Split(c.git("worktree", "list"), "\n")))
	fmt.Fprintln(&b, "status", c.git("status", "--porcelain"))
	if soaking() {
		c.git("fsck", "--connectivity-only")
	}
	c.store(func(ctx context.Context, rd engine.Reader) error {
		if err := c.checkAnswered(ctx, rd); err != nil {
			return err
		}
		return writeRecords(ctx, rd, &b)
	})
	if twice := c.lines("twice"); len(twice) > 0 {
		c.t.Errorf("%v", twice)
	}
	c.checkRefused()
	return b.String()
}

// store reads the records themselves.
func (r *testRepo) store(fn func(context.Context, engine.Reader) error) {
	r.t.Helper()
	ctx := r.t.Context()
	s, err := sqlite.Open(ctx, filepath.Join(r.dir, ".git", "ferrox", "ferrox.db"), sqlite.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer s.Close()
	if err := s.View(ctx, func(rd engine.Reader) error { return fn(ctx, rd) }); err != nil {
		r.t.Fatal(err)
	}
}

// checkAnswered looks for everything whose author was told that it is done: questions, rulings, acknowledgements.
func (c *crashRun) checkAnswered(ctx context.Context, rd engine.Reader) error {
	holds, err := rd.Holds(ctx, engine.HoldFilter{Batch: "x"})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, h := range holds {
		there["hold "+string(h.ID)] = true
		there["ruling "+string(h.Ruling)] = true
		there["acknowledgement "+string(h.Ruling)] = h.Delivery == "acknowledged"
	}
	for what, ids := range map[string][]string{"hold": c.lines("c-asked"), "ruling": c.rulings, "acknowledgement": c.lines("acked")} {
		for _, id := range ids {
			if !there[what+" "+id] {
				c.t.Errorf("%s %s was answered and is gone", what, id)
			}
		}
	}
	return nil
}

// lines are the words of a file that workers write.
func (r *testRepo) lines(name string) []string {
	body, err := os.ReadFile(r.outside(name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(body))
}

// checkRefused looks for the bytes of every claim that was not good.
func (c *crashRun) checkRefused() {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.dir, ".git", "ferrox", "refused", "x", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	kept := map[string]bool{}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			c.t.Fatal(err)
		}
		kept[strings.TrimSpace(string(body))] = true
	}
	for _, claim := range append(c.lines("claims"), "done") { // the first of B, which conflicts
		if !kept[claim] {
			c.t.Errorf("the claim %q was refused and is gone: %v", claim, kept)
		}
	}
}

func writeRecords(ctx context.Context, rd engine.Reader, b *strings.Builder) error {
	batch, err := rd.Batch(ctx, "x")
	if err != nil {
		return err
	}
	fmt.Fprintln(b, "phase", batch.Phase)
	tasks, err := rd.Tasks(ctx, "x")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		fmt.Fprintln(b, "task", t.ID, t.State, t.Merge != "", t.Authorized != "")
	}
	holds, err := rd.Holds(ctx, engine.HoldFilter{Batch: "x"})
	if err != nil {
		return err
	}
	var said []string
	for _, h := range holds {
		said = append(said, fmt.Sprint("hold ", h.Task, " ", h.Gate, " ", h.State, " ", h.RulingVerdict, " ", h.RulingText, " ", h.Delivery))
	}
	slices.Sort(said)
	fmt.Fprintln(b, strings.Join(said, "\n"))
	return writeCounts(ctx, rd, b)
}

// writeCounts says how often what may happen once has happened.
func writeCounts(ctx context.Context, rd engine.Reader, b *strings.Builder) error {
	counts := map[string]int{}
	events, err := rd.Events(ctx, engine.EventFilter{Batch: "x"})
	if err != nil {
		return err
	}
	for _, e := range events {
		counts[e.Name]++
	}
	messages, err := rd.Messages(ctx, engine.MessageFilter{Batch: "x"})
	if err != nil {
		return err
	}
	for _, m := range messages {
		counts["message "+string(m.Type)]++
	}
	for _, name := range []string{"hold-opened", "hold-released", "ruling-acknowledged", "landed", "message escalate", "message ruling", "message reply"} {
		fmt.Fprintln(b, name, counts[name])
	}
	owed, err := rd.Effects(ctx, "x", true)
	fmt.Fprintln(b, "effects still owed", len(owed))
	return err
}
