package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/lanes"
)

// The variables of make soak: how long the kill loop goes on, and the seed that it begins with.
const (
	soakTime = "FERROX_TEST_SOAK_TIME"
	soakSeed = "FERROX_TEST_SOAK_SEED"
)

// soaked counts what a kill loop came to.
type soaked struct {
	mu                               sync.Mutex
	batches, holds, rulings, landing int
	kills                            map[string]int // by what was killed: engine, shim, or a command
}

// TestKillLoop kills engines, shims and commands at random instants, batch after batch for the time of the soak, one batch
// without. Every batch must end as the undisturbed one does.
func TestKillLoop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("batches that are killed at random")
	}
	first, end := uint64(1), time.Now()
	if v := os.Getenv(soakTime); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatalf("%s: %v", soakTime, err)
		}
		first, end = uint64(time.Now().UnixNano())%1e9, time.Now().Add(d)
	}
	if v := os.Getenv(soakSeed); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", soakSeed, err)
		}
		first = n
	}
	calm := newCrashRun(t, "")
	calm.drive()
	want, sum := calm.result(), &soaked{kills: map[string]int{}}
	for seed := first; seed == first || time.Now().Before(end) && !t.Failed(); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { killAtRandom(t, seed, want, sum) })
	}
	fmt.Fprintf(os.Stderr, "kill loop: seeds from %d, %d batches, kills %v, %d holds, %d rulings, %d landings\n",
		first, sum.batches, sum.kills, sum.holds, sum.rulings, sum.landing)
}

func killAtRandom(t *testing.T, seed uint64, want string, sum *soaked) {
	c := newCrashRun(t, "")
	ctx, stop := context.WithCancel(t.Context())
	var killing sync.WaitGroup
	killing.Go(func() { c.kill(ctx, rand.New(rand.NewPCG(seed, 0)), sum) })
	c.drive()
	stop()
	killing.Wait()
	if got := c.result(); got != want {
		t.Errorf("%s=%d: got\n%s\nwant\n%s", soakSeed, seed, got, want)
	}
	c.store(func(ctx context.Context, rd engine.Reader) error {
		sum.mu.Lock()
		defer sum.mu.Unlock()
		holds, err := rd.Holds(ctx, engine.HoldFilter{Batch: "x"})
		if err != nil {
			return err
		}
		landed, err := rd.Events(ctx, engine.EventFilter{Batch: "x"})
		landed = slices.DeleteFunc(landed, func(e lanes.Event) bool { return e.Name != "landed" })
		sum.batches, sum.holds, sum.rulings, sum.landing = sum.batches+1, sum.holds+len(holds), sum.rulings+len(c.rulings), sum.landing+len(landed)
		return err
	})
}

// maxKills bounds the kills of each kind in one batch: a task whose runs all come to nothing is given up, and that is right.
const maxKills = 5

// kill ends processes of the batch at random instants, until ctx ends.
func (c *crashRun) kill(ctx context.Context, chance *rand.Rand, sum *soaked) {
	mine := map[string]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(5+chance.IntN(500)) * time.Millisecond):
		}
		found := slices.DeleteFunc(c.processes(), func(p batchProcess) bool { return mine[p.role] >= maxKills })
		if len(found) == 0 {
			continue
		}
		p := found[chance.IntN(len(found))]
		if p.handle.Kill() != nil {
			continue // it has ended meanwhile
		}
		mine[p.role]++
		sum.mu.Lock()
		sum.kills[p.role]++
		sum.mu.Unlock()
		c.t.Logf("killed %s %d", p.role, p.handle.Pid)
	}
}

// batchProcess is a live process of one batch.
type batchProcess struct {
	handle *os.Process
	role   string
}

// processes lists the engine, the shims and the commands of the batch that are alive. What the test itself asks of the
// program is not among them.
func (c *crashRun) processes() (found []batchProcess) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Error(err)
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		handle, err := os.FindProcess(pid) // first: it stays that very process, whatever becomes of its number
		if err != nil {
			continue
		}
		exe, _ := os.Readlink(dir + "/exe")
		env, _ := os.ReadFile(dir + "/environ")
		args, _ := os.ReadFile(dir + "/cmdline")
		words := strings.Split(string(args), "\x00")
		if exe != binary || len(words) < 2 || !slices.Contains(strings.Split(string(env), "\x00"), crash.Log+"="+c.log) {
			_ = handle.Release()
			continue
		}
		found = append(found, batchProcess{handle, roleOf(words[1])})
	}
	return found
}

func roleOf(word string) string {
	switch word {
	case "run", "resume":
		return "engine"
	case "shim":
		return "shim"
	}
	return "command"
}
