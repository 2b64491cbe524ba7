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

// load reads the settings and passes their warnings on.
func (p *project) load(c *call) (settings.Settings, error) {
	s, warnings, err := p.read(c.env, c.workstream)
	for _, w := range warnings {
		c.warn("%s", w)
	}
	return s, err
}

// read lays the settings files over each other: the project's, or the user's where there is no project at all, and the
// workstream's.
func (p *project) read(env func(string) string, workstream string) (settings.Settings, []settings.Warning, error) {
	s := settings.Default()
	var all []settings.Warning
	files, err := p.files(env, workstream)
	if err != nil {
		return s, nil, err
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, all, fmt.Errorf("read settings: %w", err)
		}
		over, warnings, err := settings.Overlay(s, path, data)
		all = append(all, warnings...)
		if err != nil {
			return s, all, err
		}
		s = over
	}
	return s, all, nil
}

func (p *project) files(env func(string) string, workstream string) ([]string, error) {
	files := []string{p.path(configPath)}
	if _, err := os.Stat(p.path(".planning")); errors.Is(err, fs.ErrNotExist) {
		files = []string{userDefaults(env)}
	}
	if workstream == "" {
		return files, nil
	}
	if strings.ContainsAny(workstream, `/\\`) || strings.HasPrefix(workstream, ".") {
		text := fmt.Sprintf("--ws: %q is no workstream name; write a plain name", workstream)
		return nil, usageError{reason: reasonGlobal, text: text}
	}
	return append(files, p.path(".planning/workstreams/"+workstream+"/config.json")), nil
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
	torn, err := appendLine(path, c.limits, func() (any, error) { return entry, nil })
	if torn {
		c.warn("the last line of %s was torn by a crash; it was closed, look at it", path)
	}
	return err
}
