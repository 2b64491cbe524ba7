package hold_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ferrox/hold"
	"ferrox/mailbox"
)

// TestW58_DeadlineUnderAnyClock: whatever the wall clock is set to between two looks, a hold expires at no look whose clock
// is before the deadline, and once only; no look moves the deadline or releases anything, and a ruling that is in the record
// by the time of the look (F013) leaves nothing to expire.
func TestW58_DeadlineUnderAnyClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := opened()
		due, expired := r.Deadline, 0
		ruleAt := rapid.IntRange(0, 20).Draw(t, "look before which somebody rules")
		for look := range rapid.IntRange(1, 20).Draw(t, "looks") {
			if look == ruleAt {
				r, _ = r.Rule(ruling("M-1", mailbox.VerdictFix))
			}
			clock := now.Add(time.Duration(rapid.IntRange(-600, 600).Draw(t, "clock, minutes")) * time.Minute)
			next, ok := r.Expire(clock)
			if ok {
				expired++
			}
			if ok && (clock.Before(due) || look >= ruleAt || expired > 1) {
				t.Fatalf("expired at %s, deadline %s, look %d, ruled before look %d, time %d", clock, due, look, ruleAt, expired)
			}
			if !ok && look < ruleAt && expired == 0 && !clock.Before(due) {
				t.Fatalf("not expired at %s, deadline %s", clock, due)
			}
			if next.State != r.State || next.Delivery != r.Delivery || !next.Deadline.Equal(due) {
				t.Fatalf("a look made %s of %s", at(next), at(r))
			}
			r = next
		}
	})
}

// TestExtend_TellsNobodyTwice: an extension that ends before now leaves an expired hold expired; one that ends later starts
// anew. Both are counted from the deadline.
func TestExtend_TellsNobodyTwice(t *testing.T) {
	t.Parallel()
	r, _ := opened().Expire(now.Add(timeout + 3*time.Hour))
	short, err := r.Extend(time.Hour, now.Add(timeout+3*time.Hour))
	if err != nil || short.ExpiredAt != r.ExpiredAt || !short.Deadline.Equal(r.Deadline.Add(time.Hour)) {
		t.Errorf("%+v, %v", short, err)
	}
	if _, again := short.Expire(now.Add(timeout + 3*time.Hour)); again {
		t.Error("a hold that had expired expired again")
	}
	long, err := r.Extend(4*time.Hour, now.Add(timeout+3*time.Hour))
	if err != nil || !long.ExpiredAt.IsZero() || long.State != hold.Open {
		t.Errorf("%+v, %v", long, err)
	}
}
