package process

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// ErrNotWorker: the caller does not run under a shim. Its text begins with the code of the outside contract.
var ErrNotWorker = errors.New(codeNotWorker + ": no worker's socket and token in the environment; " + nextNotWorker)

const (
	codeNotWorker = "not-a-worker"
	nextNotWorker = "run this command inside a task's worker"
)

const (
	// callTime bounds a call whose context has no deadline.
	callTime = time.Minute
	// spoolEvery is how often a client looks for its answer in the spool folder.
	spoolEvery = 50 * time.Millisecond
)

// Call asks the shim that the environment names (FERROX_SOCKET, FERROX_TOKEN). Where the socket can't be used, the
// request goes through the spool folder of FERROX_WORKTREE. ErrNotWorker without socket or token. A request without an
// id gets one. When no answer comes before ctx ends, a spooled request stays and is taken at the end of the run.
func Call(ctx context.Context, env func(string) string, req engine.WorkerRequest) (engine.WorkerAnswer, error) {
	socket, token := env("FERROX_SOCKET"), env("FERROX_TOKEN")
	if socket == "" || token == "" {
		return engine.WorkerAnswer{}, ErrNotWorker
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTime)
		defer cancel()
	}
	req.Token = token
	if req.ID == "" {
		req.ID = rand.Text()
	}
	line, err := json.Marshal(req)
	if err != nil {
		return engine.WorkerAnswer{}, fmt.Errorf("ask the shim: %w", err)
	}
	if len(line) > maxRequest {
		return refusal(exitUsage, "too-large", fmt.Sprintf("request has %d bytes, the limit is %d", len(line), maxRequest), "shorten the text"), nil
	}
	answer, err := callSocket(ctx, socket, line)
	if err == nil {
		return answer, nil
	}
	worktree := env("FERROX_WORKTREE")
	if worktree == "" || ctx.Err() != nil {
		return engine.WorkerAnswer{}, fmt.Errorf("ask the shim: %w", err)
	}
	answer, spoolErr := callSpool(ctx, worktree, line)
	if spoolErr != nil {
		return engine.WorkerAnswer{}, fmt.Errorf("ask the shim: %w", errors.Join(err, spoolErr))
	}
	return answer, nil
}

func callSocket(ctx context.Context, path string, line []byte) (engine.WorkerAnswer, error) {
	address, release, err := socketAddress(path)
	if err != nil {
		return engine.WorkerAnswer{}, err
	}
	defer release()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", address)
	if err != nil {
		return engine.WorkerAnswer{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// A shim that refuses early answers without reading on: the answer counts, not the failed write.
	_, writeErr := conn.Write(append(line, '\n'))
	b, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return engine.WorkerAnswer{}, errors.Join(writeErr, err)
	}
	return parseAnswer(b)
}

func callSpool(ctx context.Context, worktree string, line []byte) (engine.WorkerAnswer, error) {
	spool := filepath.Join(worktree, ".ferrox", "spool")
	if err := makeSpool(spool); err != nil {
		return engine.WorkerAnswer{}, fmt.Errorf("spool request: %w", err)
	}
	stem := filepath.Join(spool, fmt.Sprintf("%020d-%s", time.Now().UnixNano(), rand.Text()))
	if err := replaceFile(stem+requestSuffix, line, true); err != nil {
		return engine.WorkerAnswer{}, fmt.Errorf("spool request: %w", err)
	}
	tick := time.NewTicker(spoolEvery)
	defer tick.Stop()
	for {
		if b, err := os.ReadFile(stem + answerSuffix); err == nil {
			after := crash.Around("take res.json")
			os.Remove(stem + answerSuffix)
			after()
			return parseAnswer(b)
		}
		select {
		case <-ctx.Done():
			return engine.WorkerAnswer{}, fmt.Errorf("no answer in time, the request stays in %s: %w", stem+requestSuffix, ctx.Err())
		case <-tick.C:
		}
	}
}

// makeSpool makes the folder such that `git add -A` never takes it: requests carry the token.
func makeSpool(spool string) error {
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return err
	}
	ignore := filepath.Join(filepath.Dir(spool), ".gitignore")
	f, err := os.OpenFile(ignore, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, "*\n")
	return errors.Join(err, f.Close())
}

func parseAnswer(b []byte) (engine.WorkerAnswer, error) {
	var a engine.WorkerAnswer
	if err := json.Unmarshal(b, &a); err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	return a, nil
}
