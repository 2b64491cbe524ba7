//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// output is what is kept of the worker's output now.
func (b *bench) output() string { return readAll(b, b.spec.Dir) }

func readAll(t testing.TB, dir string) string {
	t.Helper()
	r, err := OpenOutput(dir)
	ok(t, err)
	defer r.Close()
	s, err := io.ReadAll(r)
	ok(t, err)
	return string(s)
}

// kept makes a capture in a run's folder.
func kept(t testing.TB, limit int64) (*capture, string) {
	t.Helper()
	dir := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(dir, outputDir), 0o700))
	return newCapture(filepath.Join(dir, outputDir), limit), dir
}

func onDisk(t testing.TB, dir string) (n int64) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, outputDir))
	ok(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != indexFile {
			n += info.Size()
		}
	}
	return n
}

func TestOutputWithinTheLimitIsWhole(t *testing.T) {
	t.Parallel()
	c, dir := kept(t, 4<<20)
	want := make([]byte, 1500<<10) // binary, one long line mostly
	for i := range want {
		want[i] = byte(rand.Uint32())
	}
	for rest := want; len(rest) > 0; {
		n := min(len(rest), 1+rand.IntN(70_000))
		c.Write(rest[:n])
		rest = rest[n:]
	}
	ok(t, c.finish("r"))
	if got := readAll(t, dir); got != string(want) {
		t.Errorf("%d bytes differ from %d", len(got), len(want))
	}
}

// F168 F169: output is bounded on disk and in memory, whatever a worker prints.
func TestOutputAboveTheLimit(t *testing.T) {
	t.Parallel()
	const limit, lines = 64 << 10, 200_000
	c, dir := kept(t, limit)
	for i := range lines {
		fmt.Fprintf(c, "line %d\n", i)
		if i%10_000 == 0 {
			if n := onDisk(t, dir); n > limit {
				t.Fatalf("%d bytes on disk", n)
			}
		}
	}
	ok(t, c.finish("r"))
	got := readAll(t, dir)
	head, tail, found := strings.Cut(got, "\n[ferrox: ")
	if !found || !strings.HasPrefix(head, "line 0\nline 1\n") || len(head) != limit/4 {
		t.Errorf("head has %d bytes: %.40q…", len(head), head)
	}
	if !strings.HasSuffix(tail, fmt.Sprintf("line %d\n", lines-1)) || len(tail) < limit/4 {
		t.Errorf("tail has %d bytes: …%q", len(tail), tail[max(0, len(tail)-40):])
	}
	var n int64
	if _, err := fmt.Sscanf(tail, "%d bytes left out]\n", &n); err != nil {
		t.Fatal(err)
	}
	var index OutputIndex
	ok(t, readJSON(filepath.Join(dir, outputDir, indexFile), &index))
	if index.LeftOut != n || index.Kept != onDisk(t, dir) || index.Bytes != index.Kept+n || index.Run != "r" {
		t.Errorf("index = %+v, marker says %d, disk %d", index, n, onDisk(t, dir))
	}
}

func TestOutputTailIsText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut in a letter": strings.Repeat("日", 3000),
		"binary":          strings.Repeat("\xff\x00\xfe日", 3000),
		"short":           "\x80ok",
	} {
		c, _ := kept(t, 1<<20)
		for b := range bytes.SplitSeq([]byte(text), []byte("\xfe")) {
			c.Write(b)
		}
		ok(t, c.close())
		if got := c.text(); !utf8.ValidString(got) || got == "" || (name == "cut in a letter" && strings.Contains(got, "\uFFFD")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// F176: output that cannot be written ends nobody.
func TestOutputOnAFullDisk(t *testing.T) {
	t.Parallel()
	c, dir := kept(t, 1<<20)
	full := filepath.Join(dir, outputDir)
	if err := unix.Mount("tmpfs", full, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	defer unix.Unmount(full, unix.MNT_DETACH)
	clock := time.Now()
	c.now = func() time.Time { return clock }
	blob := bytes.Repeat([]byte("x"), 1000)
	for range 200 { // 200 KB, most of it dropped
		if n, err := c.Write(blob); n != len(blob) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	ok(t, unix.Mount("tmpfs", full, "tmpfs", unix.MS_REMOUNT, "size=1m"))
	io.WriteString(c, "too early\n")
	clock = clock.Add(2 * retryAfter)
	io.WriteString(c, "there is room again\n")
	ok(t, c.finish("r"))
	got := readAll(t, dir)
	if !strings.HasPrefix(got, "xxx") || !strings.HasSuffix(got, " bytes left out]\nthere is room again\n") {
		t.Errorf("output has %d bytes: …%q", len(got), got[max(0, len(got)-80):])
	}
	var index OutputIndex
	ok(t, readJSON(filepath.Join(full, indexFile), &index))
	if index.Bytes != 200_000+10+20 || index.LeftOut < 100_000 {
		t.Errorf("index = %+v", index)
	}
}

func TestOutputLostAtTheVeryEnd(t *testing.T) {
	t.Parallel()
	c, dir := kept(t, 1<<20)
	io.WriteString(c, "kept\n")
	c.close()
	c.broken = time.Now().Add(time.Hour)
	io.WriteString(c, "lost\n")
	ok(t, c.finish("r"))
	if got := readAll(t, dir); got != "kept\n\n[ferrox: 5 bytes left out]\n" {
		t.Errorf("output = %q", got)
	}
}

func TestWorkerPrintsLongLinesAndBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t, `head -c 3000000 /dev/zero; printf '\377\376end'`)
	exit := b.finish()
	want := strings.Repeat("\x00", 3000000) + "\xff\xfeend"
	if got := b.output(); got != want {
		t.Errorf("%d bytes differ from %d", len(got), len(want))
	}
	if !strings.HasSuffix(exit.Tail, "\uFFFDend") {
		t.Errorf("tail = …%q", exit.Tail[max(0, len(exit.Tail)-10):])
	}
}

func TestFollowEndsWithTheRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo one; until test -e go; do sleep 0.01; done; echo two`)
	id := b.start()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := ReadOutput(context.Background(), b.spec.Dir, w, true)
		w.Close()
		done <- err
	}()
	first := make([]byte, 4)
	_, err := io.ReadFull(r, first)
	ok(t, err)
	ok(t, os.WriteFile(b.tree("go"), nil, 0o600))
	rest, err := io.ReadAll(r)
	ok(t, err)
	ok(t, <-done)
	if got := string(first) + string(rest); got != "one\ntwo\n" {
		t.Errorf("followed %q", got)
	}
	b.wait(id)
}

func TestFollowEndsWhenTheShimWasKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo one; exec sleep 1000`)
	id := b.start()
	b.eventually("output", func() bool { return b.output() == "one\n" })
	signalIdentity(t, id, unix.SIGKILL)
	var got bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ok(t, ReadOutput(ctx, b.spec.Dir, &got, true))
	if got.String() != "one\n" {
		t.Errorf("followed %q", got.String())
	}
	cancel()
	if err := ReadOutput(ctx, t.TempDir(), io.Discard, true); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that never began: %v", err)
	}
}

// A reader that is slower than the worker loses the middle, in order, and is told so.
func TestSlowFollowerIsToldWhatItMissed(t *testing.T) {
	t.Parallel()
	c, dir := kept(t, 8<<10)
	r, err := OpenOutput(dir)
	ok(t, err)
	defer r.Close()
	io.WriteString(c, strings.Repeat("a", 100))
	buf := make([]byte, 100)
	_, err = io.ReadFull(r, buf)
	ok(t, err)
	io.WriteString(c, strings.Repeat("b", 50<<10))
	io.WriteString(c, "end")
	rest, err := io.ReadAll(r)
	ok(t, err)
	s := string(rest)
	if !strings.HasPrefix(s, strings.Repeat("b", 2<<10-100)+"\n[ferrox: ") || !strings.HasSuffix(s, "bbbend") || strings.Count(s, "ferrox") != 1 {
		t.Errorf("read %d bytes: %.60q…", len(s), s[1900:])
	}
}
