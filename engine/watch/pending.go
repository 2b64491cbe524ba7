package watch

import (
	"slices"
	"time"
)

// pending is what has still to be delivered: each folder once, oldest first, and none again before a gap has passed.
type pending struct {
	gap   time.Duration
	order []string
	last  map[string]time.Time // when each was delivered, kept until its rest is over
}

func newPending(gap time.Duration) *pending {
	return &pending{gap: gap, last: map[string]time.Time{}}
}

func (p *pending) add(dir string) {
	if !slices.Contains(p.order, dir) {
		p.order = append(p.order, dir)
	}
}

func (p *pending) drop(dir string) {
	if i := slices.Index(p.order, dir); i >= 0 {
		p.order = slices.Delete(p.order, i, i+1)
	}
	delete(p.last, dir)
}

// next returns what to deliver first and how long that has to wait; false when nothing is pending.
func (p *pending) next(now time.Time) (dir string, wait time.Duration, some bool) {
	for _, d := range p.order {
		left := p.left(d, now)
		if !some || left < wait {
			dir, wait, some = d, left, true
		}
		if left == 0 {
			break
		}
	}
	return dir, wait, some
}

// left is how long dir still rests.
func (p *pending) left(dir string, now time.Time) time.Duration {
	at, ok := p.last[dir]
	if !ok {
		return 0
	}
	left := p.gap - now.Sub(at)
	if left <= 0 {
		delete(p.last, dir)
		return 0
	}
	return left
}

// took notes that dir was delivered at now.
func (p *pending) took(dir string, now time.Time) {
	p.drop(dir)
	p.last[dir] = now
}
