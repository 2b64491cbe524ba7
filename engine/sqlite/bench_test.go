package sqlite

import (
	"database/sql/driver"
	"fmt"
	"testing"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
)

// BenchmarkRuling compares what a ruling writes through the store with the same statements replayed on the bare driver,
// prepared, in one flushed transaction. The two take turns, so that the disk's mood hits both.
func BenchmarkRuling(b *testing.B) {
	s := newStoreAt(b, newFile(b), Options{})
	seed(b, s)
	r := firstRuling()
	r.next(0)
	if err := r.store(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	bare := newBare(b)
	n := 0
	for b.Loop() {
		n++
		r.next(n)
		if err := r.store(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		bare.replay(b, n)
		b.StartTimer()
	}
	b.ReportMetric(float64(bare.spent.Nanoseconds())/float64(n), "bare-ns/op")
	b.ReportMetric(float64(b.Elapsed())/float64(bare.spent), "store/bare")
}

// BenchmarkPointRead reads one hold of many in a View of its own.
func BenchmarkPointRead(b *testing.B) {
	s := newStoreAt(b, newFile(b), Options{})
	seed(b, s)
	r := firstRuling()
	if err := r.store(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	for b.Loop() {
		err := s.View(ctx, func(r engine.Reader) error {
			_, err := r.Hold(ctx, "h1")
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// values turns the fields of a record into what the driver binds.
func values(b *testing.B, fields []any) []driver.Value {
	b.Helper()
	found := make([]driver.Value, len(fields))
	for i, f := range fields {
		v, err := driver.DefaultParameterConverter.ConvertValue(f)
		if err != nil {
			b.Fatal(err)
		}
		found[i] = v
	}
	return found
}

func prepare(b *testing.B, raw *sqlite3.SQLiteConn, text string) driver.Stmt {
	b.Helper()
	st, err := raw.Prepare(text)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// BenchmarkOpenHoldsAmongMany lists ten open holds among 100,000 that are over.
func BenchmarkOpenHoldsAmongMany(b *testing.B) {
	s := newStoreAt(b, newFile(b), Options{})
	seed(b, s)
	ctx := b.Context()
	err := s.Update(ctx, func(w engine.Tx) error {
		h := firstRuling().hold
		for n := range 100_000 {
			h.ID = lanes.HoldID(fmt.Sprintf("h%06d", n))
			h.State, h.Delivery = hold.Released, hold.DeliveryAcknowledged
			if n%10_000 == 0 {
				h.State = hold.Open
			}
			if _, err := w.PutHold(ctx, h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		err := s.View(ctx, func(r engine.Reader) error {
			open, err := r.Holds(ctx, engine.HoldFilter{Unresolved: true})
			if len(open) != 10 {
				b.Fatalf("%d open holds, want 10", len(open))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
