package lanes_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"pgregory.net/rapid"

	"ferrox/lanes"
)

// machine is one of the two machines, as the tests see both.
type machine struct {
	name  string
	table []lanes.Move
	fire  func(state string, in lanes.Input) (string, error)
}

func machines() []machine {
	return []machine{
		{"task", lanes.TaskTable(), func(s string, in lanes.Input) (string, error) {
			next, err := lanes.TaskState(s).Fire(in)
			return string(next), err
		}},
		{"lane", lanes.LaneTable(), func(s string, in lanes.Input) (string, error) {
			next, err := lanes.LaneState(s).Fire(in)
			return string(next), err
		}},
	}
}

// states returns the states of a table in the order in which it names them.
func (m machine) states() []string {
	var all []string
	for _, row := range m.table {
		all = append(all, row.From...)
		all = append(all, row.To)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s string) bool {
		twice := seen[s]
		seen[s] = true
		return twice
	})
}

// plain looks a move up without the library.
func (m machine) plain(state string, in lanes.Input) (string, bool) {
	for _, row := range m.table {
		if row.Input == in && slices.Contains(row.From, state) {
			return row.To, true
		}
	}
	return state, false
}

// matrix prints the next state for every input in every state.
func (m machine) matrix() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What each input makes of a %s, by its state. A dash is a refusal.\n", m.name)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "input\t%s\n", strings.Join(m.states(), "\t"))
	for _, row := range m.table {
		cells := []string{string(row.Input)}
		for _, s := range m.states() {
			next, err := m.fire(s, row.Input)
			if err != nil {
				next = "-"
			}
			cells = append(cells, next)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush()
	return trimmed(b.String())
}

// trimmed takes the blanks off the ends of lines.
func trimmed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestMachines_Matrix(t *testing.T) {
	t.Parallel()
	for _, m := range machines() {
		golden(t, m.name+".txt", m.matrix())
	}
}

// TestMachines_OneRowAnInput: an input that stood in two rows would be two machines in one.
func TestMachines_OneRowAnInput(t *testing.T) {
	t.Parallel()
	for _, m := range machines() {
		seen := map[lanes.Input]bool{}
		for _, row := range m.table {
			if seen[row.Input] {
				t.Errorf("%s: %s stands in two rows", m.name, row.Input)
			}
			seen[row.Input] = true
		}
	}
}

// TestMachines_LibraryAgreesWithTheTable walks both side by side, through states and inputs that exist and that do not.
func TestMachines_LibraryAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	for _, m := range machines() {
		var inputs []lanes.Input
		for _, row := range m.table {
			inputs = append(inputs, row.Input)
		}
		input := rapid.OneOf(rapid.SampledFrom(inputs), rapid.Custom(func(t *rapid.T) lanes.Input { return lanes.Input(rapid.String().Draw(t, "word")) }))
		start := rapid.OneOf(rapid.SampledFrom(m.states()), rapid.String())
		rapid.Check(t, func(t *rapid.T) {
			state := start.Draw(t, "state")
			for _, in := range rapid.SliceOf(input).Draw(t, "inputs") {
				next, err := m.fire(state, in)
				want, allowed := m.plain(state, in)
				if next != want || allowed != (err == nil) {
					t.Fatalf("%s a %s %s: %q, %v; the table says %q, %v", in, state, m.name, next, err, want, allowed)
				}
				state = next
			}
		})
	}
}

// TestW47_SameStateAndRacingInputs: an input that leads back to the state it came from is an answer like any other, inputs
// that race each get the answer they would get alone, and the one that comes too late gets a typed error with its cause.
func TestW47_SameStateAndRacingInputs(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 200 {
		for in, want := range map[lanes.Input]lanes.TaskState{lanes.Hold: lanes.TaskHeld, lanes.GoOn: lanes.TaskRunning, lanes.Release: lanes.TaskPending} {
			wg.Go(func() {
				if got, err := lanes.TaskHeld.Fire(in); got != want || err != nil {
					t.Errorf("%s a held task: %s, %v", in, got, err)
				}
			})
		}
		wg.Go(func() {
			got, err := lanes.TaskSucceeded.Fire(lanes.Fail)
			var refused *lanes.RefusedError
			if !errors.As(err, &refused) || *refused != (lanes.RefusedError{Machine: "task", State: "succeeded", Input: lanes.Fail}) || got != lanes.TaskSucceeded {
				t.Errorf("fail a succeeded task: %s, %v", got, err)
			}
		})
	}
	wg.Wait()
	for _, m := range machines() {
		for _, row := range m.table {
			if slices.Contains(row.From, row.To) {
				if got, err := m.fire(row.To, row.Input); got != row.To || err != nil {
					t.Errorf("%s a %s that is %s: %s, %v", row.Input, m.name, row.To, got, err)
				}
			}
		}
	}
}

func TestTask_Promises(t *testing.T) {
	t.Parallel()
	for _, m := range machines() {
		for _, state := range m.states() {
			for _, row := range m.table {
				next, err := m.fire(state, row.Input)
				switch {
				case err != nil || m.name != "task":
				case next == string(lanes.TaskSucceeded) && (row.Input != lanes.Land || state != string(lanes.TaskRunning)):
					t.Errorf("%s makes a %s task succeeded: only the landing of a running one does", row.Input, state)
				case state == string(lanes.TaskSucceeded):
					t.Errorf("%s moves a succeeded task to %s", row.Input, next)
				case state == string(lanes.TaskHeld) && slices.Contains([]lanes.Input{lanes.Retry, lanes.Skip, lanes.Stall, lanes.Land, lanes.Start}, row.Input):
					t.Errorf("F028 %s moves a held task to %s", row.Input, next)
				}
			}
		}
	}
}
