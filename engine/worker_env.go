package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrox/lanes"
)

// gitNames are the variables that would point git in a lane at another repository, index or object store.
var gitNames = []string{
	"GIT_CONFIG", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_INDEX_VERSION", "GIT_QUARANTINE_PATH",
}

// workerEnv is the caller's environment without what names a repository, and with what a worker is told. Without a run it
// is the environment of a set-up command.
func (r *runner) workerEnv(u unit, run *lanes.Run) []string {
	env := []string{}
	for _, kv := range r.Env {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(gitNames, name) || strings.HasPrefix(name, "FERROX_") || name == "PWD" || name == "PATH" {
			continue
		}
		env = append(env, kv)
	}
	env = append(env,
		"PWD="+u.lane.Worktree, "PATH="+r.binDir()+string(os.PathListSeparator)+lookup(r.Env, "PATH"),
		"FERROX_BATCH="+string(r.id), "FERROX_TASK="+string(u.task.ID), fmt.Sprintf("FERROX_LANE=%d", u.lane.Number),
		"FERROX_TASK_DIR="+u.taskDir(), "FERROX_WORKTREE="+u.lane.Worktree,
	)
	if run == nil {
		return env
	}
	rulings := make([]string, 0, len(run.Rulings))
	for _, id := range run.Rulings {
		rulings = append(rulings, string(id))
	}
	return append(env,
		"FERROX_PROMPT_FILE="+filepath.Join(run.Dir, "prompt.md"), fmt.Sprintf("FERROX_ITERATION=%d", run.Iteration),
		"FERROX_SOCKET="+socket(run), "FERROX_TOKEN="+run.Token, "FERROX_RULINGS="+strings.Join(rulings, " "),
		"FERROX_INBOX="+inboxFile(run),
	)
}

func lookup(env []string, name string) string {
	for _, kv := range env {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			return v
		}
	}
	return ""
}
