package sqlite

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// The types below stand between a field and its column where the two differ. Each holds a pointer to the field, so that it
// serves for binding and for scanning.
type (
	instant     struct{ t *time.Time }     // whole microseconds UTC; 0 is the zero time
	span        struct{ d *time.Duration } // whole microseconds
	unsigned    struct{ n *uint64 }        // the same 64 bits, signed
	list[T any] struct{ l *[]T }           // JSON; empty and nil are the same
)

var (
	_ driver.Valuer = instant{}
	_ sql.Scanner   = instant{}
	_ driver.Valuer = list[string]{}
	_ sql.Scanner   = list[string]{}
)

// micros returns an instant as it is stored.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Value implements driver.Valuer.
func (i instant) Value() (driver.Value, error) { return micros(*i.t), nil }

// Scan implements sql.Scanner.
func (i instant) Scan(v any) error {
	n, err := integer(v)
	if err != nil {
		return err
	}
	*i.t = time.Time{}
	if n != 0 {
		*i.t = time.UnixMicro(n).UTC()
	}
	return nil
}

// Value implements driver.Valuer.
func (s span) Value() (driver.Value, error) { return s.d.Microseconds(), nil }

// Scan implements sql.Scanner.
func (s span) Scan(v any) error {
	n, err := integer(v)
	*s.d = time.Duration(n) * time.Microsecond
	return err
}

// Value implements driver.Valuer.
func (u unsigned) Value() (driver.Value, error) { return int64(*u.n), nil }

// Scan implements sql.Scanner.
func (u unsigned) Scan(v any) error {
	n, err := integer(v)
	*u.n = uint64(n)
	return err
}

// Value implements driver.Valuer.
func (l list[T]) Value() (driver.Value, error) {
	if len(*l.l) == 0 {
		return "[]", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read these columns
	if err := e.Encode(*l.l); err != nil {
		return nil, fmt.Errorf("encode a list: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Scan implements sql.Scanner.
func (l list[T]) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("decode a list: column holds a %T", v)
	}
	*l.l = nil
	if text == "[]" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), l.l); err != nil {
		return fmt.Errorf("decode a list: %w", err)
	}
	return nil
}

func integer(v any) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("decode a number: column holds a %T", v)
	}
	return n, nil
}

// stored returns an instant as it reads back.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}
