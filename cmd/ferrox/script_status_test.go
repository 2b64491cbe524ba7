package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// becomes DURATION PATH VALUE looks at `ferrox status --json` of the working directory's repository until a field has a
// value, with a bound.
func becomes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: becomes DURATION PATH VALUE")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var last string
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		out, err := command(ts, []string{"ferrox", "status", "--json"}).CombinedOutput()
		last = string(out)
		var v any
		if err == nil && json.Unmarshal(out, &v) == nil {
			if got, err := field(v, args[1]); err == nil && got == args[2] {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%s is not %s in %s: %v\n%s", args[1], args[2], args[0], err, last)
		}
	}
}
