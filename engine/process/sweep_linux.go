package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// sweepEvery is how long a sweep lets killed processes vanish before it looks again.
	sweepEvery = 5 * time.Millisecond
	// sweepLooks is how many looks in a row must find nothing: one that forks fast slips through a single one.
	sweepLooks = 3
)

// Sweep implements engine.Workers. Beside the processes that carry the token it takes their descendants and whoever
// shares a session with one of them, since a child may have dropped its environment. It returns when several looks in a row find none.
func (r *Runner) Sweep(ctx context.Context, token string) ([]string, error) {
	if token == "" {
		return nil, errors.New("sweep processes: no token given")
	}
	var swept sightings
	for empty := 0; ; {
		r.takeSwept()
		left, err := r.carriers(token)
		if err != nil {
			return swept.names(), fmt.Errorf("sweep processes: %w", err)
		}
		empty++
		if len(left) > 0 {
			empty = 0
		}
		if empty == sweepLooks {
			return swept.names(), nil
		}
		for _, s := range left {
			if err := signalProcess(s, unix.SIGKILL); err == nil {
				swept.add(s)
			} else if !errors.Is(err, errGone) {
				return swept.names(), fmt.Errorf("sweep processes: kill %s: %w", s, err)
			}
			r.takeSoon(s)
		}
		select {
		case <-ctx.Done():
			return swept.names(), ctx.Err()
		case <-time.After(sweepEvery):
		}
	}
}

// carriers lists the living processes of a token's run. The caller, what stands above it and shims are never among them.
func (r *Runner) carriers(token string) ([]stat, error) {
	all, err := everyProcess()
	if err != nil {
		return nil, err
	}
	own, err := unix.Getsid(0)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s stat) bool { return s.dead() || s.session == own || r.waitedFor(s.pid) })
	hit := marked(all, []byte("FERROX_TOKEN="+token))
	var found []stat
	for _, s := range all {
		if !hit[s.pid] {
			continue
		}
		below := descendants(all, s.pid, func(c stat) bool { return !hit[c.pid] })
		found = append(append(found, s), below...)
	}
	return found, nil
}

// marked picks the processes that were started with an environment entry, and the whole session of those whose session
// leader was, or is gone. A person's shell that only handed the entry to one command is left alone.
func marked(all []stat, entry []byte) map[int]bool {
	hit, known := make(map[int]bool), make(map[int]bool)
	for _, s := range all {
		known[s.pid] = true
		hit[s.pid] = carries(s.pid, entry)
	}
	sessions := make(map[int]bool)
	for _, s := range all {
		if hit[s.pid] && (hit[s.session] || !known[s.session]) {
			sessions[s.session] = true
		}
	}
	for _, s := range all {
		hit[s.pid] = hit[s.pid] || sessions[s.session]
	}
	return hit
}

// carries reports whether a process was started with that environment entry. One that can't be read is not ours.
func carries(pid int, entry []byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(bytes.Split(env, []byte{0}), func(e []byte) bool { return bytes.Equal(e, entry) })
}

// sightings names processes once each.
type sightings struct {
	seen map[uint64]bool // start time and number in one
	list []string
	more int
}

// maxNamed bounds how many ended processes a record names.
const maxNamed = 200

func (g *sightings) add(s stat) {
	if g.seen == nil {
		g.seen = make(map[uint64]bool)
	}
	key := s.start<<22 | uint64(s.pid) // pids have 22 bits
	if g.seen[key] {
		return
	}
	g.seen[key] = true
	if len(g.list) >= maxNamed {
		g.more++
		return
	}
	g.list = append(g.list, s.String())
}

func (g *sightings) names() []string {
	if g.more > 0 {
		return append(slices.Clone(g.list), fmt.Sprintf("and %d more", g.more))
	}
	return slices.Clone(g.list)
}
