package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ferrox/engine/crash"
)

// agentFile says where an agent keeps the hooks of a project, and what ours looks like there.
type agentFile struct {
	path  string // relative to the repository's root, slash-separated
	event string // the key under "hooks"
	entry func(command string) entry
}

// entry is one group of hooks, in the shape that the three agents share.
type entry struct {
	Matcher string    `json:"matcher"`
	Hooks   []handler `json:"hooks"`
}

type handler struct {
	Name      string `json:"name,omitempty"`
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int    `json:"timeout"`             // seconds; for Gemini CLI, milliseconds
	OnFailure string `json:"onFailure,omitempty"` // without it, Claude Code goes on when the hook fails or takes too long
}

// hookArgs is what stands after ferrox. To the agents only exit code 2 is a block, so that a ferrox that is missing, or that dies
// of a signal, has to end with it too.
const hookArgs = " hook pre-tool-use || exit 2"

// hookSeconds is the agents' time limit: longer than the hook's own limits together.
const hookSeconds = 15

func agentFiles(agent string) (agentFile, bool) {
	f, is := map[string]agentFile{
		"claude": {".claude/settings.json", "PreToolUse", func(c string) entry {
			return entry{"Bash|Monitor|mcp__.*", []handler{{Type: "command", Command: c, Timeout: hookSeconds, OnFailure: "block"}}}
		}},
		"codex": {".codex/hooks.json", "PreToolUse", func(c string) entry {
			return entry{"Bash|shell|local_shell|exec_command|mcp__.*", []handler{{Type: "command", Command: c, Timeout: hookSeconds}}}
		}},
		"gemini": {".gemini/settings.json", "BeforeTool", func(c string) entry {
			return entry{"run_shell_command|mcp_.*", []handler{{Name: "ferrox merge guard", Type: "command", Command: c, Timeout: hookSeconds * 1000}}}
		}},
	}[agent]
	return f, is
}

// Install writes the hook into the project settings of an agent (claude, codex or gemini), next to what is there, and returns
// the files that it changed, relative to repoRoot: none when all is in place. selfExe is how the agent is to call ferrox.
// Settings that cannot be read are left alone, and the error names file and line.
func Install(agent, repoRoot, selfExe string) ([]string, error) {
	f, known := agentFiles(agent)
	if !known {
		return nil, fmt.Errorf("install hooks for %q: there is no such agent; one of claude, codex, gemini", agent)
	}
	exe, err := syntax.Quote(selfExe, syntax.LangPOSIX)
	if err != nil || selfExe == "" {
		return nil, fmt.Errorf("install hooks for %s: the path of ferrox, %q, cannot stand in a command line; install ferrox elsewhere", agent, selfExe)
	}
	file := filepath.Join(repoRoot, filepath.FromSlash(f.path))
	old, mode, err := readSettings(file)
	if err != nil {
		return nil, fmt.Errorf("install hooks for %s: read %s: %w", agent, f.path, err)
	}
	next, err := withEntry(f, old, f.entry(exe+hookArgs))
	if err != nil {
		return nil, fmt.Errorf("install hooks for %s: %w; correct the file by hand, then try again", agent, err)
	}
	if bytes.Equal(old, next) {
		return nil, nil
	}
	if err := writeSettings(file, next, mode); err != nil {
		return nil, fmt.Errorf("install hooks for %s: write %s: %w", agent, f.path, err)
	}
	return []string{f.path}, nil
}

// ours reports whether a command is this hook, wherever ferrox was when it was installed.
func ours(command string) bool {
	return strings.Contains(command, " hook pre-tool-use") && strings.Contains(command, "ferrox")
}

func readSettings(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(file)
	if os.IsNotExist(err) {
		return nil, 0o644, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data, err := os.ReadFile(file)
	return data, info.Mode().Perm(), err
}

// writeSettings replaces the file in one step. A link is followed, so that it stays a link.
func writeSettings(file string, data []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".ferrox-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	for _, step := range []func() error{func() error { return tmp.Chmod(mode) }, tmp.Sync} {
		if err == nil {
			err = step()
		}
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	defer crash.Around("replace agent settings")()
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// indented writes a value as JSON that is to stand at the given depth.
func indented(v any, depth int) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(strings.Repeat("  ", depth), "  ")
	// The values are our own structs and maps of them, which always encode.
	_ = e.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}
