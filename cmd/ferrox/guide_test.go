package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shownCommand is one command of the guide with what the guide says of it.
type shownCommand struct {
	line string // of README.md, for messages
	text string
	exit string
	want []string
}

// TestGuide runs the commands that README.md shows, in one shell, and compares what they print: every line shown comes, in
// this order; … stands for anything.
func TestGuide(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := guide(string(readme))
	if len(commands) < 15 {
		t.Fatalf("README.md shows %d commands", len(commands))
	}
	home := t.TempDir()
	config := "[user]\n\tname = Tess\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(guideScript(commands))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	parts := strings.Split(out.String(), guideMark)
	if len(parts) != len(commands)+1 {
		t.Fatalf("%d of %d commands ran:\n%s", len(parts)-1, len(commands), out.String())
	}
	for i, c := range commands {
		checkShown(t, c, parts[i], strings.TrimSpace(strings.SplitN(parts[i+1], "\n", 2)[0]))
	}
}

const guideMark = "\x01exit "

// guide takes the console blocks apart: $ begins a command, > goes on with it, the rest is output.
func guide(text string) []shownCommand {
	var commands []shownCommand
	in := false
	for n, line := range strings.Split(text, "\n") {
		switch {
		case line == "```console":
			in = true
		case line == "```":
			in = false
		case in && strings.HasPrefix(line, "$ "):
			text, exit, stated := strings.Cut(line[2:], "# exit ")
			if !stated {
				exit = "0"
			}
			commands = append(commands, shownCommand{line: fmt.Sprintf("README.md:%d", n+1), text: text, exit: exit})
		case in && strings.HasPrefix(line, "> "):
			commands[len(commands)-1].text += "\n" + line[2:]
		case in && line != "":
			commands[len(commands)-1].want = append(commands[len(commands)-1].want, line)
		}
	}
	return commands
}

// guideScript is one shell script of all commands; HOLD is the id that a reader would copy.
func guideScript(commands []shownCommand) string {
	var b strings.Builder
	for _, c := range commands {
		text := strings.ReplaceAll(c.text, " HOLD ", ` "$(ferrox holds --json | sed -n 's/^    "id": "\(.*\)",$/\1/p')" `)
		fmt.Fprintf(&b, "%s\nprintf '%s%%s\\n' $?\n", text, strings.ReplaceAll(guideMark, "\x01", `\001`))
	}
	return b.String()
}

func checkShown(t *testing.T, c shownCommand, output, exit string) {
	t.Helper()
	if exit != c.exit {
		t.Errorf("%s: %s: exit %s instead of %s\n%s", c.line, c.text, exit, c.exit, output)
	}
	lines := strings.Split(output, "\n")
	for _, want := range c.want {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$")
		for len(lines) > 0 && !pattern.MatchString(lines[0]) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			t.Errorf("%s: %s: does not print, in this order, %q:\n%s", c.line, c.text, want, output)
			return
		}
		lines = lines[1:]
	}
}
