package verbs

import (
	stdflag "flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"ferrox/gates"
)

// With -update the reference is written instead of compared.
var update = stdflag.Bool("update", false, "write docs/verbs.md")

const docsPath = "../../docs/verbs.md"

func TestDocsAreCurrent(t *testing.T) {
	t.Parallel()
	want := docs()
	if *update {
		if err := os.WriteFile(docsPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/verbs.md is not what the verb table says; run: go test ./engine/verbs -run TestDocs -update")
	}
}

func docs() string {
	var b strings.Builder
	b.WriteString(docsHead)
	family := ""
	for i := range verbs {
		v := &verbs[i]
		if f, _, _ := strings.Cut(v.name, "."); f != family {
			family = f
			fmt.Fprintf(&b, "## %s\n\n", family)
		}
		fmt.Fprintf(&b, "### `%s`\n\n%s\n\n", v.name, v.what)
		for _, f := range v.flags {
			b.WriteString("- `--" + f.name)
			if f.value != "" {
				b.WriteString(" <" + f.value + ">")
			}
			b.WriteString("`")
			if f.optional {
				b.WriteString(" (optional)")
			}
			b.WriteString("\n")
		}
		if len(v.flags) > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Answer: %s.\n\n", v.answers)
		if v.files != "" {
			fmt.Fprintf(&b, "Files: %s.\n\n", v.files)
		}
		fmt.Fprintf(&b, "```sh\nferrox query %s\n```\n\n", v.line())
	}
	b.WriteString(docsGates)
	b.WriteString(gates.MatrixTable(gates.Matrix()))
	return b.String()
}

const docsHead = "# Decision verbs\n\n" +
	"<!-- Made from the verb table by: go test ./engine/verbs -run TestDocs -update -->\n\n" +
	"`ferrox query FAMILY.VERB [flags]`, or the same under the name `ferrox-tools`. A verb prints one JSON object and exits 0 for every\n" +
	"decision, refusals and blocks too; wrong arguments and errors exit 1 with one line on standard error. The antiloop verbs exit 1\n" +
	"when they refuse.\n\n" +
	"- Flags are `--name value`; the first of a name counts. Lists are split at commas. Numbers are plain decimal numbers, instants are\n" +
	"  epoch milliseconds: no verb reads a clock, except antiloop without `--now-ts`.\n" +
	"- `--raw` prints on one line, `--pick FIELD` one field, `--cwd DIR` names the project, `--ws NAME` a workstream, `--json-errors` (or\n" +
	"  `--json`, or `FERROX_JSON_ERRORS=1`) makes errors JSON. `--list` lists the verbs; `--help` explains the verb that stands beside it, without one\n" +
	"  all of them; nothing is run then.\n" +
	"- The project is the nearest folder with a `.planning` above the working directory, inside a repository not above it. Inside a linked\n" +
	"  worktree it is the main checkout's, so that numbers, logs and counters are one.\n" +
	"- Settings come from `.planning/config.json`; anything wrong in it is an error, and then nothing is written. State files are changed\n" +
	"  under `FILE.lock` and replaced whole. The run-log is `.planning/halting-log.jsonl`.\n" +
	"- Some answers rest on the caller's word (counts, flips, receipts). Inside a batch the engine asks the same functions itself.\n\n" +
	"Where a flag is the caller's and ferrox can know better, it holds the caller to it: a cross audit counts only when `trident.audit --live`\n" +
	"recorded it for this increment and commit (outside a repository there is no commit, and the word is taken with a warning); a migration\n" +
	"number is consumed only when the gate passes; an undeclared write is logged only with its instant.\n\n"

const docsGates = "## Gates of the workflows\n\n" +
	"Pre-flight gates block entry; revision gates loop back, bounded by `gate.cap-check`; escalation gates wait for a person, bounded by\n" +
	"`human-sla.check`; abort gates stop at once.\n\n"
