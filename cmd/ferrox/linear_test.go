package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"ferrox/engine"
)

// linearWorker says how its shim is reached, and stays.
const linearWorker = `base="$FERROX_WORKTREE/../.."
printf '%s\n' "$FERROX_SOCKET" "$FERROX_TOKEN" >"$base/shim.new" && mv "$base/shim.new" "$base/shim"
n=0; until [ -e "$base/go" ]; do n=$((n+1)); [ $n -lt 3000 ] || exit 6; sleep 0.1; done
`

// linear is a batch on which many processes act at once, and what they asked and were told.
type linear struct {
	*testRepo
	shim []string // the variables by which a worker's process reaches its shim

	mu      sync.Mutex
	began   time.Time
	history []porcupine.Operation
	holds   map[string][]string // by gate: ids that somebody was told
	rulings map[string][]string
}

// TestLinear has real processes ask, rule, extend, acknowledge, send and look, all at once, on one store: workers' commands
// through the shim, people's by themselves, some killed on the way. What they were told, with the instants at which they
// asked and were told, must be what one after the other would have been told.
func TestLinear(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{"with an engine": "released", "without an engine": "queued"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLinear(t)
			if result == "queued" {
				l.kill()
			}
			clients, commands := 5, 8
			if os.Getenv("FERROX_TEST_SOAK") != "" {
				clients, commands = 6, 40
			}
			l.begin()
			var all sync.WaitGroup
			for n := range clients {
				chance := rand.New(rand.NewPCG(uint64(n), 7))
				all.Go(func() {
					for range commands {
						l.something(n, chance)
					}
				})
			}
			all.Wait()
			l.look(clients)
			l.check(result)
		})
	}
}

func newLinear(t *testing.T) *linear {
	t.Helper()
	r := newTestRepo(t, "", map[string]string{"A": linearWorker}, nil)
	t.Cleanup(func() { r.ferrox("abort", "--why", "the test is over") })
	r.ask(0, "batch", "run", "batch", "--detach")
	l := &linear{testRepo: r, began: time.Now(), holds: map[string][]string{}, rulings: map[string][]string{}}
	l.becomes("a worker that can be reached", func() bool {
		body, err := os.ReadFile(l.outside("shim"))
		if lines := strings.Fields(string(body)); err == nil && len(lines) == 2 {
			l.shim = []string{"FERROX_SOCKET=" + lines[0], "FERROX_TOKEN=" + lines[1]}
		}
		return l.shim != nil
	})
	return l
}

func (l *linear) kill() {
	l.t.Helper()
	if err := exec.Command("kill", "-KILL", l.ask(0, "engine.pid", "status")).Run(); err != nil {
		l.t.Fatal(err)
	}
	l.becomes("the engine is dead", func() bool { return l.ask(0, "engine.state", "status") == "dead" })
}

// begin asks under each gate, rules on one hold and extends the other, so that there is always something to meet.
func (l *linear) begin() {
	for _, gate := range []string{"g0", "g1"} {
		l.do(0, asked{verb: "escalate", key: gate}, l.shim, "escalate", "--gate", gate, "-m", "the first")
	}
	ruled, extended := l.holds["g0"][0], l.holds["g1"][0]
	l.do(0, asked{verb: "rule", key: "g0", id: ruled, text: "yes"}, nil, "rule", "--reply-to", ruled, "fix", "-m", "yes")
	l.do(0, asked{verb: "extend", key: "g1", id: extended, by: time.Hour}, nil, "extend", "--reply-to", extended, "--by", "1h", "--why", "more time")
}

// something does one thing by chance. Few gates and few texts make the commands meet.
func (l *linear) something(client int, chance *rand.Rand) {
	gate := fmt.Sprint("g", chance.IntN(2))
	hold, ruling := l.known(l.holds, gate, chance), l.known(l.rulings, gate, chance)
	switch n := chance.IntN(20); {
	case n < 5 || hold == "":
		l.do(client, asked{verb: "escalate", key: gate}, l.shim, "escalate", "--gate", gate, "-m", fmt.Sprint("question ", chance.IntN(100)))
	case n < 9:
		q := asked{verb: "rule", key: gate, id: hold, text: fmt.Sprint("answer ", chance.IntN(2)), hurried: chance.IntN(3) == 0}
		l.do(client, q, nil, "rule", "--reply-to", hold, "fix", "-m", q.text)
	case n < 13:
		q := asked{verb: "extend", key: gate, id: hold, by: time.Duration(1+chance.IntN(9)) * time.Minute}
		l.do(client, q, nil, "extend", "--reply-to", hold, "--by", q.by.String(), "--why", "more time")
	case n < 16 && ruling != "":
		l.do(client, asked{verb: "ack", key: gate, id: ruling}, l.shim, "ack", ruling)
	case n < 18:
		text := fmt.Sprint("mind ", chance.IntN(2))
		l.do(client, asked{verb: "send", key: text}, nil, "send", "--to", "A", "--type", "info", "-m", text)
	default:
		l.look(client)
	}
}

// known picks an id that somebody was told, the newest ones most.
func (l *linear) known(ids map[string][]string, gate string, chance *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := ids[gate]
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1-chance.IntN(min(2, len(all)))]
}

// run runs one command and returns when it began and ended.
func (l *linear) run(q asked, env []string, args ...string) (out []byte, code int, from, to int64) {
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	from = time.Since(l.began).Nanoseconds()
	if q.hurried {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(1+from%60)*time.Millisecond)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = l.dir, append(l.command(binary).Env, env...)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, _ = cmd.Output()
	if len(out) == 0 {
		out = []byte(errOut.String())
	}
	return out, cmd.ProcessState.ExitCode(), from, time.Since(l.began).Nanoseconds()
}

// do runs one command and writes down what it asked and was told.
func (l *linear) do(client int, q asked, env []string, args ...string) {
	if q.verb != "ack" {
		args = append(args, "--json") // an acknowledgement says in text only whether it was the first
	}
	out, code, from, to := l.run(q, env, args...)
	a, err := l.answer(q, out, code)
	if err != nil {
		l.t.Errorf("ferrox %v: exit %d, %v\n%s", args, code, err, out)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, porcupine.Operation{ClientId: client, Input: q, Call: from, Output: a, Return: to})
	switch {
	case a.result == "opened":
		l.holds[q.key] = append(l.holds[q.key], a.id)
	case q.verb == "rule" && a.id != "":
		l.rulings[q.key] = append(l.rulings[q.key], a.id)
	}
}

// answer reads what a command said.
func (l *linear) answer(q asked, out []byte, code int) (a answered, err error) {
	if code == -1 {
		return answered{killed: true}, nil
	}
	var said struct {
		ID, Result, Ruling, Message, Deadline string
		Repeated                              bool
		Error                                 struct{ Code string }
	}
	if q.verb == "ack" && code == 0 {
		return answered{result: strings.TrimSpace(string(out))}, nil
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return a, err
	}
	a.result, a.id = said.Result, said.ID+said.Ruling+said.Message
	if said.Deadline != "" {
		a.deadline = instant(l.t, said.Deadline).UnixMicro()
	}
	switch {
	case code != 0 && code != engine.ExitRefused:
		return a, fmt.Errorf("no refusal: %s", said.Error.Code)
	case code != 0:
		a.result = said.Error.Code
	case q.verb == "escalate" && said.Repeated:
		a.result = "repeated"
	case q.verb == "escalate":
		a.result = "opened"
	case q.verb == "extend":
		a = answered{result: "extended", deadline: a.deadline}
	}
	return a, nil
}

// look reads every hold, which is one look under each gate.
func (l *linear) look(client int) {
	out, code, from, to := l.run(asked{}, nil, "holds", "--all", "--json")
	var views []engine.HoldView
	if err := json.Unmarshal(out, &views); err != nil || code != 0 {
		l.t.Errorf("ferrox holds: exit %d, %v\n%s", code, err, out)
		return
	}
	rows := map[string][]holdRow{"g0": nil, "g1": nil}
	for _, v := range views {
		h := holdRow{id: string(v.ID), state: string(v.State), deadline: instant(l.t, v.Deadline).UnixMicro(), acked: v.Delivery == "acknowledged"}
		if v.Ruling != nil {
			h.ruling, h.text = string(v.Ruling.ID), v.Ruling.Text
		}
		rows[v.Gate] = append(rows[v.Gate], h)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for gate, holds := range rows {
		l.history = append(l.history, porcupine.Operation{
			ClientId: client, Input: asked{verb: "holds", key: gate}, Call: from, Output: answered{holds: holds}, Return: to,
		})
	}
}

// check asks whether there is an order in which everything that was told is right. What was killed has been done, or has not
// and never will be.
func (l *linear) check(result string) {
	counts := map[string]int{}
	for _, op := range l.history {
		a := op.Output.(answered)
		if a.killed {
			a.result = "killed"
		}
		counts[op.Input.(asked).verb+" "+a.result]++
	}
	l.t.Logf("%d commands: %v", len(l.history), counts)
	for _, verb := range []string{"escalate opened", "rule " + result, "extend extended", "holds "} {
		if counts[verb] == 0 {
			l.t.Errorf("no %s in the history", verb)
		}
	}
	verdict, info := porcupine.CheckOperationsVerbose(linearModel(result), l.history, time.Minute)
	if verdict == porcupine.Ok {
		l.checkSpoiled(result)
		return
	}
	page := filepath.Join(os.TempDir(), "ferrox-linear.html")
	l.t.Errorf("the history is %s; it is drawn in %s: %v", verdict, page, porcupine.VisualizePath(linearModel(result), info, page))
	slices.SortFunc(l.history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, op := range l.history {
		l.t.Logf("%d %d..%d %+v: %+v", op.ClientId, op.Call/1e6, op.Return/1e6, op.Input, op.Output)
	}
}

// checkSpoiled changes one answer of the history, which then must not pass.
func (l *linear) checkSpoiled(result string) {
	for i, op := range l.history {
		if a := op.Output.(answered); op.Input.(asked).verb == "rule" && a.result == result {
			spoiled := slices.Clone(l.history)
			again := op
			again.Output = answered{result: result, id: "another"}
			spoiled = append(spoiled[:i+1:i+1], append([]porcupine.Operation{again}, spoiled[i+1:]...)...)
			if porcupine.CheckOperations(linearModel(result), spoiled) {
				l.t.Error("a ruling that is accepted twice would not have been seen")
			}
			return
		}
	}
}
