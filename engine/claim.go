package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ferrox/engine/crash"
	"ferrox/lanes/packet"
)

// spoolRoot is the folder in a lane that belongs to ferrox: never counted, never landed.
const spoolRoot = ".ferrox"

func (u unit) taskDir() string {
	return filepath.Join(u.lane.Worktree, filepath.FromSlash(u.task.Path))
}

func (u unit) claimFile() string { return filepath.Join(u.taskDir(), packet.DoneName) }

func (u unit) spool() string { return filepath.Join(u.lane.Worktree, spoolRoot, "spool") }

// claimIdentity tells one .DONE from another, so that one which was there before a run began is no claim of that run. Only
// a regular file of that very name counts; "" means that there is none.
func claimIdentity(file string) (string, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", file, err)
	}
	if !info.Mode().IsRegular() {
		return "", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the claim: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read the claim: %w", err)
	}
	ino := uint64(0)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		ino = st.Ino
	}
	return fmt.Sprintf("%d-%d-%d-%x", ino, info.ModTime().UnixNano(), info.Size(), sum.Sum(nil)[:8]), nil
}

// setAside moves a refused claim out of the lane with its bytes kept, durably on both sides: one that came back would be a
// claim again. A claim that is gone already was moved before.
func setAside(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("set the claim aside: %w", err)
	}
	defer crash.Around("set aside")()
	err := flush(from)
	if err == nil {
		err = os.Rename(from, to)
	}
	if errors.Is(err, syscall.EXDEV) {
		err = moveAcross(from, to)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("set the claim aside: %w", err)
	}
	batch := filepath.Dir(to) // it and the folder above may be new: their names are in those above
	return flush(batch, filepath.Dir(batch), filepath.Dir(filepath.Dir(batch)), filepath.Dir(from))
}

// flush waits until files or folders are on disk.
func flush(paths ...string) error {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// moveAcross moves a file to another file system: the copy is durable before the original goes.
func moveAcross(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	crash.Point("set aside copied")
	return os.Remove(from)
}

// copyInto copies one file or folder of the main checkout into a fresh worktree. Paths that lead out of it are refused.
func copyInto(root, worktree, name string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%s leads out of the repository", name)
	}
	src := filepath.Join(root, name)
	info, err := os.Lstat(src)
	if errors.Is(err, os.ErrNotExist) {
		return nil // an ignored file that this checkout does not have
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return copyDir(src, filepath.Join(worktree, name))
	}
	return copyFile(src, filepath.Join(worktree, name), info.Mode())
}

// copyDir copies what is not there yet, each file whole: a crash may have cut an earlier copy short.
func copyDir(src, dst string) error {
	return filepath.WalkDir(src, func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dst, strings.TrimPrefix(from, src))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		info, err := d.Info()
		if _, there := os.Lstat(to); err != nil || there == nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(from)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder nor a link", from)
		}
		return copyFile(from, to, info.Mode())
	})
}

// copyFile puts a whole copy under the name, in one step.
func copyFile(src, dst string, mode os.FileMode) error {
	data, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	part := dst + ".ferrox-copy" // one name, so that a repeated set-up leaves none behind
	if err := os.WriteFile(part, data, mode.Perm()); err != nil {
		return err
	}
	return os.Rename(part, dst)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return firstLine(s[strings.LastIndexByte(s, '\n')+1:])
}
