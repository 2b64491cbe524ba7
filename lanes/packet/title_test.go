package packet_test

import (
	"strings"
	"testing"

	"ferrox/lanes"
	"ferrox/lanes/packet"
)

func TestTitle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, folder, heading, id, title string }{
		{"F184 hyphen", dir, "# Task: AB-012 - Add retry budget", "AB-012", "Add retry budget"},
		{"F184 em dash", dir, "# Task: AB-012 — Add retry budget", "AB-012", "Add retry budget"},
		{"F184 en dash", dir, "# Task: AB-012 – Add retry budget", "AB-012", "Add retry budget"},
		{"F184 colon", dir, "# Task: AB-012: Add retry budget", "AB-012", "Add retry budget"},
		{"F184 no label", dir, "# AB-012: Add retry budget", "AB-012", "Add retry budget"},
		{"colon in the title", dir, "# Task: AB-012 - UX: Add — now", "AB-012", "UX: Add — now"},
		{"hyphens inside", dir, "# Task: AB-012 - Re-read on-start", "AB-012", "Re-read on-start"},
		{"closing signs", dir, "# Task: AB-012 - Learn C# ##", "AB-012", "Learn C#"},
		{"id only", dir, "# Task: AB-012", "AB-012", "AB-012-retry-budget"},
		{"id of one letter", "tasks/T1", "# Task: T1 - One", "T1", "One"},
		{"id in lower case", "tasks/x", "# Task: fetch-budget - One", "fetch-budget", "One"},
		{"blank in the id", "tasks/T 1", "# Task: T 1 - One", "T 1", "One"},
		{"blank in the id, slug in the folder", "tasks/T 1-one", "# T 1: One", "T 1", "One"},
		{"letters of another language", "tasks/Größe-7", "# Task: Größe-7 - Maße prüfen", "Größe-7", "Maße prüfen"},
		{"prose with a hyphen", dir, "# Task: Improve the fetcher - part two", "AB-012", "Improve the fetcher - part two"},
		{"prose without label", dir, "# Overview: how it works", "AB-012", "Overview: how it works"},
		{"folder only", dir, "", "AB-012", "AB-012-retry-budget"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := parseIn(tc.folder, with(t, "# Task: AB-012 - Add retry budget", tc.heading))
			if p.ID != lanes.TaskID(tc.id) || p.Title != tc.title {
				t.Errorf("id %q, title %q; want %q, %q", p.ID, p.Title, tc.id, tc.title)
			}
			if packet.Failed(problems) {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func TestTitle_Problems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, folder, heading string
		want                  found
	}{
		{"no id anywhere", "tasks/budget", "# Add a budget", found{packet.CodeIDMissing, packet.SeverityError, 1}},
		{"no heading and no id", "tasks/budget", "", found{packet.CodeIDMissing, packet.SeverityError, 0}},
		{"other id than the folder", dir, "# Task: AB-013 - X", found{packet.CodeIDMismatch, packet.SeverityWarning, 1}},
		{"no heading", dir, "", found{packet.CodeTitleMissing, packet.SeverityWarning, 0}},
		{"W62 path", dir, "# Task: a/../../b - X", found{packet.CodeIDInvalid, packet.SeverityError, 1}},
		{"W62 option", "tasks/-D", "# Task: -D - X", found{packet.CodeIDInvalid, packet.SeverityError, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, problems := parseIn(tc.folder, with(t, "# Task: AB-012 - Add retry budget", tc.heading))
			if !contains(problems, tc.want) {
				t.Errorf("problems %v, want %v", problems, tc.want)
			}
		})
	}
}

func contains(problems []packet.Problem, want found) bool {
	for _, f := range summary(problems) {
		if f == want {
			return true
		}
	}
	return false
}

func TestW62_BadIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", ".", "..", "a/../b", "a/../../b", "a/b", `a\b`, "-D", "--upload-pack=x", "T.lock", "T.LOCK", "T@{1}", "@",
		"CON", "con", "nul.txt", "COM1", "lpt9", ".hidden", "a..b", "T.", " T", "T ", "T\n1", "T\x001", "T\x1b[31m", "T\x7f",
		"T\u200b1", "T\u202e1", "T\u20281", "T\u00a01", "T~1", "T^", "T:1", "T?", "T*", "T[1", "T<1", "T|1", "T\xff",
		strings.Repeat("x", 101), strings.Repeat("x", 300), strings.Repeat("ä", 51),
	} {
		if err := packet.CheckID(lanes.TaskID(id)); err == nil {
			t.Errorf("%q is accepted", id)
		} else if !strings.HasPrefix(err.Error(), "checking the task id") || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q: message %q", id, err)
		}
	}
}

func TestW62_AwkwardIDsWork(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"TP-104", "T1", "T 1", "aufgabe-7", "Größe-7", "задача-1", "課題-1", "CONTEXT-1", "COM10", "lock", "a.b", "x@y", "a{b}",
		"cafe\u0301-1", strings.Repeat("x", 100), "None",
	} {
		if err := packet.CheckID(lanes.TaskID(id)); err != nil {
			t.Errorf("%q is refused: %v", id, err)
		}
	}
}
