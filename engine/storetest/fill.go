package storetest

import (
	"fmt"
	"reflect"
	"time"
)

// filler gives every field of a record a value that is not zero and that no other field has, so that a column that is
// forgotten or swapped with another shows up as a difference.
type filler struct{ n int64 }

// start is the first instant that records get.
func start() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 123456000, time.UTC) }

// filled returns a record with every field set.
func filled[R any](f *filler) R {
	var r R
	f.fill(reflect.ValueOf(&r).Elem())
	return r
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(start().Add(time.Duration(f.n) * time.Microsecond)))
		return
	case time.Duration:
		v.SetInt(f.n * int64(time.Microsecond))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d <&> 'ä'", f.n))
	case reflect.Int, reflect.Int64:
		v.SetInt(f.n)
	case reflect.Uint64:
		v.SetUint(1<<63 + uint64(f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic(fmt.Sprintf("storetest: teach fill about %s", v.Type()))
	}
}
