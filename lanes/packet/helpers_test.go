package packet_test

import (
	"strings"
	"testing"

	"ferrox/lanes/packet"
)

// prompt is a PROMPT.md that nothing is wrong with.
const prompt = `# Task: AB-012 - Add retry budget

**Size:** S

## Review Level: 2

## Dependencies
- **None**

## File Scope
- ` + "`fetch/budget.go`" + `

## Steps

### Step 0: Preflight
- [ ] Read the client

### Step 1: Implement
- [ ] Budget type
- [ ] Wire it
`

const dir = "tasks/AB-012-retry-budget"

func parse(text string) (packet.Packet, []packet.Problem) { return parseIn(dir, text) }

func parseIn(folder, text string) (packet.Packet, []packet.Problem) {
	return packet.Parse(packet.Files{Dir: folder, Prompt: []byte(text), HasPrompt: true})
}

// with returns the sound PROMPT.md with one part replaced, which must be there.
func with(t *testing.T, old, replacement string) string {
	t.Helper()
	if strings.Count(prompt, old) != 1 {
		t.Fatalf("%q is not in the sample once", old)
	}
	return strings.Replace(prompt, old, replacement, 1)
}

// deps returns the sound PROMPT.md with another Dependencies section.
func deps(t *testing.T, body string) string { return with(t, "- **None**\n", body) }

// scope returns the sound PROMPT.md with another File Scope section.
func scope(t *testing.T, body string) string { return with(t, "- `fetch/budget.go`\n", body) }

// found is a problem by what a test cares for.
type found struct {
	Code     packet.ProblemCode
	Severity packet.Severity
	Line     int
}

func summary(problems []packet.Problem) []found {
	var all []found
	for _, p := range problems {
		all = append(all, found{p.Code, p.Severity, p.Line})
	}
	return all
}

// lineOf returns the number of the first line that begins with text.
func lineOf(t *testing.T, body, text string) int {
	t.Helper()
	for i, l := range strings.Split(body, "\n") {
		if strings.HasPrefix(l, text) {
			return i + 1
		}
	}
	t.Fatalf("no line begins with %q", text)
	return 0
}

func TestSampleIsSound(t *testing.T) {
	t.Parallel()
	if _, problems := parse(prompt); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}
