package lanes_test

import (
	"regexp"
	"testing"

	"ferrox/lanes"
)

// TestStates_Ended: what has ended moves only by a person's word, or because what it depends on was revived or given up.
func TestStates_Ended(t *testing.T) {
	t.Parallel()
	for state, ended := range map[lanes.TaskState]bool{
		lanes.TaskPending: false, lanes.TaskRunning: false, lanes.TaskHeld: false, lanes.TaskStalled: true, lanes.TaskSkipped: true,
		lanes.TaskFailed: true, lanes.TaskSucceeded: true, lanes.TaskBlocked: true, "": false, "unheard of": false,
	} {
		if state.Ended() != ended {
			t.Errorf("task %q ended: %v", state, state.Ended())
		}
		for _, in := range []lanes.Input{lanes.Start, lanes.Hold, lanes.Release, lanes.GoOn, lanes.Land, lanes.Stall} {
			if next, err := state.Fire(in); ended && err == nil {
				t.Errorf("%s moves a task that is %s to %s", in, state, next)
			}
		}
	}
	for phase, ended := range map[lanes.Phase]bool{
		lanes.PhaseRunning: false, lanes.PhasePaused: false, lanes.PhaseCompleted: true, lanes.PhaseFailed: true, lanes.PhaseAborted: true, "": false,
	} {
		if phase.Ended() != ended {
			t.Errorf("batch %q ended: %v", phase, phase.Ended())
		}
	}
}

func TestRefusedError(t *testing.T) {
	t.Parallel()
	_, err := lanes.LaneHeld.Fire(lanes.Free)
	if err == nil || err.Error() != "free a lane that is held: there is no such move" {
		t.Errorf("%v", err)
	}
}

func TestCommit_Short(t *testing.T) {
	t.Parallel()
	for commit, want := range map[lanes.Commit]string{"": "", "abc": "abc", "0123456789ab": "0123456789ab", "0123456789abcdef": "0123456789ab"} {
		if got := commit.Short(); got != want {
			t.Errorf("%s: %s, want %s", commit, got, want)
		}
	}
}

func TestIdentity_Known(t *testing.T) {
	t.Parallel()
	if (lanes.Identity{Start: 5, Boot: "b"}).Known() || !(lanes.Identity{PID: 1}).Known() {
		t.Error("an identity is known by its number")
	}
}

// TestInputs_AreWords: states and inputs are stored, shown and printed as they are.
func TestInputs_AreWords(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for _, m := range machines() {
		for _, row := range m.table {
			if !word.MatchString(string(row.Input)) {
				t.Errorf("%s: input %q", m.name, row.Input)
			}
		}
		for _, s := range m.states() {
			if !word.MatchString(s) {
				t.Errorf("%s: state %q", m.name, s)
			}
		}
	}
}
