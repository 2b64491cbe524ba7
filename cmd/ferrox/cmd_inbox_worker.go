package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/engine/watch"
)

// workerInbox shows a worker what its unit has to know. It asks the shim: no worker opens the store.
func (a *app) workerInbox(ctx context.Context, in inbox) error {
	all, err := a.letters(ctx, in.signal)
	if err != nil {
		return err
	}
	if a.json && !in.jsonl {
		return a.show(all, nil)
	}
	seen := map[string]bool{}
	tell := func(all []engine.Letter) {
		for _, l := range all {
			if !seen[string(l.ID)] {
				seen[string(l.ID)] = true
				a.printLine(in.jsonl, l, func(w io.Writer) { writeLetter(w, l) })
			}
		}
	}
	tell(all)
	if !in.follow {
		return nil
	}
	return a.followLetters(ctx, tell)
}

// letters asks the shim, and has it remember a signal.
func (a *app) letters(ctx context.Context, signal string) (all []engine.Letter, err error) {
	ctx, cancel := context.WithTimeout(ctx, workerPatience)
	defer cancel()
	answer, err := process.Call(ctx, a.getenv, engine.WorkerRequest{Verb: "inbox", Signal: signal})
	if err != nil {
		return nil, err
	}
	if answer.Exit != engine.ExitDone {
		return nil, a.told(answer)
	}
	if err := json.Unmarshal([]byte(answer.Result), &all); err != nil {
		return nil, fmt.Errorf("read the answer of the shim: %w", err)
	}
	return all, nil
}

// followLetters asks again whenever the inbox file changes, until ctx or the run ends.
func (a *app) followLetters(ctx context.Context, tell func([]engine.Letter)) (err error) {
	file := a.getenv("FERROX_INBOX")
	if !filepath.IsAbs(file) {
		return &engine.Error{Exit: engine.ExitRefused, Code: "not-a-worker", Message: "follow the inbox: FERROX_INBOX names no file", Next: "ferrox inbox"}
	}
	w := watch.New(watch.Poll, slog.New(slog.DiscardHandler))
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Watch(filepath.Dir(file)); err != nil {
		return err
	}
	for was := os.FileInfo(nil); ; {
		select {
		case <-w.Changed():
		case <-ctx.Done():
			return nil
		}
		now, err := os.Stat(file)
		if err == nil && same(was, now) {
			continue
		}
		all, err := a.letters(ctx, "")
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		was = now
		tell(all)
	}
}

// same reports whether a file that is always replaced as a whole is still the one that was seen.
func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func writeLetter(w io.Writer, l engine.Letter) {
	head := string(l.Type) + " " + string(l.ID) + " from the " + string(l.Role)
	if l.Gate != "" {
		head += " on gate " + l.Gate
	}
	if l.Verdict != "" {
		head += ": " + string(l.Verdict)
	}
	fmt.Fprintf(w, "%s\n", clean(head+": "+l.Text+" ["+l.Ack+"]"))
}
