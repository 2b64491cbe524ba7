package hook

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

func installed(t *testing.T, agent, root, exe string) (changed []string, text string) {
	t.Helper()
	changed, err := Install(agent, root, exe)
	if err != nil {
		t.Fatalf("Install(%s): %v", agent, err)
	}
	f, _ := agentFiles(agent)
	data, err := os.ReadFile(filepath.Join(root, f.path))
	if err != nil {
		t.Fatal(err)
	}
	return changed, string(data)
}

// TestInstallAnew pins what each agent gets, byte for byte, and that a second time changes nothing.
func TestInstallAnew(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude", "codex", "gemini"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			changed, text := installed(t, agent, root, "ferrox")
			golden := filepath.Join("testdata", "install", agent+".json")
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || text != string(want) || len(changed) != 1 {
				t.Errorf("changed %v, %v:\n%s\nwant:\n%s", changed, err, text, want)
			}
			if again, after := installed(t, agent, root, "ferrox"); len(again) != 0 || after != text {
				t.Errorf("the second time changed %v:\n%s", again, after)
			}
		})
	}
}

// before is settings as people have them: comments, other hooks, trailing commas.
const before = `// our settings
{
  "permissions": {"allow": ["Bash(ls:*)"]}, // keep
  "hooks": {
    /* format on save */
    "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}],
    "PreToolUse": [
      // somebody else's
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "other hook", "timeout": 1.5}]},
    ],
  },
}
`

// TestInstallFFB24 covers the finding that a registration displaced another hook and piled up when repeated.
func TestInstallFFB24(t *testing.T) {
	t.Parallel()
	root := project(t, map[string]string{".claude/settings.json": before})
	_, text := installed(t, "claude", root, "/opt/my tools/ferrox")
	for _, kept := range []string{"// our settings", "// keep", "/* format on save */", "// somebody else's", `"other hook"`, `"timeout": 1.5`, `"Bash(ls:*)"`} {
		if !strings.Contains(text, kept) {
			t.Errorf("lost %s in:\n%s", kept, text)
		}
	}
	if !strings.Contains(text, `'/opt/my tools/ferrox' hook pre-tool-use`) || !strings.Contains(text, `"onFailure": "block"`) {
		t.Errorf("not installed:\n%s", text)
	}
	if changed, after := installed(t, "claude", root, "/opt/my tools/ferrox"); len(changed) != 0 || after != text {
		t.Errorf("the second time changed %v:\n%s", changed, after)
	}
	_, moved := installed(t, "claude", root, "/usr/bin/ferrox")
	if n := strings.Count(moved, "hook pre-tool-use"); n != 1 || !strings.Contains(moved, "/usr/bin/ferrox hook") || !strings.Contains(moved, "other hook") {
		t.Errorf("%d entries after ferrox moved:\n%s", n, moved)
	}
	golden := filepath.Join("testdata", "install", "claude-beside.json")
	if *update {
		if err := os.WriteFile(golden, []byte(moved), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != moved {
		t.Errorf("%v, got:\n%s", err, moved)
	}
}

func TestInstallIntoShapes(t *testing.T) {
	t.Parallel()
	for _, old := range []string{
		"", "{}", "  \n", "{ // nothing yet\n}", `{"hooks":{}}`, `{"hooks":{"PreToolUse":[]}}`, `{"a":1 // one` + "\n}", `{"hooks":{"Stop":[]},}`,
		`{"hooks":{"PreToolUse":[{"hooks":[{"type":"prompt"}]}]}}`, `{"hooks":{"PreToolUse":[{"matcher":"X","hooks":[{"command":"a"},{"type":"command","command":"/old/ferrox hook pre-tool-use"}]}]}}`,
		`{"hooks":{"PreToolUse":[ // c` + "\n" + ` ]}}`, "{\"a\": [1,\n2],\n// end\n}",
	} {
		root := project(t, map[string]string{".claude/settings.json": old})
		_, text := installed(t, "claude", root, "ferrox")
		std, err := hujson.Standardize([]byte(text))
		if err != nil || strings.Contains(text, "null") {
			t.Errorf("from %q: %v\n%s", old, err, text)
			continue
		}
		var got struct {
			Hooks map[string][]struct{ Hooks []handler }
		}
		if err := json.Unmarshal(std, &got); err != nil {
			t.Errorf("from %q: %v\n%s", old, err, text)
		}
		n := 0
		for _, g := range got.Hooks["PreToolUse"] {
			for _, h := range g.Hooks {
				if h.Command == "ferrox hook pre-tool-use || exit 2" && h.OnFailure == "block" {
					n++
				}
			}
		}
		if n != 1 {
			t.Errorf("from %q: %d entries\n%s", old, n, text)
		}
		if changed, _ := installed(t, "claude", root, "ferrox"); len(changed) != 0 {
			t.Errorf("from %q: the second time changed %v", old, changed)
		}
	}
}

func TestInstallRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for old, want := range map[string]string{
		"{\n\n  \"a\": ,\n}":                   ".claude/settings.json:3:",
		"[]":                                   ".claude/settings.json:1:",
		"{\n\"hooks\": []}":                    ".claude/settings.json:2:",
		"{\"hooks\":\n{\"PreToolUse\":\n{}}}":  ".claude/settings.json:3:",
		"{\"hooks\":{\"PreToolUse\":[\n\n1]}}": ".claude/settings.json:3:",
		"{\"hooks\":{},\n\"hooks\":{}}":        ".claude/settings.json:2:",
		"\xff":                                 ".claude/settings.json:1:",
	} {
		root := project(t, map[string]string{".claude/settings.json": old})
		changed, err := Install("claude", root, "ferrox")
		if err == nil || !strings.Contains(err.Error(), want) || len(changed) > 0 {
			t.Errorf("from %q: %v, %v, want %s", old, changed, err, want)
		}
		if data, _ := os.ReadFile(filepath.Join(root, ".claude/settings.json")); string(data) != old {
			t.Errorf("from %q: the file was changed to %q", old, data)
		}
	}
}

func TestInstallKeepsLinkAndMode(t *testing.T) {
	t.Parallel()
	root := project(t, map[string]string{"dotfiles/claude.json": "{}", ".claude/.keep": ""})
	target, link := filepath.Join(root, "dotfiles/claude.json"), filepath.Join(root, ".claude/settings.json")
	if err := os.Chmod(target, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles/claude.json", link); err != nil {
		t.Fatal(err)
	}
	installed(t, "claude", root, "ferrox")
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
}

func TestInstallUnknownAgent(t *testing.T) {
	t.Parallel()
	if _, err := Install("emacs", t.TempDir(), "ferrox"); err == nil || !strings.Contains(err.Error(), "claude, codex, gemini") {
		t.Errorf("error %v", err)
	}
	if _, err := Install("claude", t.TempDir(), ""); err == nil {
		t.Error("no error for no executable")
	}
}

// TestInstalledCommandBlocksWithoutFerrox runs the installed command where no ferrox is: that must be a block, exit 2.
func TestInstalledCommandBlocksWithoutFerrox(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/bin/sh", "-c", "ferrox-that-is-not-there"+hookArgs)
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitBlock {
		t.Errorf("ended with %v", err)
	}
}
