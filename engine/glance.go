package engine

import (
	"context"
	"errors"
	"slices"

	"ferrox/lanes"
)

// glance is look for the loop's steps. While no task waits for a slot or for another task, what rests cannot move by itself:
// then only the tasks in motion are read, and of the holds those that are due first, however many there are. Where rulings
// are signed, every hold has to be proven each time, and all is read.
func (r *runner) glance(ctx context.Context) (s snapshot, err error) {
	err = r.Store.View(ctx, func(rd Reader) error {
		counts, err := rd.CountTasks(ctx, r.id)
		if err != nil {
			return err
		}
		if s, err = r.motion(ctx, rd); err != nil {
			return err
		}
		alone := false
		if !r.set.Authority.RequireSigned && counts[lanes.TaskBlocked] == 0 && counts[lanes.TaskPending] <= fewReleased {
			if alone, err = r.addReleased(ctx, rd, &s); err != nil {
				return err
			}
		}
		if !alone {
			s, err = r.lookIn(ctx, rd)
			return err
		}
		s.partial, s.landed = true, counts[lanes.TaskSucceeded]
		for state, n := range counts {
			s.workLeft = s.workLeft || n > 0 && !state.Ended()
		}
		return errors.Join(r.addMoving(ctx, rd, &s), r.addResting(ctx, rd, &s))
	})
	return s, err
}

// fewReleased is how many tasks may go on by themselves without a look at all of the batch.
const fewReleased = 64

// addReleased adds the pending tasks, which were let go by a ruling, with their lanes and what they depend on. It reports
// false when one of them needs more than its own lane to go on.
func (r *runner) addReleased(ctx context.Context, rd Reader, s *snapshot) (bool, error) {
	pending, err := rd.TasksIn(ctx, r.id, lanes.TaskPending)
	if err != nil {
		return false, err
	}
	for _, t := range pending {
		if t.Lane == 0 {
			return false, nil
		}
		l, err := rd.Lane(ctx, r.id, t.Lane)
		if err != nil || l.Task != t.ID || l.State == lanes.LaneStalled {
			return false, err
		}
		s.tasks, s.lanes = append(s.tasks, t), append(s.lanes, l)
		for _, need := range t.DependsOn {
			dep, err := rd.Task(ctx, r.id, need)
			if errors.Is(err, ErrNotFound) || err == nil && dep.State != lanes.TaskSucceeded {
				return false, nil // the whole graph says what that means
			}
			if err != nil {
				return false, err
			}
			s.addTask(dep)
		}
	}
	return true, nil
}

// addTask adds a task, once.
func (s *snapshot) addTask(t lanes.Task) {
	if !slices.ContainsFunc(s.tasks, func(have lanes.Task) bool { return have.ID == t.ID }) {
		s.tasks = append(s.tasks, t)
	}
}

// addMoving adds the tasks that run, or that have a run to look after, with their lanes, and the holds of all that was added.
func (r *runner) addMoving(ctx context.Context, rd Reader, s *snapshot) (err error) {
	running, err := rd.TasksIn(ctx, r.id, lanes.TaskRunning)
	if err != nil {
		return err
	}
	for _, run := range s.active {
		t, err := rd.Task(ctx, r.id, run.Task)
		if err != nil {
			return err
		}
		running = append(running, t)
	}
	for _, t := range running {
		s.addTask(t)
		if t.Lane == 0 {
			continue
		}
		l, err := rd.Lane(ctx, r.id, t.Lane)
		if err != nil {
			return err
		}
		s.lanes = append(s.lanes, l)
	}
	for _, t := range s.tasks {
		holds, err := rd.Holds(ctx, HoldFilter{Batch: r.id, Task: t.ID, Unresolved: true})
		if err != nil {
			return err
		}
		s.addHolds(holds...)
	}
	return nil
}

// dueAtOnce is how many holds one step expires at most.
const dueAtOnce = 64

// addResting adds what time alone can bring to held tasks: the next deadlines, and the first breach of the SLA.
func (r *runner) addResting(ctx context.Context, rd Reader, s *snapshot) (err error) {
	if s.slots, err = rd.HoldsSlot(ctx, r.id); err != nil {
		return err
	}
	due, err := rd.NextDeadlines(ctx, r.id, dueAtOnce)
	if err != nil {
		return err
	}
	s.addHolds(due...)
	oldest, err := rd.OldestQuiet(ctx, r.id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := rd.Lane(ctx, r.id, oldest.Lane)
	s.addHolds(oldest)
	s.lanes = append(s.lanes, l)
	return err
}
