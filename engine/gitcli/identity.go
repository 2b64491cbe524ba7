package gitcli

import (
	"context"
	"fmt"
	"os"
	"slices"
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

// config is what git's configuration says that this package goes by.
type config struct {
	names  []string // identity variables for whoever it does not name
	shared bool     // objects are shared between users
}

// names are the variables that stand in where git knows nobody. What the configuration has wins; git's own guess from the
// host's name does not.
func (r *Repo) names(ctx context.Context) ([]string, error) {
	c, err := r.configured(ctx)
	return c.names, err
}

// shared reports whether the repository's files have to be readable for other users by git's rules.
func (r *Repo) shared(ctx context.Context) (bool, error) {
	c, err := r.configured(ctx)
	return c.shared, err
}

// configured asks git once.
func (r *Repo) configured(ctx context.Context) (config, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config != nil {
		return *r.config, nil
	}
	out, err := r.run(ctx, call{
		args: []string{"config", "-z", "--get-regexp", `^((user|author|committer)\.(name|email)|core\.sharedrepository)$`}, okExit: 1,
	})
	if err != nil {
		return config{}, err
	}
	known, c := map[string]bool{}, config{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, set := strings.Cut(entry, "\n")
		known[key] = true
		if key == "core.sharedrepository" {
			c.shared = !set || !slices.Contains(unshared, strings.ToLower(value))
		}
	}
	c.names = missingNames(known)
	r.config = &c
	return c, nil
}

// unshared are the values of core.sharedRepository that leave it to the umask.
var unshared = []string{"umask", "false", "no", "off", "0"}

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

// persons are who commits, as git writes them: "Name <address>".
type persons struct{ author, committer string }

// whoCommits asks git once, which has its own rules about what may stand in a name.
func (r *Repo) whoCommits(ctx context.Context) (persons, error) {
	env, err := r.identity(ctx, time.Unix(0, 0))
	if err != nil {
		return persons{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.persons != nil {
		return *r.persons, nil
	}
	var p persons
	for name, who := range map[string]*string{"GIT_AUTHOR_IDENT": &p.author, "GIT_COMMITTER_IDENT": &p.committer} {
		out, err := r.run(ctx, call{args: []string{"var", name}, env: env})
		if err != nil {
			return persons{}, fmt.Errorf("look up who commits: %w", err)
		}
		line, dated := strings.CutSuffix(strings.TrimSpace(string(out)), " 0 +0000")
		if !dated || !strings.HasSuffix(line, ">") {
			return persons{}, fmt.Errorf("look up who commits: git's answer %q is not understood", line)
		}
		*who = line
	}
	r.persons = &p
	return p, nil
}
