package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Format is the dialect that an agent speaks.
type Format string

// The formats. Plain is an event without a name, as scripts send it.
const (
	FormatPlain  Format = "plain"
	FormatClaude Format = "claude"
	FormatCodex  Format = "codex"
	FormatGemini Format = "gemini"
)

// event is what an agent says it is about to do.
type event struct {
	format  Format
	tool    string
	shell   bool   // the tool runs command in a shell
	command string // the line, when shell
	dir     string // where it runs; "" when the event does not say
	input   map[string]any
}

// wire is the event as the agents write it.
type wire struct {
	Event   string          `json:"hook_event_name"`
	Turn    json.RawMessage `json:"turn_id"`
	Dir     string          `json:"cwd"`
	Tool    *string         `json:"tool_name"`
	Input   json.RawMessage `json:"tool_input"`
	Command json.RawMessage `json:"command"`
}

// parseEvent reads one event. The format is known as soon as the JSON is, so it is returned with an error too.
func parseEvent(data []byte) (event, error) {
	e := event{format: FormatPlain}
	var w wire
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&w); err != nil {
		return e, fmt.Errorf("read the event: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return e, errors.New("read the event: there is more than one JSON value")
	}
	e.format = w.format()
	e.dir = w.Dir
	if w.Tool == nil || *w.Tool == "" {
		return e, errors.New("read the event: it names no tool (tool_name)")
	}
	e.tool = *w.Tool
	e.shell = shellTool(e.tool)
	err := json.Unmarshal(w.Input, &e.input)
	switch {
	case err != nil && len(w.Input) > 0 && (e.shell || mcpTool(e.tool)):
		return e, fmt.Errorf("read the event: tool_input is not an object: %w", err)
	case !e.shell:
		return e, nil
	}
	e.dir = workdir(e.dir, e.input)
	e.command, err = w.line(e.input)
	return e, err
}

func (w wire) format() Format {
	switch {
	case w.Event == "BeforeTool":
		return FormatGemini
	case w.Event != "" && w.Turn != nil:
		return FormatCodex
	case w.Event != "":
		return FormatClaude
	}
	return FormatPlain
}

// shellTool reports whether a tool, by its name in any letter case, runs a command line.
func shellTool(name string) bool {
	switch strings.ToLower(name) {
	case "bash", "shell", "local_shell", "run_shell_command", "exec_command", "shell_command", "unified_exec", "monitor":
		return true
	}
	return false
}

// workdir follows the tool's own working directory, relative to the session's.
func workdir(dir string, input map[string]any) string {
	for _, key := range []string{"workdir", "directory", "dir_path", "cwd"} {
		s, ok := input[key].(string)
		switch {
		case !ok || s == "":
		case filepath.IsAbs(s):
			return filepath.Clean(s)
		case dir != "":
			return filepath.Join(dir, s)
		}
	}
	return dir
}

// line gives the command as one shell line. A list of words is one command: each word is quoted, so that "bash -lc TEXT" stays
// what it is. A list of one word is a line.
func (w wire) line(input map[string]any) (string, error) {
	var value any
	for _, key := range []string{"command", "cmd"} {
		if v, ok := input[key]; ok && value == nil {
			value = v
		}
	}
	if value == nil && len(w.Command) > 0 {
		if err := json.Unmarshal(w.Command, &value); err != nil {
			return "", fmt.Errorf("read the event's command: %w", err)
		}
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case []any:
		return quoteWords(v)
	}
	return "", errors.New("read the event: the shell tool has no command (tool_input.command)")
}

func quoteWords(list []any) (string, error) {
	words := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return "", errors.New("read the event's command: a word of it is no text")
		}
		words = append(words, s)
	}
	if len(words) == 1 {
		return words[0], nil
	}
	for i, s := range words {
		q, err := syntax.Quote(s, syntax.LangBash)
		if err != nil {
			return "", fmt.Errorf("read the event's command: %w", err)
		}
		words[i] = q
	}
	return strings.Join(words, " "), nil
}
