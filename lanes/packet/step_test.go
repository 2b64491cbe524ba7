package packet_test

import (
	"fmt"
	"strings"
	"testing"

	"ferrox/lanes/packet"
)

// counts writes steps as "0:1/2 complete, …".
func counts(steps []packet.Step) string {
	var parts []string
	for _, s := range steps {
		parts = append(parts, fmt.Sprintf("%d:%d/%d %s", s.Number, s.Checked, s.Total, s.State))
	}
	return strings.Join(parts, ", ")
}

func steps(body string) string {
	status, _ := packet.ReadStatus("STATUS.md", []byte(body))
	return counts(status.Steps)
}

func TestSteps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"boxes of all kinds", "### Step 1: A\n- [x] a\n* [X] b\n  + [ ] c\n1. [x] d\n- [ ]\n", "1:3/5 not-started"},
		{"marks that are no tick", "### Step 1: A\n- [~] a\n- [-] b\n- [?] c\n", "1:0/3 not-started"},
		{"not boxes", "### Step 1: A\n- [link](x)\n- [1] note\n> - [x] quoted\n[x] bare\n- [x]tight\n", "1:0/0 not-started"},
		{"F187 notes after the last step", "### Step 1: A\n- [x] a\n\n## Notes\n- [ ] b\n", "1:1/1 not-started"},
		{"F187 other section of the same level", "### Step 1: A\n- [x] a\n### Self-check\n- [ ] b\n", "1:1/1 not-started"},
		{"F187 sub-headings belong to the step", "### Step 1: A\n- [x] a\n#### Notes\n- [ ] b\n", "1:1/2 not-started"},
		{"F187 status of the notes", "### Step 1: A\n- [ ] a\n\n## Notes\n**Status:** ✅ Complete\n", "1:0/1 not-started"},
		{"status below a sub-heading", "### Step 1: A\n- [ ] a\n#### Sub\n**Status:** ✅ Complete\n", "1:0/1 not-started"},
		{"second status line", "### Step 1: A\n**Status:** 🟨 In Progress\n**Status:** ✅ Complete\n", "1:0/0 in-progress"},
		{"F043 heading and status in a fence", "### Step 1: A\n```\n### Step 2: B\n**Status:** ✅ Complete\n- [x] b\n```\n- [ ] a\n", "1:0/1 not-started"},
		{"F043 shorter fence is no closer", "### Step 1: A\n````\n```\n- [x] a\n````\n- [ ] b\n", "1:0/1 not-started"},
		{"F043 other character is no closer", "### Step 1: A\n~~~\n```\n- [x] a\n~~~\n- [ ] b\n", "1:0/1 not-started"},
		{"F043 info string is no closer", "### Step 1: A\n```\n```go\n- [x] a\n```\n- [ ] b\n", "1:0/1 not-started"},
		{"F043 longer closer", "### Step 1: A\n```go\n- [x] a\n`````\n- [ ] b\n", "1:0/1 not-started"},
		{"F043 ticks in an info string are no fence", "### Step 1: A\n``` a`b\n- [x] a\n", "1:1/1 not-started"},
		{"F043 fence in a list", "### Step 1: A\n- [ ] a\n    ```\n    - [x] b\n    ```\n- [x] c\n", "1:1/2 not-started"},
		{"comment", "### Step 1: A\n<!--\n- [x] a\n-->\n<!-- b -->\n- [ ] c\n", "1:0/1 not-started"},
		{"range is no step", "### Step 0–4: All Complete\n- [x] a\n", ""},
		{"other levels are no steps", "## Step 1: A\n#### Step 2: B\n# Step 3: C\n", ""},
		{"dash after the number", "### Step 1 — A\n- [x] a\n", "1:1/1 not-started"},
		{"hash touching the word", "###Step 1: A\n", ""},
		{"indented by four", "    ### Step 1: A\n", ""},
		{"CRLF", "### Step 1: A\r\n**Status:** ✅ Complete\r\n- [x] a\r\n", "1:1/1 complete"},
		{"byte order mark", "\ufeff### Step 1: A\n- [x] a\n", "1:1/1 not-started"},
		{"no newline at the end", "### Step 1: A\n- [x] a", "1:1/1 not-started"},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := steps(tc.body); got != tc.want {
				t.Errorf("steps %q, want %q", got, tc.want)
			}
		})
	}
}

func TestF186_ExactStates(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]packet.State{
		"✅ Complete": packet.StateComplete, "Complete": packet.StateComplete, "✅ Done": packet.StateComplete,
		"🟢 Completed": packet.StateComplete, "✅": packet.StateComplete, "✅ COMPLETE": packet.StateComplete,
		"🟨 In Progress": packet.StateInProgress, "🟡 in-progress": packet.StateInProgress,
		"⬜ Not Started": packet.StateNotStarted, "Not started": packet.StateNotStarted,
		"Not complete": packet.StateUnknown, "Incomplete": packet.StateUnknown, "Not complete yet": packet.StateUnknown,
		"✅ Complete (of the question)": packet.StateUnknown, "⬜ Complete": packet.StateUnknown,
		"✅ Not Started": packet.StateUnknown, "complete-ish": packet.StateUnknown, "⏸️ Superseded": packet.StateUnknown,
		"✅ Skipped": packet.StateUnknown, "": packet.StateUnknown,
	} {
		status, problems := packet.ReadStatus("STATUS.md", []byte("### Step 1: A\n**Status:** "+value+"\n"))
		if got := status.Steps[0].State; got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
		if unknown := contains(problems, found{packet.CodeStateUnknown, packet.SeverityWarning, 1}); unknown != (want == packet.StateUnknown) {
			t.Errorf("%q: problems %v", value, problems)
		}
	}
}

func TestSteps_Problems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, add string
		want      found
	}{
		{"range", "### Step 2–4: Rest\n", found{packet.CodeStepHeading, packet.SeverityError, 21}},
		{"decimal", "### Step 1.5: Between\n", found{packet.CodeStepHeading, packet.SeverityError, 21}},
		{"lower case", "### step 2: Rest\n", found{packet.CodeStepHeading, packet.SeverityError, 21}},
		{"F099 two signs", "## Step 2: Rest\n", found{packet.CodeStepHeading, packet.SeverityWarning, 21}},
		{"twice", "### Step 1: Again\n", found{packet.CodeStepTwice, packet.SeverityError, 21}},
		{"open fence", "```\n### Step 2: Rest\n", found{packet.CodeFenceUnclosed, packet.SeverityError, 21}},
		{"open comment", "<!-- later\n### Step 2: Rest\n", found{packet.CodeFenceUnclosed, packet.SeverityError, 21}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, problems := parse(prompt + tc.add); len(problems) != 1 || !contains(problems, tc.want) {
				t.Errorf("problems %v, want %v", problems, tc.want)
			}
		})
	}
}

func TestF098_NoStepsIsAnError(t *testing.T) {
	t.Parallel()
	before, _, _ := strings.Cut(prompt, "### Step 0")
	p, problems := parse(before + "1. Do it.\n")
	if len(p.Steps) != 0 || !contains(problems, found{packet.CodeNoSteps, packet.SeverityError, 0}) {
		t.Errorf("steps %v, problems %v", p.Steps, problems)
	}
}

func TestF099_StepsUnderTwoSigns(t *testing.T) {
	t.Parallel()
	_, problems := parse(strings.ReplaceAll(prompt, "### Step", "## Step"))
	for _, want := range []found{
		{packet.CodeStepHeading, packet.SeverityWarning, 15},
		{packet.CodeStepHeading, packet.SeverityWarning, 18},
		{packet.CodeNoSteps, packet.SeverityError, 0},
	} {
		if !contains(problems, want) {
			t.Errorf("problems %v, want %v", problems, want)
		}
	}
}

func TestParse_OddFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		files packet.Files
		want  found
	}{
		{"no PROMPT.md", packet.Files{Dir: dir}, found{packet.CodePromptMissing, packet.SeverityError, 0}},
		{"empty PROMPT.md", packet.Files{Dir: dir, HasPrompt: true}, found{packet.CodeNoSteps, packet.SeverityError, 0}},
		{"UTF-16", packet.Files{Dir: dir, HasPrompt: true, Prompt: []byte("\xff\xfe#\x00 \x00")}, found{packet.CodeNotText, packet.SeverityError, 0}},
		{"STATUS.md in another encoding", packet.Files{
			Dir: dir, HasPrompt: true, Prompt: []byte(prompt), HasStatus: true, Status: []byte("\xe4"),
		}, found{packet.CodeNotText, packet.SeverityWarning, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := packet.Parse(tc.files)
			if p.ID != "AB-012" || !contains(problems, tc.want) {
				t.Errorf("id %q, problems %v, want %v", p.ID, problems, tc.want)
			}
			for _, problem := range problems {
				if !strings.HasPrefix(problem.File, dir+"/") || !strings.Contains(problem.String(), problem.Message) {
					t.Errorf("problem %q of file %q", problem, problem.File)
				}
			}
		})
	}
}

func TestParse_CRLFAndMarkChangeNothing(t *testing.T) {
	t.Parallel()
	want, _ := parse(prompt)
	got, problems := parse("\ufeff" + strings.ReplaceAll(prompt, "\n", "\r\n"))
	if len(problems) > 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v\n%v\n%v", problems, got, want)
	}
}
