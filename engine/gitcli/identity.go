package gitcli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Who commits when git knows nobody.
const (
	fallbackName  = "ferrox"
	fallbackEmail = "ferrox@localhost"
)

// identity returns the variables that name author and committer where git has none configured, and date both.
func (r *Repo) identity(ctx context.Context, at time.Time) ([]string, error) {
	names, err := r.names(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up who commits: %w", err)
	}
	date := fmt.Sprintf("@%d +0000", at.Unix())
	return append(names[:len(names):len(names)], "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date), nil
}

// names asks git once. What the configuration has wins; git's own guess from the host's name does not.
func (r *Repo) names(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named != nil {
		return r.named, nil
	}
	out, err := r.run(ctx, call{
		args: []string{"config", "-z", "--name-only", "--get-regexp", `^(user|author|committer)\.(name|email)$`}, okExit: 1,
	})
	if err != nil {
		return nil, err
	}
	configured := map[string]bool{}
	for key := range strings.SplitSeq(string(out), "\x00") {
		configured[key] = true
	}
	r.named = missingNames(configured)
	return r.named, nil
}

func missingNames(configured map[string]bool) []string {
	names := []string{}
	for _, role := range []string{"author", "committer"} {
		for field, fallback := range map[string]string{"name": fallbackName, "email": fallbackEmail} {
			variable := "GIT_" + strings.ToUpper(role+"_"+field)
			if configured["user."+field] || configured[role+"."+field] || os.Getenv(variable) != "" {
				continue
			}
			names = append(names, variable+"="+fallback)
		}
	}
	return names
}
