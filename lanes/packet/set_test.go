package packet_test

import (
	"fmt"
	"strings"
	"testing"

	"ferrox/lanes"
	"ferrox/lanes/packet"
)

// task returns a packet in its own folder that depends on others.
func task(id string, needs ...string) packet.Packet {
	p := packet.Packet{Dir: "tasks/" + id, ID: lanes.TaskID(id)}
	for i, n := range needs {
		p.DependsOn = append(p.DependsOn, packet.Dependency{ID: lanes.TaskID(n), Written: n, File: p.Dir + "/PROMPT.md", Line: 10 + i})
	}
	return p
}

func done(p packet.Packet) packet.Packet {
	p.Done = true
	return p
}

func in(dir string, p packet.Packet) packet.Packet {
	p.Dir = dir
	return p
}

func TestCheckSet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		packets  []packet.Packet
		finished []lanes.TaskID
		want     []string // code, file:line, and what the message must name
	}{
		{"sound", []packet.Packet{task("A"), task("B", "A"), task("C", "A", "B")}, nil, nil},
		{
			"W66 the same id twice",
			[]packet.Packet{task("A"), in("old/A", task("A"))},
			nil,
			[]string{"duplicate-id old/A/PROMPT.md:0 tasks/A old/A"},
		},
		{
			"W66 letter case only",
			[]packet.Packet{task("TP-1"), task("tp-1")},
			nil,
			[]string{"similar-id tasks/tp-1/PROMPT.md:0 TP-1 tp-1 tasks/TP-1"},
		},
		{
			"W62 Unicode form only",
			[]packet.Packet{task("caf\u00e9-1"), task("cafe\u0301-1")},
			nil,
			[]string{`similar-id tasks/` + "cafe\u0301-1" + `/PROMPT.md:0 caf\u00e9-1 cafe\u0301-1`},
		},
		{
			"W66 unknown id",
			[]packet.Packet{task("A", "B", "X")},
			[]lanes.TaskID{"B"},
			[]string{`dependency-unknown tasks/A/PROMPT.md:11 "X" add`},
		},
		{
			"W66 dependency in another letter case",
			[]packet.Packet{task("TP-1"), task("TP-2", "tp-1")},
			nil,
			[]string{`dependency-unknown tasks/TP-2/PROMPT.md:10 "tp-1" mean "TP-1"?`},
		},
		{
			"W66 finished id in another letter case",
			[]packet.Packet{task("TP-2", "tp-1")},
			[]lanes.TaskID{"TP-1"},
			[]string{`dependency-unknown tasks/TP-2/PROMPT.md:10 mean "TP-1"?`},
		},
		{"W66 self-loop", []packet.Packet{task("A", "A")}, nil, []string{"dependency-self tasks/A/PROMPT.md:10 itself"}},
		{
			"W66 cycle of three",
			[]packet.Packet{task("C", "A"), task("A", "B"), task("B", "D", "C"), task("D")},
			nil,
			[]string{"dependency-cycle tasks/A/PROMPT.md:10 A → B → C → A"},
		},
		{
			"W66 two cycles",
			[]packet.Packet{task("A", "B"), task("B", "A"), task("C", "D"), task("D", "C")},
			nil,
			[]string{"dependency-cycle tasks/A/PROMPT.md:10 A → B → A", "dependency-cycle tasks/C/PROMPT.md:10 C → D → C"},
		},
		{"finished packet in a cycle", []packet.Packet{task("A", "B"), done(task("B", "A"))}, nil, nil},
		{"finished packet waits for nothing", []packet.Packet{done(task("A", "X", "A"))}, nil, nil},
		{"finished packet satisfies", []packet.Packet{task("A", "B"), done(task("B"))}, nil, nil},
		{
			"finished packet and a new one of the same id",
			[]packet.Packet{done(task("A")), in("new/A", task("A"))},
			nil,
			[]string{"duplicate-id new/A/PROMPT.md:0 tasks/A"},
		},
		{"packets without ids", []packet.Packet{in("a", task("")), in("b", task(""))}, nil, nil},
		{"nothing", nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			problems := packet.CheckSet(tc.packets, packet.SetOptions{Finished: tc.finished})
			if len(problems) != len(tc.want) {
				t.Fatalf("problems %v, want %q", problems, tc.want)
			}
			for i, p := range problems {
				checkProblem(t, p, tc.want[i])
			}
		})
	}
}

func checkProblem(t *testing.T, p packet.Problem, want string) {
	t.Helper()
	code, rest, _ := strings.Cut(want, " ")
	at := strings.IndexByte(rest, ':')
	end := at + strings.IndexAny(rest[at:]+" ", " ")
	if string(p.Code) != code || fmt.Sprintf("%s:%d", p.File, p.Line) != rest[:end] || p.Severity != packet.SeverityError {
		t.Errorf("%s %s:%d, want %s", p.Code, p.File, p.Line, want)
	}
	if code == "dependency-cycle" {
		if path := strings.TrimSpace(rest[end:]); !strings.Contains(p.Message, path+" is a cycle") {
			t.Errorf("message %q does not name the path %q", p.Message, path)
		}
		return
	}
	for _, word := range strings.Fields(rest[end:]) {
		if !strings.Contains(p.Message, word) {
			t.Errorf("message %q does not name %q", p.Message, word)
		}
	}
}
