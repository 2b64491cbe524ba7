package verbs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// limits are the tunables of a lock (verbs.md 2.8).
type limits struct {
	retries int
	pause   time.Duration // between two tries
	stale   time.Duration // age at which a lock may be taken over; half of it is the longest a holder may write
}

func defaultLimits() limits {
	return limits{retries: 100000, pause: 2 * time.Millisecond, stale: 30 * time.Second}
}

// within shortens the wait to what is left of ctx.
func (l *limits) within(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok {
		l.retries = min(l.retries, max(1, int(time.Until(end)/l.pause)))
	}
}

// The codes of a lock that could not be had or was lost.
var (
	errUnavailable = errors.New("E_LOCK_UNAVAILABLE")
	errHoldExpired = errors.New("E_LOCK_HOLD_EXPIRED")
	errFenceLost   = errors.New("E_FENCE_LOST")
)

// stamp is what a lock file says of its holder. Token grows with every takeover; a stamp that can't be read has token 0.
type stamp struct {
	owner
	Nonce string `json:"nonce"`
	Token int    `json:"token"`
}

// lock is a held lock file beside a state file.
//
// The file says who holds the lock, and for how long its word counts. Whoever removes the file, or renames a state file in
// its name, has the kernel's lock on its inode while checking and doing so: between the look and the act nobody else can act.
type lock struct {
	path   string
	file   *os.File // kept open: while it is, no other file can have its inode
	stamp  stamp
	since  time.Time
	limits limits
}

// acquire takes the lock of a state file, waiting for others. It never goes ahead without.
func acquire(target string, l limits) (*lock, error) {
	path := target + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock %s: %w", target, err)
	}

	mine := stamp{owner: self(), Nonce: nonce(), Token: 1}
	for range l.retries {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
		if err == nil {
			return stamped(&lock{path: path, file: file, stamp: mine, since: time.Now(), limits: l})
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("lock %s: %w", target, err)
		}
		if old, taken := reap(path, target, l.stale); taken {
			mine.Token = old.Token + 1
			continue
		}
		time.Sleep(l.pause)
	}
	return nil, fmt.Errorf("lock %s: %w: %s is held by %s; try again when it has ended", target, errUnavailable, path, holder(path))
}

// stamped writes the stamp into a lock file just made.
func stamped(k *lock) (*lock, error) {
	data, err := json.Marshal(k.stamp)
	if err == nil {
		_, err = k.file.Write(append(data, '\n'))
	}
	if err != nil {
		_ = os.Remove(k.path)
		_ = k.file.Close()
		return nil, fmt.Errorf("lock %s: %w", k.path, err)
	}
	return k, nil
}

// guarded runs do while this process provably holds the lock, and nobody can take it over.
func (k *lock) guarded(do func() error) error {
	if err := k.pin(); err != nil {
		return err
	}
	defer unflock(k.file)

	if err := k.fence(); err != nil {
		return fmt.Errorf("write under %s: %w; nothing was written, call again", k.path, err)
	}
	return do()
}

// pin takes the kernel's lock on the lock file. Others have it only for the blink of a check.
func (k *lock) pin() error {
	for range 500 {
		ok, err := tryFlock(k.file)
		if err != nil {
			return fmt.Errorf("pin %s: %w", k.path, err)
		}
		if ok {
			return nil
		}
		time.Sleep(k.limits.pause)
	}
	return fmt.Errorf("pin %s: %w: somebody is taking it over; call again", k.path, errFenceLost)
}

// fence proves that the lock is still held: hold time, existence, inode, nonce and token, in this order.
func (k *lock) fence() error {
	if time.Since(k.since) >= k.limits.stale/2 {
		return errHoldExpired
	}
	if !k.mine() {
		return errFenceLost
	}
	return nil
}

func (k *lock) mine() bool {
	there, err := os.Stat(k.path)
	if err != nil {
		return false
	}
	own, err := k.file.Stat()
	if err != nil || !os.SameFile(there, own) {
		return false
	}
	data, err := os.ReadFile(k.path)
	if err != nil {
		return false
	}
	s := readStamp(data)
	return s.Nonce == k.stamp.Nonce && s.Token == k.stamp.Token
}

// release removes the lock file when it is still this lock's.
func (k *lock) release() {
	if k.pin() == nil {
		if k.mine() {
			_ = os.Remove(k.path)
		}
		unflock(k.file)
	}
	_ = k.file.Close()
}

// reap removes a lock whose holder is dead, or that is older than stale, and returns its stamp. It looks twice: a lock that
// changed in between is somebody's.
func reap(path, target string, stale time.Duration) (old stamp, taken bool) {
	file, err := os.Open(path)
	if err != nil {
		return stamp{}, false
	}
	defer file.Close()
	first, err := file.Stat()
	if err != nil {
		return stamp{}, false
	}
	data, _ := io.ReadAll(io.LimitReader(file, 4096))
	old = readStamp(data)
	if time.Since(first.ModTime()) <= stale && !old.dead() {
		return stamp{}, false
	}

	if ok, err := tryFlock(file); !ok || err != nil {
		return stamp{}, false
	}
	defer unflock(file)
	again, err := os.Stat(path)
	if err != nil || !os.SameFile(first, again) || !again.ModTime().Equal(first.ModTime()) || os.Remove(path) != nil {
		return stamp{}, false
	}
	_ = os.Remove(tempName(target, old.Nonce)) // what the dead holder was writing
	return old, true
}

func readStamp(data []byte) stamp {
	var s stamp
	if json.Unmarshal(data, &s) != nil || strings.Trim(s.Nonce, "0123456789abcdef") != "" {
		return stamp{}
	}
	return s
}

func holder(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", readStamp(data).PID)
}

func nonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the process instead
	return hex.EncodeToString(b[:])
}

// tempName is the file that the holder with a nonce writes before renaming it.
func tempName(target, nonce string) string { return target + "." + nonce + ".tmp" }
