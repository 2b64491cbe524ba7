package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/cli.md anew")

const cliHead = `# Commands

<!-- Made from the command tree by: go test ./cmd/ferrox -run TestDocs_CLI -update -->

` + "`ferrox [--repo DIR] COMMAND …`" + ` works from the repository, any folder in it and any worktree of it. Results go to standard output,
everything else to standard error.

| exit code | meaning |
|---|---|
| 0 | done; for a run: every task landed or was skipped |
| 1 | something broke; for a run: a task failed, stalled or is blocked, or the batch was aborted |
| 2 | the command line, the settings or a packet is wrong; nothing was made |
| 3 | parked in good order: holds or a pause are left, nothing is lost |
| 4 | refused by a gate, or because of who asks; every reason is printed |
| 5 | there is no such thing |
| 6 | busy: another engine owns the repository |
| 42 | a lane's guard found the wrong worktree, branch or base |

With ` + "`--json`" + ` standard output is one JSON value or empty, and an error is one object on standard error:
` + "`{\"error\": {\"code\", \"message\", \"next\", \"reasons\"}}`" + `. Instants are RFC 3339 in UTC. What is empty is ` + "`[]`" + `; what is unknown is left out.
The decision verbs of ` + "`ferrox query`" + ` are in [verbs.md](verbs.md).
`

// TestDocs_CLI holds docs/cli.md to the command tree.
func TestDocs_CLI(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(cliHead)
	root := (&app{}).commands()
	fmt.Fprintf(&b, "\nEvery command takes:\n\n")
	writeFlags(&b, root.PersistentFlags())
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(g.Title, ":"))
		for _, cmd := range root.Commands() {
			if cmd.GroupID == g.ID {
				writeCommand(&b, cmd)
			}
		}
	}
	name := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Error("docs/cli.md is not what the command tree says; run go test ./cmd/ferrox -run TestDocs_CLI -update")
	}
}

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden {
		return
	}
	for _, sub := range cmd.Commands() {
		writeCommand(b, sub)
	}
	if cmd.HasSubCommands() {
		return
	}
	parent := strings.TrimPrefix(cmd.Parent().CommandPath(), "ferrox")
	fmt.Fprintf(b, "\n### `ferrox%s %s`\n\n%s.\n", parent, cmd.Use, strings.ToUpper(cmd.Short[:1])+cmd.Short[1:])
	if cmd.Long != "" {
		fmt.Fprintf(b, "\n%s\n", cmd.Long)
	}
	if cmd.LocalFlags().HasFlags() {
		b.WriteString("\n")
		writeFlags(b, cmd.LocalFlags())
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind, _ := pflag.UnquoteUsage(f); kind != "" {
			name += " " + strings.ToUpper(kind)
		}
		fmt.Fprintf(b, "- `%s`: %s\n", name, f.Usage)
	})
}

// TestDocs_Reasons holds docs/operations.md to the reason codes: each has a line of its own.
func TestDocs_Reasons(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("..", "..", "lanes", "reason.go"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\tCode\w+\s+Code = "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 30 {
		t.Fatalf("lanes/reason.go has %d codes", len(codes))
	}
	for _, c := range codes {
		if n := strings.Count(string(page), "\n| `"+c[1]+"` | "); n != 1 {
			t.Errorf("docs/operations.md explains %s in %d lines", c[1], n)
		}
	}
}
