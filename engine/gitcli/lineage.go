package gitcli

import (
	"sync"

	"ferrox/lanes"
)

// lineage remembers how a branch grew while this process moved it. What a commit contains never changes, so that what was
// proven once needs no second look.
type lineage struct {
	mu    sync.Mutex
	spine []lanes.Commit       // where the branch stood, oldest first
	place map[lanes.Commit]int // commits that came since the first of them: the first place of spine that contains each
}

// grow adds a move of the branch. fresh is every commit of next that old does not contain.
func (l *lineage) grow(old, next lanes.Commit, fresh []lanes.Commit) {
	if next == old {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.spine); n == 0 || l.spine[n-1] != old {
		l.spine, l.place = []lanes.Commit{old}, map[lanes.Commit]int{old: 0}
	}
	at := len(l.spine)
	l.spine = append(l.spine, next)
	for _, c := range append(fresh, next) {
		if _, known := l.place[c]; !known {
			l.place[c] = at
		}
	}
}

// contains reports whether b is known to contain a. False says nothing.
func (l *lineage) contains(b, a lanes.Commit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := l.place[b]
	if !known || l.spine[at] != b {
		return false
	}
	since, known := l.place[a]
	return known && since <= at
}
