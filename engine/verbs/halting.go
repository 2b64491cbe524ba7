package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"ferrox/gates/halting"
)

const (
	rescopePath = ".planning/rescope-state.json"
	parkPath    = ".planning/human-sla-park.json"
)

func capCheck(c *call) (any, error) {
	q := halting.CapQuery{
		Gate: c.id("gate"), Increment: c.id("increment"), Passes: c.number("passes"), Start: c.instant("start-ts"), Now: c.now(),
	}
	if err := c.usage(); err != nil {
		return nil, err
	}

	d := halting.CheckCap(c.settings.Halting.Gate(q.Gate), q)
	if e, fired := d.Entry(q); fired {
		if err := c.log(e); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func rescopeCheck(c *call) (any, error) {
	q := halting.RescopeQuery{
		Increment: c.id("increment"), PrevSize: c.number("prev-size"), NewSize: c.number("new-size"), Now: c.now(),
	}
	if err := c.usage(); err != nil {
		return nil, err
	}

	var d halting.RescopeDecision
	err := updateState(c.path(rescopePath), c.limits, func(f fields) (bool, error) {
		stored, err := halting.ReadRescopeRecord(f[q.Increment])
		if err != nil {
			return false, fmt.Errorf("%s: %w", c.path(rescopePath), err)
		}
		var next *halting.RescopeRecord
		d, next = halting.CheckRescope(c.settings.Halting.Rescope.MaxAttempts, stored, q)
		if next == nil {
			return false, nil
		}
		return true, f.set(q.Increment, next)
	})
	if err != nil {
		return nil, err
	}
	if e, fired := d.Entry(q); fired {
		if err := c.log(e); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func humanSLA(c *call) (any, error) {
	increment, opened, now := c.id("increment"), c.instant("opened-ts"), c.now()
	if err := c.usage(); err != nil {
		return nil, err
	}

	d := halting.CheckHumanSLA(c.settings.Halting.HumanSLASeconds, opened, now)
	if d.Decision == halting.SLAWithin {
		return d, nil
	}
	park, entry := halting.Breach(increment, now)
	err := updateState(c.path(parkPath), c.limits, func(f fields) (bool, error) { return true, f.set(increment, park) })
	if err != nil {
		return nil, err
	}
	return d, c.log(entry)
}

func shipClock(c *call) (any, error) {
	increment, lastMerge, now := c.id("increment"), c.instant("last-merge-ts"), c.now()
	if err := c.usage(); err != nil {
		return nil, err
	}

	d := halting.CheckShipClock(c.settings.Halting.ShipClockSeconds, lastMerge, now)
	if d.Decision == halting.ShipRed {
		if err := c.log(halting.RedEntry(increment, now)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func coverageDelta(c *call) (any, error) {
	before, after := c.number("before"), c.number("after")
	if err := c.usage(); err != nil {
		return nil, err
	}
	d := halting.CoverageDelta(before, after)
	if math.IsInf(d.Delta, 0) {
		return nil, c.invalid("after", errors.New("the difference is too large for a number"))
	}
	return d, nil
}

// member reads one member of a list or object as T; ok is false when it is something else.
func member[T any](raw json.RawMessage) (v T, ok bool) {
	var p *T
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil || p == nil {
		return v, false
	}
	return *p, true
}
