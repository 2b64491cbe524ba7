package sqlite

import (
	"fmt"
	"strings"
)

// filter collects the conditions of a query.
type filter struct {
	where []string
	args  []any
}

// add adds a condition in which every ? stands for the next argument.
func (f *filter) add(condition string, args ...any) {
	var b strings.Builder
	n := len(f.args)
	for _, r := range condition {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		fmt.Fprintf(&b, "$%d", n)
	}
	f.where = append(f.where, b.String())
	f.args = append(f.args, args...)
}

// prefix keeps the rows whose column begins with p. A range, unlike LIKE, minds letter case everywhere and uses the index.
func (f *filter) prefix(column, p string) {
	if p == "" {
		return
	}
	f.add(column+" >= ?", p)
	if end := after(p); end != "" {
		f.add(column+" < ?", end)
	}
}

// after returns the smallest string above all that begin with p, or "" if there is none.
func after(p string) string {
	b := []byte(p)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}

func (f *filter) text() string {
	if len(f.where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.where, " AND ")
}

// where returns a filter of one condition.
func where(condition string, args ...any) *filter {
	f := &filter{}
	f.add(condition, args...)
	return f
}

// equal keeps the rows whose column is v, unless v is zero.
func equal[T comparable](f *filter, column string, v T) {
	var zero T
	if v != zero {
		f.add(column+" = ?", v)
	}
}

// among keeps the rows whose column is one of vs, unless there are none.
func among[T any](f *filter, column string, vs []T) {
	if len(vs) == 0 {
		return
	}
	args := make([]any, len(vs))
	for i, v := range vs {
		args[i] = v
	}
	f.add(column+" IN (?"+strings.Repeat(", ?", len(vs)-1)+")", args...)
}

// hole adds an argument that stands outside the conditions and returns its place.
func (f *filter) hole(arg any) string {
	f.args = append(f.args, arg)
	return fmt.Sprintf("$%d", len(f.args))
}
