package engine

import (
	"context"
	"errors"
	"time"

	"ferrox/hold"
	"ferrox/lanes"
)

// snapshot is one consistent view of the batch.
type snapshot struct {
	batch    lanes.Batch
	tasks    []lanes.Task
	lanes    []lanes.Lane
	active   []lanes.Run // runs that are not judged
	requests []lanes.Request
	holds    []HoldFacts
	landed   int
	workLeft bool

	partial bool // tasks, lanes and holds are only those that a step can have to do with
	slots   bool // partial: a held task has a lane that is not parked
}

// HoldFacts is the part of a hold that scheduling looks at.
type HoldFacts struct {
	ID       lanes.HoldID
	Task     lanes.TaskID
	Open     bool
	OpenedAt time.Time
	Deadline time.Time
	Expired  bool
}

// look reads all of the batch.
func (r *runner) look(ctx context.Context) (s snapshot, err error) {
	err = r.Store.View(ctx, func(rd Reader) error {
		s, err = r.lookIn(ctx, rd)
		return err
	})
	return s, err
}

func (r *runner) lookIn(ctx context.Context, rd Reader) (s snapshot, err error) {
	if s, err = r.motion(ctx, rd); err != nil {
		return s, err
	}
	var errs [3]error
	s.tasks, errs[0] = rd.Tasks(ctx, r.id)
	s.lanes, errs[1] = rd.Lanes(ctx, r.id)
	holds, err := rd.Holds(ctx, HoldFilter{Batch: r.id, Unresolved: true})
	errs[2] = err
	s.addHolds(holds...)
	for _, t := range s.tasks {
		s.workLeft = s.workLeft || !t.State.Ended()
		if t.State == lanes.TaskSucceeded {
			s.landed++
		}
	}
	return s, errors.Join(errs[:]...)
}

// motion reads what every look needs, however many tasks there are.
func (r *runner) motion(ctx context.Context, rd Reader) (s snapshot, err error) {
	var errs [3]error
	s.batch, errs[0] = rd.Batch(ctx, r.id)
	s.active, errs[1] = rd.Runs(ctx, RunFilter{Batch: r.id, States: []lanes.RunState{lanes.RunStarting, lanes.RunRunning, lanes.RunExited}})
	s.requests, errs[2] = rd.PendingRequests(ctx)
	return s, errors.Join(errs[:]...)
}

func (s *snapshot) addHolds(holds ...hold.Record) {
	for _, h := range holds {
		s.holds = append(s.holds, HoldFacts{h.ID, h.Task, h.State == hold.Open, h.OpenedAt, h.Deadline, !h.ExpiredAt.IsZero()})
	}
}
