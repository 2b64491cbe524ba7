package coord

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
)

// MigrationAnswer is the decision of coord.check-migration and coord.consume-migration (verbs.md 4.4, 4.5).
type MigrationAnswer string

// The answers about a migration number.
const (
	MigrationValid     MigrationAnswer = "valid"
	MigrationUncentral MigrationAnswer = "rejected-uncentral" // never allocated
	MigrationReplay    MigrationAnswer = "rejected-replay"    // consumed before
	MigrationConsumed  MigrationAnswer = "consumed"
)

// Migrations is the store of migration numbers. Allocated and Consumed only grow.
type Migrations struct {
	Next      float64
	Allocated []float64
	Consumed  []float64
}

// exact is the first whole number that float64 no longer tells from its neighbour.
const exact = 1 << 53

// ReadMigrations reads the store's fields. Fields and members that are no numbers are dropped.
func ReadMigrations(fields map[string]json.RawMessage) Migrations {
	m := Migrations{Next: 1, Allocated: numbers(fields["allocated"]), Consumed: numbers(fields["consumed"])}
	if n, ok := number(fields["next"]); ok {
		m.Next = n
	}
	return m
}

// Allocate takes the next number: above everything that was allocated, whatever the stored next says.
func (m *Migrations) Allocate() (float64, error) {
	n := max(1, math.Ceil(m.Next))
	for _, a := range m.Allocated {
		n = max(n, math.Floor(a)+1)
	}
	if n >= exact {
		return 0, errors.New("allocate a migration number: the numbers are used up; look at next and allocated in the store")
	}
	m.Next = n + 1
	m.Allocated = append(m.Allocated, n)
	return n, nil
}

// Check says whether a number was allocated here. It asks neither for the next one nor for one that is still unused.
func (m Migrations) Check(n float64) MigrationAnswer {
	if !slices.Contains(m.Allocated, n) {
		return MigrationUncentral
	}
	return MigrationValid
}

// Consumable says what Consume would answer.
func (m Migrations) Consumable(n float64) MigrationAnswer {
	switch {
	case !slices.Contains(m.Allocated, n):
		return MigrationUncentral
	case slices.Contains(m.Consumed, n):
		return MigrationReplay
	default:
		return MigrationConsumed
	}
}

// Consume uses an allocated number up. Only MigrationConsumed changes the store.
func (m *Migrations) Consume(n float64) MigrationAnswer {
	answer := m.Consumable(n)
	if answer == MigrationConsumed {
		m.Consumed = append(m.Consumed, n)
	}
	return answer
}

func number(raw json.RawMessage) (float64, bool) {
	var f *float64
	if len(raw) == 0 || json.Unmarshal(raw, &f) != nil || f == nil {
		return 0, false
	}
	return *f, true
}

func numbers(raw json.RawMessage) []float64 {
	var members []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &members) != nil {
		return nil
	}
	var list []float64
	for _, m := range members {
		if f, ok := number(m); ok {
			list = append(list, f)
		}
	}
	return list
}
