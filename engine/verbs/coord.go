package verbs

import (
	"ferrox/gates/coord"
	"ferrox/gates/epoch"
)

func ownershipCheck(c *call) (any, error) {
	declared, actual, increment := c.list("declared"), c.list("actual"), c.id("increment")
	_, stamped := c.value("now-ts")
	var now epoch.Millis
	if stamped {
		now = c.now()
	}
	if err := c.usage(); err != nil {
		return nil, err
	}

	d := coord.CheckOwnership(declared, actual)
	e, undeclared := d.Entry(increment, now)
	switch {
	case !undeclared:
		return d, nil
	case !stamped:
		c.warn("no line was written to the run-log: an undeclared write is logged with its instant, give --now-ts")
		return d, nil
	}
	if err := c.log(e); err != nil {
		return nil, err
	}
	return d, nil
}

func hotSeamCheck(c *call) (any, error) {
	files := c.list("files")
	if err := c.usage(); err != nil {
		return nil, err
	}
	return coord.RegistryOf(c.settings.Coordination).OrDefault().CheckSeams(files), nil
}

func sharedWriteCheck(c *call) (any, error) {
	actor, target := c.id("actor"), c.id("target")
	if err := c.usage(); err != nil {
		return nil, err
	}
	return coord.RegistryOf(c.settings.Coordination).OrDefault().CheckWrite(actor, target), nil
}

func allocMigration(c *call) (any, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	var number float64
	err := updateState(c.path(c.settings.Coordination.MigrationStore), c.limits, func(f fields) (bool, error) {
		m := coord.ReadMigrations(f)
		var err error
		if number, err = m.Allocate(); err != nil {
			return false, err
		}
		return true, storeMigrations(f, m)
	})
	if err != nil {
		return nil, err
	}
	return struct {
		Number float64 `json:"number"`
	}{number}, nil
}

type migrationDecision struct {
	Decision coord.MigrationAnswer `json:"decision"`
}

func checkMigration(c *call) (any, error) {
	n := c.number("number")
	if err := c.usage(); err != nil {
		return nil, err
	}
	m, err := c.migrations()
	if err != nil {
		return nil, err
	}
	return migrationDecision{m.Check(n)}, nil
}

func consumeMigration(c *call) (any, error) {
	n := c.number("number")
	if err := c.usage(); err != nil {
		return nil, err
	}
	answer, err := c.consume(n)
	if err != nil {
		return nil, err
	}
	return migrationDecision{answer}, nil
}

func (c *call) migrations() (coord.Migrations, error) {
	f, err := readState(c.path(c.settings.Coordination.MigrationStore))
	return coord.ReadMigrations(f), err
}

func (c *call) consume(n float64) (answer coord.MigrationAnswer, err error) {
	err = updateState(c.path(c.settings.Coordination.MigrationStore), c.limits, func(f fields) (bool, error) {
		m := coord.ReadMigrations(f)
		answer = m.Consume(n)
		if answer != coord.MigrationConsumed {
			return false, nil
		}
		return true, storeMigrations(f, m)
	})
	return answer, err
}

func storeMigrations(f fields, m coord.Migrations) error {
	if err := f.set("next", m.Next); err != nil {
		return err
	}
	if err := f.set("allocated", orEmpty(m.Allocated)); err != nil {
		return err
	}
	return f.set("consumed", orEmpty(m.Consumed))
}

// orEmpty is a list that JSON writes as [] instead of null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
