package enginetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"ferrox/engine"
	"ferrox/lanes"
)

// errKilled is what every port says to a process that is dead. Nobody hears it: its context has ended with it.
var errKilled = errors.New("killed")

// proc is one process: an engine, a shim or a command. What it did to the world outlives it.
type proc struct {
	w      *world
	role   role
	db     engine.Store
	self   lanes.Identity
	ctx    context.Context
	cancel context.CancelFunc
	bell   chan string
	signal chan struct{}
	done   chan struct{} // closed when the engine's Run has returned
	out    engine.Outcome
	err    error

	broken atomic.Bool // its store could not be written

	mu   sync.Mutex
	dead bool
	verb string // what a command was called with, for the audit
}

// role says what a process is, for faults that pick one.
type role string

const (
	roleEngine  role = "engine"
	roleShim    role = "shim"
	roleCommand role = "command"
)

func (w *world) newProc(r role, db engine.Store) *proc {
	ctx, cancel := context.WithCancel(context.Background())
	w.pids++
	return &proc{
		w: w, role: r, db: db, ctx: ctx, cancel: cancel, self: lanes.Identity{PID: w.pids, Start: uint64(w.pids), Boot: "boot", PIDNS: 1},
		bell: make(chan string, 1), signal: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// engine is the program as this process runs it.
func (p *proc) engine() *engine.Engine {
	signatures := noSignatures{}
	return &engine.Engine{
		Store: engine.NewWall(p.w.mutant.store(store{p}), signatures, p.w.clock), Git: git{p: p, repo: p.w.repo}, Workers: workers{p: p}, Planning: planning{},
		Signatures: signatures, Watch: watcher{p}, Clock: p.w.clock, Lock: lock{p}, Self: p.self, Home: p.w.home(), Root: p.w.root(),
		Exe: "/ferrox", Limit: engine.CommandLimit, User: string(p.role), NewID: p.w.newID, Ring: p.w.ring, Logger: slog.New(slog.DiscardHandler),
	}
}

func (p *proc) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errKilled
	}
	return nil
}

// kill ends the process where it stands. The kernel lets go of its lock.
func (p *proc) kill() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.cancel()
	p.w.unlock(p)
}

// reach passes an instant at which a process may be killed, and says so when it was.
func (p *proc) reach(name string) error {
	if p.alive() == nil && p.w.fault.strikes(p.role, faultKill) {
		p.w.say("   %s %d is killed: %s", p.role, p.self.PID, name)
		p.kill()
	}
	return p.alive()
}

// effect does what outlives the process, when its turn comes and if it lives to see it.
func (p *proc) effect(name string, do func() error) error {
	p.w.turns.wait(fmt.Sprintf("%s %d %s", p.role, p.self.PID, name))
	if err := p.reach("before " + name); err != nil {
		return err
	}
	err := do()
	if gone := p.reach("after " + name); gone != nil {
		return gone
	}
	return err
}

// lock is the kernel's lock on the repository.
type lock struct{ p *proc }

func (l lock) TryLock() (bool, error) {
	l.p.w.mu.Lock()
	defer l.p.w.mu.Unlock()
	if l.p.w.owner != nil {
		return false, l.p.alive()
	}
	if err := l.p.alive(); err != nil {
		return false, err
	}
	l.p.w.owner = l.p
	return true, nil
}

func (l lock) Unlock() error {
	l.p.w.unlock(l.p)
	return l.p.alive()
}

func (l lock) Held() (bool, error) {
	l.p.w.mu.Lock()
	defer l.p.w.mu.Unlock()
	return l.p.w.owner != nil, l.p.alive()
}

// watcher hears the doorbell only: that a claim was written is found by looking.
type watcher struct{ p *proc }

func (watcher) Watch(string) error       { return nil }
func (watcher) Unwatch(string)           {}
func (w watcher) Changed() <-chan string { return w.p.bell }
func (watcher) Close() error             { return nil }
