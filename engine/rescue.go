package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"ferrox/lanes"
)

const rescueRefs = "refs/ferrox/rescue/"

// RescueView is one rescue as people and scripts see it.
type RescueView struct {
	Ref     string       `json:"ref"`
	Commit  lanes.Commit `json:"commit"`
	Head    lanes.Commit `json:"head"` // the lane's head
	Index   lanes.Commit `json:"index,omitempty"`
	At      string       `json:"at"`
	Files   []string     `json:"files"` // uncommitted paths that it holds: changed, deleted or untracked
	Message string       `json:"message"`
}

func viewRescue(r Rescue) RescueView {
	v := RescueView{Ref: r.Ref, Commit: r.Commit, Head: r.Head, Index: r.Index, At: stamp(r.At), Files: r.Files, Message: r.Message}
	if v.Files == nil {
		v.Files = []string{}
	}
	return v
}

// Rescues lists what was set aside before a worktree or branch was removed.
func (e *Engine) Rescues(ctx context.Context) ([]RescueView, error) {
	list, err := e.Git.Rescues(ctx)
	views := []RescueView{}
	for _, r := range list {
		views = append(views, viewRescue(r))
	}
	return views, err
}

// RescueOf returns one rescue, by its ref or by what follows refs/ferrox/rescue/.
func (e *Engine) RescueOf(ctx context.Context, name string) (RescueView, error) {
	list, err := e.Git.Rescues(ctx)
	if err != nil {
		return RescueView{}, err
	}
	for _, r := range list {
		if r.Ref == name || r.Ref == rescueRefs+name {
			return viewRescue(r), nil
		}
	}
	return RescueView{}, refuse(ExitNotFound, "not-found", "ferrox rescue list", "there is no rescue %q", name)
}

// Restored is where a rescue came back.
type Restored struct {
	Ref      string       `json:"ref"`
	Worktree string       `json:"worktree"`
	Branch   string       `json:"branch"`
	Head     lanes.Commit `json:"head"`
}

// RestoreRescue brings a rescue back into a worktree of its own, on a branch of its own; into is the folder, "" for one
// beside the lanes. Nothing is written over, and the rescue stays.
func (e *Engine) RestoreRescue(ctx context.Context, name, into string) (Restored, error) {
	r, err := e.RescueOf(ctx, name)
	if err != nil {
		return Restored{}, err
	}
	short := strings.TrimPrefix(r.Ref, rescueRefs)
	if into == "" {
		into = filepath.Join(e.LanesRoot(), "rescued", filepath.FromSlash(short))
	}
	out := Restored{Ref: r.Ref, Worktree: into, Branch: "ferrox-rescued/" + short, Head: r.Head}
	info, err := e.Git.Branch(ctx, out.Branch)
	if err != nil {
		return out, err
	}
	if info.Head != "" {
		return out, refuse(ExitRefused, "branch-in-the-way", "git branch -m "+out.Branch+" NEW-NAME", "%s is there already: nothing is written over", out.Branch)
	}
	if entries, err := os.ReadDir(into); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return out, refuse(ExitRefused, "folder-in-the-way", "ferrox rescue restore "+r.Ref+" --into DIR", "%s is there already: nothing is written over", into)
	}
	_, err = e.Git.RestoreRescue(ctx, r.Ref, into, out.Branch)
	return out, err
}
