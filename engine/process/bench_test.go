//go:build linux

package process

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkFirstInstruction measures Start until the worker's first instruction, beside a bare fork and exec of the
// same program in the same round.
func BenchmarkFirstInstruction(b *testing.B) {
	var floor, shim, start []time.Duration
	for b.Loop() {
		f := newBench(b, "")
		begun := monotonic()
		cmd := exec.Command("/proc/self/exe", "stamp", f.tree("floor"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		ok(b, cmd.Run())
		floor = append(floor, f.since("floor", begun))

		f.spec.Argv = []string{f.env("T"), "stamp", f.tree("stamp")}
		begun = monotonic()
		id := f.start()
		start = append(start, time.Duration(monotonic()-begun))
		f.wait(id)
		shim = append(shim, f.since("stamp", begun))
	}
	for name, d := range map[string][]time.Duration{"floor": floor, "shim": shim, "Start": start} {
		slices.Sort(d)
		b.ReportMetric(float64(d[len(d)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(d[len(d)*95/100].Microseconds()), name+"-p95-µs")
	}
}

// since is how long after begun the program that wrote the stamp came to life.
func (b *bench) since(stamp string, begun int64) time.Duration {
	b.Helper()
	at, err := strconv.ParseInt(strings.TrimSpace(b.read(filepath.Base(stamp))), 10, 64)
	ok(b, err)
	return time.Duration(at - begun)
}
