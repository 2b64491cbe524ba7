package process

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"sync"

	"ferrox/engine"
)

// Handler carries out what a worker asks for. An error means that nothing was committed. The same request id must have
// one effect only: a client that got no answer asks again.
type Handler func(context.Context, engine.WorkerRequest) (engine.WorkerAnswer, error)

// maxRequest bounds one request, in bytes of JSON.
const maxRequest = 8 << 20

// The exit codes of the outside contract that are given here.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 4
)

// desk checks requests and hands them on, those with the same id one after the other.
type desk struct {
	token  string
	handle Handler
	alert  *alert // who is told when something comes; nil where no worker is

	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the request with that id was answered
}

func newDesk(token string, handle Handler) *desk {
	return &desk{token: token, handle: handle, busy: make(map[string]chan struct{})}
}

// answer takes one request as it came in. The error is the handler's; the answer then tells of it.
func (d *desk) answer(ctx context.Context, line []byte) (engine.WorkerAnswer, error) {
	if len(line) > maxRequest {
		return refusal(exitUsage, "too-large", fmt.Sprintf("request is above %d bytes", maxRequest), "shorten the text"), nil
	}
	var req engine.WorkerRequest
	if err := json.Unmarshal(line, &req); err != nil {
		return refusal(exitUsage, "bad-request", "request is not JSON: "+err.Error(), ""), nil
	}
	if d.token == "" || subtle.ConstantTimeCompare([]byte(req.Token), []byte(d.token)) != 1 {
		return refusal(exitRefused, codeNotWorker, "the token is not this run's", nextNotWorker), nil
	}
	if req.ID == "" {
		return refusal(exitUsage, "bad-request", "request has no id", ""), nil
	}
	if req.Signal != "" {
		if err := d.alert.ask(req.Signal); err != nil {
			return refusal(exitUsage, "usage", err.Error(), "ferrox inbox --signal USR1"), nil
		}
	}
	release, err := d.claim(ctx, req.ID)
	if err != nil {
		return failure(err), err
	}
	defer release()
	a, err := d.handle(ctx, req)
	if err != nil && a.Error == "" { // the handler may know better what the fault is called
		return failure(err), err
	}
	return a, err
}

// claim waits until no other request with that id is being carried out.
func (d *desk) claim(ctx context.Context, id string) (release func(), err error) {
	for {
		d.mu.Lock()
		other, taken := d.busy[id]
		if !taken {
			mine := make(chan struct{})
			d.busy[id] = mine
			d.mu.Unlock()
			return func() { d.free(id, mine) }, nil
		}
		d.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (d *desk) free(id string, mine chan struct{}) {
	d.mu.Lock()
	delete(d.busy, id)
	d.mu.Unlock()
	close(mine)
}

func failure(err error) engine.WorkerAnswer {
	return refusal(exitFailed, "failed", err.Error(), "run the same command again")
}

// refusal is an answer that tells of an error, ready to be printed.
func refusal(exit int, code, message, next string) engine.WorkerAnswer {
	type body struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Next    string `json:"next,omitempty"`
	}
	b, err := json.Marshal(map[string]body{"error": {Code: code, Message: message, Next: next}})
	if err != nil {
		b = []byte(`{"error":{"code":"failed"}}`) // three strings always encode
	}
	return engine.WorkerAnswer{Exit: exit, Text: message, Error: string(b)}
}
