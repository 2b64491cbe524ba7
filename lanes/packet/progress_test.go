package packet_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ferrox/lanes/packet"
)

// progress writes a progress as "done/total boxes; open: number unticked, …".
func progress(p packet.Progress) string {
	text := fmt.Sprintf("%d/%d, %d boxes", p.StepsDone, p.StepsTotal, p.Boxes)
	for _, o := range p.Open {
		text += fmt.Sprintf("; %d %s %d", o.Number, o.Name, o.Unticked)
	}
	if p.NoSteps {
		text += "; no steps"
	}
	return text
}

func TestProgress(t *testing.T) {
	t.Parallel()
	p, _ := parse(prompt)
	for _, tc := range []struct{ name, status, want string }{
		{"all ticked", "### Step 0: Preflight\n- [x] a\n### Step 1: Implement\n- [x] b\n", "2/2, 2 boxes"},
		{"ticked and still in progress", "### Step 0: P\n**Status:** 🟨 In Progress\n- [x] a\n### Step 1: I\n- [x] b\n", "2/2, 2 boxes"},
		{"complete with an open box", "### Step 0: P\n**Status:** ✅ Complete\n- [ ] a\n### Step 1: I\n- [x] b\n", "1/2, 1 boxes; 0 Preflight 1"},
		{"complete without boxes", "### Step 0: P\n**Status:** ✅ Complete\n### Step 1: I\n- [x] b\n", "2/2, 1 boxes"},
		{"F186 not complete, without boxes", "### Step 0: P\n**Status:** Not complete\n### Step 1: I\n- [x] b\n", "1/2, 1 boxes; 0 Preflight 0"},
		{"no boxes, no status", "### Step 0: P\n### Step 1: I\n- [x] b\n", "1/2, 1 boxes; 0 Preflight 0"},
		{"step left out", "### Step 0: P\n- [x] a\n", "1/2, 1 boxes; 1 Implement 2"},
		{"step that only STATUS.md has", "### Step 0: P\n- [x] a\n### Step 1: I\n- [x] b\n### Step 7: More\n- [ ] c\n", "2/3, 2 boxes; 7 More 1"},
		{"one number twice", "### Step 0: P\n- [ ] a\n### Step 1: I\n- [x] b\n### Step 0: P\n- [x] a\n", "1/2, 2 boxes; 0 Preflight 1"},
		{"one number twice, first complete", "### Step 0: P\n**Status:** ✅ Complete\n### Step 1: I\n- [x] b\n### Step 0: P\n", "1/2, 1 boxes; 0 Preflight 0"},
		{"F098 no step that can be read", "### Step 0–1: All Complete\n- [x] a\n", "0/2, 0 boxes; 0 Preflight 1; 1 Implement 2; no steps"},
		{"F098 empty file", "", "0/2, 0 boxes; 0 Preflight 1; 1 Implement 2; no steps"},
		{"not text", "### Step 0: P\n- [x] a\n\x00", "0/2, 0 boxes; 0 Preflight 1; 1 Implement 2; no steps"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := progress(packet.ProgressOf(p, []byte(tc.status))); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestF098_PromptWithoutSteps(t *testing.T) {
	t.Parallel()
	got := packet.ProgressOf(packet.Packet{}, []byte("### Step 1: Mine\n- [x] a\n"))
	if !got.NoSteps {
		t.Errorf("%s: steps that the worker made up are counted as the packet's", progress(got))
	}
}

// TestProgressOfCorpus pins two real packets that a looser reader takes for complete.
func TestProgressOfCorpus(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"derived/TP-119-not-done/TP-119-remove-tmux-abort-fallbacks":     "5/6, 22 boxes; 0 Preflight 1",
		"TP-091/TP-091-mailbox-agent-to-supervisor-replies":              "0/5, 0 boxes",
		"synthetic/SYN-004/SYN-004-fences-and-notes":                     "0/2, 1 boxes; 1 Document the step format 1; 2 Check 1",
		"TP-115/TP-115-runtime-v2-telemetry-and-dashboard-observability": "4/5, 8 boxes; 4 ",
	} {
		f := readFiles(t, dir)
		p, _ := packet.Parse(f)
		if got := progress(packet.ProgressOf(p, f.Status)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
}

func TestNewStatus(t *testing.T) {
	t.Parallel()
	p, _ := parse(prompt + "\n### Step 2: Deliver\n")
	const want = `# AB-012: Add retry budget — Status

**Current Step:** Step 0: Preflight
**Status:** 🔵 Ready for Execution
**Last Updated:** not yet
**Review Level:** 2
**Review Counter:** 0
**Iteration:** 0
**Size:** S

---

### Step 0: Preflight

**Status:** ⬜ Not Started

- [ ] Read the client

---

### Step 1: Implement

**Status:** ⬜ Not Started

- [ ] Budget type
- [ ] Wire it

---

### Step 2: Deliver

**Status:** ⬜ Not Started

- [ ] Deliver
`
	got := packet.NewStatus(p)
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !bytes.Equal(got, packet.NewStatus(p)) {
		t.Error("a second call gives another file")
	}
}

// TestNewStatus_OfCorpus checks that a generated file reads back as the packet's steps with nothing ticked.
func TestNewStatus_OfCorpus(t *testing.T) {
	t.Parallel()
	for _, f := range readFacts(t) {
		p, _ := packet.Parse(readFiles(t, f.Dir))
		status, problems := packet.ReadStatus("STATUS.md", packet.NewStatus(p))
		if want := fresh(p); counts(status.Steps) != want {
			t.Errorf("%s: steps %q, want %q", f.Dir, counts(status.Steps), want)
		}
		if len(problems) > 0 && len(p.Steps) > 0 {
			t.Errorf("%s: %v", f.Dir, problems)
		}
	}
}

// fresh is how the steps of a packet read in a generated STATUS.md.
func fresh(p packet.Packet) string {
	var parts []string
	for _, s := range p.Steps {
		parts = append(parts, fmt.Sprintf("%d:0/%d not-started", s.Number, max(s.Total, 1)))
	}
	return strings.Join(parts, ", ")
}

// TestProgress_Property ticks the boxes of a generated STATUS.md one by one: the task is complete with the last one only.
func TestProgress_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, problems := parse(drawPrompt(t))
		if packet.Failed(problems) {
			t.Fatalf("problems: %v", problems)
		}
		status := string(packet.NewStatus(p))
		total := strings.Count(status, "- [ ] ")
		for ticked := range total {
			got := packet.ProgressOf(p, []byte(status))
			if got.NoSteps || len(got.Open) == 0 || got.Boxes != ticked || got.StepsDone+len(got.Open) != len(p.Steps) {
				t.Fatalf("%d of %d ticked: %s", ticked, total, progress(got))
			}
			status = strings.Replace(status, "- [ ] ", "- [x] ", 1)
		}
		if got := packet.ProgressOf(p, []byte(status)); len(got.Open) > 0 || got.StepsDone != len(p.Steps) {
			t.Fatalf("all ticked: %s", progress(got))
		}
	})
}

func drawPrompt(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("# Task: AB-012 - X\n\n## Steps\n")
	for n := range rapid.IntRange(1, 5).Draw(t, "steps") {
		fmt.Fprintf(&b, "\n### Step %d: %s\n", n, rapid.StringMatching(`[A-Za-z ÄÖ—:]{1,20}`).Draw(t, "name"))
		for range rapid.IntRange(0, 3).Draw(t, "boxes") {
			fmt.Fprintf(&b, "- [%s] %s\n", rapid.SampledFrom([]string{" ", "x"}).Draw(t, "mark"), rapid.StringMatching(`[A-Za-z#*_ ]{0,20}`).Draw(t, "text"))
		}
	}
	return b.String()
}
