package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ferrox/lanes/settings"
)

// project is where a verb's settings and state are. err is what is wrong with the settings; verbs see it through usage,
// before they touch a file.
type project struct {
	root     string
	settings settings.Settings
	limits   limits
	err      error
}

const (
	configPath = ".planning/config.json"
	runLogPath = ".planning/halting-log.jsonl"
)

// open finds the project and reads its settings.
func (p *project) open(c *call) {
	root, note := findRoot(c.dir)
	if note != "" {
		c.warn("%s", note)
	}
	p.root, p.limits = root, defaultLimits()
	p.settings, p.err = p.load(c)
}

// path is a place of the settings, joined under the project.
func (p *project) path(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

func (p *project) load(c *call) (settings.Settings, error) {
	s := settings.Default()
	for _, file := range p.files(c) {
		if file.err != nil {
			return s, file.err
		}
		data, err := os.ReadFile(file.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, fmt.Errorf("read settings: %w", err)
		}
		var warnings []settings.Warning
		s, warnings, err = settings.Overlay(s, file.path, data)
		for _, w := range warnings {
			c.warn("%s", w)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

type settingsFile struct {
	path string
	err  error
}

// files lists the settings files, each over the ones before: the project's, or the user's where there is no project at all,
// and the workstream's.
func (p *project) files(c *call) []settingsFile {
	files := []settingsFile{{path: p.path(configPath)}}
	if _, err := os.Stat(p.path(".planning")); errors.Is(err, fs.ErrNotExist) {
		files = []settingsFile{{path: userDefaults(c.env)}}
	}
	ws := c.workstream
	if ws == "" {
		return files
	}
	if strings.ContainsAny(ws, `/\`) || strings.HasPrefix(ws, ".") {
		return []settingsFile{{err: usageError{reason: reasonGlobal, text: fmt.Sprintf("--ws: %q is no workstream name; write a plain name", ws)}}}
	}
	return append(files, settingsFile{path: p.path(".planning/workstreams/" + ws + "/config.json")})
}

func userDefaults(env func(string) string) string {
	home := env("FERROX_HOME")
	if home == "" {
		user := env("HOME")
		if user == "" {
			return os.DevNull + "/none" // nowhere
		}
		home = filepath.Join(user, ".ferrox")
	}
	return filepath.Join(home, "defaults.json")
}

// log appends one line to the run-log.
func (c *call) log(entry any) error {
	path := c.path(runLogPath)
	torn, err := appendLine(path, c.limits, func([]byte) (any, error) { return entry, nil })
	if torn {
		c.warn("the last line of %s was torn by a crash; it was closed, look at it", path)
	}
	return err
}
