package main

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// colours says whether standard output is a terminal that may be given colours. Nothing is asked of the terminal itself.
func (a *app) colours() bool {
	if a.plain || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" || a.getenv("TERM") == "" {
		return false
	}
	f, ok := a.stdout.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// paint colours a line by what it tells: held yellow, failed red, landed green.
func (a *app) paint(what, line string) string {
	colour := ""
	switch what {
	case "hold-opened", "hold-expired", "held":
		colour = "33"
	case "task-failed", "task-stalled", "task-blocked", "claim-refused", "failed", "stalled", "blocked":
		colour = "31"
	case "landed", "succeeded":
		colour = "32"
	}
	if colour == "" || !a.colours() {
		return line
	}
	return "\x1b[" + colour + "m" + strings.TrimSuffix(line, "\n") + "\x1b[0m"
}
