package packet_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ferrox/lanes/packet"
)

// FuzzParse looks for files that break the reader's promises: no panic, problems that point into the file, ids that are
// legal or reported, and no verdict without its word.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{
		"synthetic/SYN-001/SYN-001-two-repo-segments", "synthetic/SYN-003/SYN-003-verdict-styles",
		"synthetic/SYN-004/SYN-004-fences-and-notes", "TP-114/TP-114-single-task-test",
		"derived/TP-062-crlf/TP-062-status-step-display-fix", "TP-177/TP-177-polyrepo-segment-integration-test",
		"history/TP-196@code-revise-open/TP-196-multi-segment-engine-hardening",
	} {
		files := readFiles(f, dir)
		for _, name := range append([]string{""}, sorted(files.Reviews)...) {
			f.Add(files.Prompt, files.Status, files.Reviews[name])
		}
	}
	f.Add([]byte("---\ndependencies: [A, -D]\n---\n# Task: T 1 - x\n## Dependencies\n- T 2, T 3 (`"), []byte("### Step 1:\n- [~]"), []byte("**Verdict"))
	f.Add([]byte("## File Scope\n- ``a` `b\n- (`\n- `a`, `"), []byte("```\n~~~"), []byte("## Verdict\n[APPROVE|"))

	f.Fuzz(func(t *testing.T, prompt, status, review []byte) {
		p, problems := packet.Parse(packet.Files{
			Dir: "tasks/T 1", Prompt: prompt, HasPrompt: true, Status: status, HasStatus: true,
			Reviews: map[string][]byte{"R001-code-step1.md": review},
		})
		checkProblems(t, problems, prompt, status)
		checkIDs(t, p, problems)
		for _, g := range p.Gates {
			if g.Verdict != packet.VerdictUnknown && !strings.Contains(strings.ToUpper(string(review)), g.Verdict) {
				t.Errorf("verdict %s out of %q", g.Verdict, review)
			}
		}

		progress := packet.ProgressOf(p, status)
		if progress.StepsDone+len(progress.Open) != progress.StepsTotal {
			t.Errorf("%d done and %d open of %d", progress.StepsDone, len(progress.Open), progress.StepsTotal)
		}
		again, _ := packet.ReadStatus("STATUS.md", packet.NewStatus(p))
		if utf8.Valid(prompt) && len(again.Steps) != len(p.Steps) {
			t.Errorf("%d steps of a generated STATUS.md, want %d", len(again.Steps), len(p.Steps))
		}
		packet.CheckSet([]packet.Packet{p}, packet.SetOptions{})
	})
}

func checkProblems(t *testing.T, problems []packet.Problem, bodies ...[]byte) {
	lines := 1
	for _, b := range bodies {
		lines = max(lines, strings.Count(string(b), "\n")+1)
	}
	for _, p := range problems {
		if p.Line < 0 || p.Line > lines || p.Message == "" || p.File == "" || !utf8.ValidString(p.Message) {
			t.Errorf("problem %+v in files of at most %d lines", p, lines)
		}
		if strings.ContainsAny(p.Message, "\n\x00\x1b") {
			t.Errorf("message with control characters: %q", p.Message)
		}
	}
}

func checkIDs(t *testing.T, p packet.Packet, problems []packet.Problem) {
	if packet.CheckID(p.ID) != nil && !packet.Failed(problems) {
		t.Errorf("id %q is neither legal nor reported", p.ID)
	}
	for _, d := range p.DependsOn {
		if err := packet.CheckID(d.ID); err != nil {
			t.Errorf("dependency %q: %v", d.ID, err)
		}
	}
	if len(p.Steps) == 0 && !packet.Failed(problems) {
		t.Error("a packet without steps is not refused")
	}
}

func sorted(reviews map[string][]byte) []string {
	var names []string
	for name := range reviews {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
