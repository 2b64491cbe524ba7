package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ferrox/engine"
	"ferrox/engine/powercut"
)

// powerSample is how many of the disks a batch goes on with in the tests of every day.
const powerSample = 4

// goOn puts the disk in place of the real one and has the batch go on there. It ends as the undisturbed one did, or names
// every task that cannot go on, with what to type; what was told is there still.
func (p *powerBatch) goOn(t *testing.T, at int, loss powercut.Loss) (same bool) {
	t.Helper()
	if err := os.RemoveAll(p.root); err != nil {
		t.Fatal(err)
	}
	if err := p.log.Cut(at, loss, 1).Write(p.root); err != nil {
		t.Fatal(err)
	}
	r := *p.testRepo
	r.t = t
	after := powerBatch{testRepo: &r, root: p.root}
	stopped := after.drive(func(args ...string) (string, int) {
		out, errOut, code := r.ferrox(args...)
		t.Logf("ferrox %v: exit %d\n%s%s", args, code, out, errOut)
		return out, code
	}, func(string) {})
	if stopped == nil {
		if got := after.outcome(); got != p.want {
			t.Errorf("got\n%s\nwant\n%s", got, p.want)
		}
		return true
	}
	after.refused()
	return false
}

// refused checks that a batch which did not end says of every task why, and what to type.
func (p *powerBatch) refused() {
	p.t.Helper()
	out, errOut, code := p.ferrox("status", "--json")
	if code != engine.ExitDone {
		p.t.Errorf("status: exit %d: %s", code, errOut)
		return
	}
	var v engine.StatusView
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		p.t.Fatal(err)
	}
	for _, task := range v.Tasks {
		if task.State != "succeeded" && (len(task.Reasons) == 0 || task.Reasons[0].Next == "") {
			p.t.Errorf("%s is %s without a way on: %+v", task.ID, task.State, task.Reasons)
		}
	}
}

// goesOn has the batch go on after a cut: at a few instants in one kind of loss each, at all of them in all kinds when
// soaking.
func (p *powerBatch) goesOn(t *testing.T) {
	step := p.log.Len() / powerSample
	if powerSoak {
		step = 1
	}
	same, refused := 0, 0
	for at := 0; at < p.log.Len(); at += step {
		for i, loss := range powercut.Losses() {
			if !powerSoak && i != at/step%len(powercut.Losses()) {
				continue
			}
			t.Run(fmt.Sprintf("%d %s %s", at, loss, filepath.Base(p.log.Path(at))), func(t *testing.T) {
				if p.goOn(t, at, loss) {
					same++
				} else {
					refused++
				}
			})
		}
	}
	t.Logf("%d ended as without a cut, %d were refused with a way on", same, refused)
}
