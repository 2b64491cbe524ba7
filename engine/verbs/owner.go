package verbs

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// owner tells a process from every other, also from a later one with the same number. Empty fields are not known.
type owner struct {
	PID   int    `json:"pid"`
	Start string `json:"start,omitempty"` // ticks since boot, as the kernel counts them
	Boot  string `json:"boot,omitempty"`
	PIDNS string `json:"pidns,omitempty"` // numbers mean something only inside one namespace
}

// self is this process.
func self() owner {
	o := owner{PID: os.Getpid()}
	o.Start, _ = startOf(o.PID)
	o.Boot, o.PIDNS = here()
	return o
}

// dead says that the process is known to have ended. Whatever can't be known is not dead.
func (o owner) dead() bool {
	boot, pidns := here()
	if o.PID <= 0 || o.Start == "" || o.Boot != boot || o.PIDNS != pidns || boot == "" || pidns == "" {
		return false
	}
	start, known := startOf(o.PID)
	return known && start != o.Start
}

func here() (boot, pidns string) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	pidns, err = os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", ""
	}
	return string(bytes.TrimSpace(id)), pidns
}

// startOf returns when a process began; known with an empty start is a process that is gone.
func startOf(pid int) (start string, known bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if os.IsNotExist(err) {
		_, err := os.Stat("/proc/self/stat")
		return "", err == nil
	}
	if err != nil {
		return "", false
	}

	// The name in the second field may hold blanks and brackets; what follows the last bracket is plain.
	_, rest, found := cutLast(string(stat), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return "", false
	}
	if fields[0] == "Z" {
		return "", true // ended, not yet reaped
	}
	return fields[19], true
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
