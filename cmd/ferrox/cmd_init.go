package main

import (
	_ "embed" // for the schema
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/engine/hook"
	"ferrox/lanes/settings"
)

// schema is the JSON schema of the settings file, for editors.
//
//go:embed config.schema.json
var schema []byte

// schemaName is the file that the settings' template refers to, in the folder of the settings.
const schemaName = "config.schema.json"

const examplePacket = `# Task: EX-1 - Greet the reader

**Size:** S

## Review Level: 0

## Mission

Add a file that greets the reader. Replace this packet by one of your own.

## Dependencies

**None**

## File Scope

- ` + "`greeting.txt`" + `

## Steps

### Step 1: Write the greeting

- [ ] greeting.txt says hello
`

func (a *app) cmdInit() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use: "init", Short: "write commented settings and an example packet; what is there stays", Args: none(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, info, err := a.openRepo(cmd.Context())
			if err != nil {
				return err
			}
			if info.Bare {
				return &engine.Error{Exit: engine.ExitUsage, Code: "bare-repository", Message: info.CommonDir + " is a bare repository", Next: "run it in a clone"}
			}
			var v struct {
				Written []string `json:"written"`
				Kept    []string `json:"kept"`
			}
			v.Written, v.Kept = []string{}, []string{}
			for _, f := range []struct {
				name string
				data []byte
			}{
				{engine.SettingsFile, settings.Template()},
				{filepath.Join(filepath.Dir(engine.SettingsFile), schemaName), schema},
				{"tasks/EX-1-greeting/PROMPT.md", []byte(examplePacket)},
			} {
				fresh, err := writeNew(filepath.Join(info.Root, f.name), f.data)
				if err != nil {
					return fmt.Errorf("write %s: %w", f.name, err)
				}
				if fresh {
					v.Written = append(v.Written, f.name)
				} else {
					v.Kept = append(v.Kept, f.name)
				}
			}
			hooks, err := guardAgent(agent, info.Root)
			if err != nil {
				return err
			}
			for _, name := range hooks {
				if rel, err := filepath.Rel(info.Root, name); err == nil {
					name = rel
				}
				v.Written = append(v.Written, name)
			}
			return a.show(v, func(w io.Writer) {
				for _, name := range v.Written {
					fmt.Fprintf(w, "wrote %s\n", name)
				}
				for _, name := range v.Kept {
					fmt.Fprintf(w, "kept  %s\n", name)
				}
				then := ""
				if info.Unborn {
					then = "commit something, "
				}
				fmt.Fprintf(w, "next: set runner.worker.command in %s, %sthen ferrox plan\n", engine.SettingsFile, then)
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "write an agent's hook settings too: claude, codex or gemini")
	return cmd
}

// guardAgent writes hook settings next to what is there; twice writes nothing.
func guardAgent(agent, root string) ([]string, error) {
	if agent == "" {
		return nil, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	written, err := hook.Install(agent, root, exe)
	if err != nil {
		return nil, &engine.Error{Exit: engine.ExitUsage, Code: "bad-agent-settings", Message: err.Error(), Next: "ferrox init --agent claude|codex|gemini"}
	}
	return written, nil
}

// writeNew writes a file that is not there yet.
func writeNew(name string, data []byte) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	defer crash.Around("write new file")()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	return true, errors.Join(err, f.Close())
}
