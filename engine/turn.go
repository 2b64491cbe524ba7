package engine

import "context"

// turn lets drives do something one after the other. One that waits behind another's half hour of verification leaves when
// the engine does.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn, or for the engine to leave. What it returns gives the turn back.
func (t turn) take(ctx context.Context) (give func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
