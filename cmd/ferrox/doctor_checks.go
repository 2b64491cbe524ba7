package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ferrox/engine"
)

func platform() engine.Check {
	if runtime.GOOS != "linux" {
		return engine.CheckOf("platform", engine.CheckFail, "run batches on Linux", "%s/%s: workers can be run on Linux only", runtime.GOOS, runtime.GOARCH)
	}
	return engine.CheckOf("platform", engine.CheckOK, "", "%s/%s", runtime.GOOS, runtime.GOARCH)
}

// checkGit asks for a merge without a checkout, which is what a landing needs.
func checkGit(ctx context.Context, info engine.RepoInfo) engine.Check {
	if !newEnough(info.Version) {
		return engine.CheckOf("git", engine.CheckFail, "install git 2.38 or newer", "git %s", info.Version)
	}
	if info.Unborn {
		return engine.CheckOf("git", engine.CheckFail, "git commit --allow-empty -m start", "git %s; the repository has no commit yet", info.Version)
	}
	head := string(info.Head)
	out, err := exec.CommandContext(ctx, "git", "--git-dir="+info.CommonDir, "merge-tree", "--write-tree", head, head).CombinedOutput()
	if err != nil {
		return engine.CheckOf("git", engine.CheckFail, "install git 2.38 or newer", "git %s cannot merge without a checkout: %s", info.Version, strings.TrimSpace(string(out)))
	}
	return engine.CheckOf("git", engine.CheckOK, "", "git %s, merge-tree --write-tree", info.Version)
}

// newEnough reports whether a version is 2.38 or above.
func newEnough(version string) bool {
	f := strings.SplitN(version, ".", 3)
	if len(f) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(f[0])
	minor, err2 := strconv.Atoi(f[1])
	return err1 == nil && err2 == nil && (major > 2 || major == 2 && minor >= 38)
}

// Free space below which a disk is named. A lane is a whole checkout, so little room is soon none.
const (
	lowSpace = 1 << 30
	noSpace  = 64 << 20
)

// checkDisk looks at the disk that dir is or will be on.
func checkDisk(name, dir string) engine.Check {
	at := dir
	for _, err := os.Stat(at); err != nil && at != filepath.Dir(at); _, err = os.Stat(at) {
		at = filepath.Dir(at)
	}
	if err := unix.Access(at, unix.W_OK); err != nil {
		return engine.CheckOf(name, engine.CheckFail, "make it writable", "%s: %v", at, err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		return engine.CheckOf(name, engine.CheckWarn, "df "+at, "%s: %v", at, err)
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	switch {
	case free < noSpace:
		return engine.CheckOf(name, engine.CheckFail, "make room", "%s free for %s", bytesOf(free), dir)
	case free < lowSpace:
		return engine.CheckOf(name, engine.CheckWarn, "make room", "%s free for %s", bytesOf(free), dir)
	}
	return engine.CheckOf(name, engine.CheckOK, "", "%s free for %s", bytesOf(free), dir)
}

func bytesOf(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/unit, 0
	for ; f >= unit && i < 3; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGT"[i])
}

// What an engine wants of inotify: one instance, and a watch for every live lane.
const (
	fewInstances = 4
	fewWatches   = 1024
)

// checkInotify compares the user's limits with what is in use, as far as /proc shows it. Without events the engine looks
// by itself, so little room is no fault.
func checkInotify() []engine.Check {
	instances, watches := kernelNumber("max_user_instances"), kernelNumber("max_user_watches")
	if instances < 0 || watches < 0 {
		return nil
	}
	usedInstances, usedWatches := inotifyInUse()
	found := fmt.Sprintf("%d of %d instances and %d of %d watches in use", usedInstances, instances, usedWatches, watches)
	if instances-usedInstances < fewInstances || watches-usedWatches < fewWatches {
		return []engine.Check{engine.CheckOf("inotify", engine.CheckWarn, "sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=65536",
			"%s: changes in lanes are noticed later", found)}
	}
	return []engine.Check{engine.CheckOf("inotify", engine.CheckOK, "", "%s", found)}
}

func kernelNumber(name string) int {
	data, err := os.ReadFile("/proc/sys/fs/inotify/" + name)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return -1
	}
	return n
}

// inotifyInUse counts instances and watches of the processes that we may look at: our own user's.
func inotifyInUse() (instances, watches int) {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || to != "anon_inode:inotify" {
			continue
		}
		instances++
		data, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(link)), "fdinfo", filepath.Base(link)))
		watches += strings.Count(string(data), "inotify wd:")
	}
	return instances, watches
}
