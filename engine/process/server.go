package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"ferrox/engine/crash"
)

const (
	// requestTime bounds how long a client may take to send its request, and to take the answer.
	requestTime = 10 * time.Second
	// maxClients bounds how many clients are listened to at once.
	maxClients = 256
	// handlerTime bounds how long the end of a run waits for requests that are being carried out.
	handlerTime = 30 * time.Second
)

// server takes requests over the shim's socket: one line in, one line out per connection, each on its own, so that a
// slow or silent client holds up nobody.
type server struct {
	path     string
	desk     *desk
	listener *net.UnixListener
	slots    chan struct{}
	clients  sync.WaitGroup

	reading     context.Context // ends when no further request is taken
	stopReading context.CancelFunc
	handling    context.Context // ends when the last requests are given up
	stopHandler context.CancelFunc
}

func listen(path string, d *desk) (*server, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen for worker requests: %w", err)
	}
	address, release, err := socketAddress(path)
	if err != nil {
		return nil, fmt.Errorf("listen for worker requests: %w", err)
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for worker requests: %w", err)
	}
	l.SetUnlinkOnClose(false) // the address may be a short form that is no longer valid
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for worker requests: %w", err), l.Close())
	}
	s := &server{path: path, desk: d, listener: l, slots: make(chan struct{}, maxClients)}
	s.reading, s.stopReading = context.WithCancel(context.Background())
	s.handling, s.stopHandler = context.WithCancel(context.Background())
	s.clients.Go(s.accept)
	return s, nil
}

func (s *server) accept() {
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely: let others end first.
			select {
			case <-s.reading.Done():
				return
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		select {
		case s.slots <- struct{}{}:
			s.clients.Go(func() { defer func() { <-s.slots }(); s.serve(conn) })
		default:
			conn.Close() // the client then uses the spool
		}
	}
}

func (s *server) serve(conn *net.UnixConn) {
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(requestTime))
	stop := context.AfterFunc(s.reading, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest+2)).ReadBytes('\n')
	if err != nil && (err != io.EOF || len(line) == 0) {
		return
	}
	answer, _ := s.desk.answer(s.handling, line)
	b, err := json.Marshal(answer)
	if err != nil {
		return
	}
	conn.SetWriteDeadline(time.Now().Add(requestTime))
	defer crash.Around("socket answer")()
	conn.Write(append(b, '\n'))
}

// close takes no more requests and waits, bounded, for those that are being carried out.
func (s *server) close() {
	s.listener.Close()
	os.Remove(s.path)
	s.stopReading()
	patience := time.AfterFunc(handlerTime, s.stopHandler)
	s.clients.Wait()
	patience.Stop()
	s.stopHandler()
}
