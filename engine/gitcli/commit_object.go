package gitcli

import (
	"context"
	"fmt"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

// commitObject is what is read of a commit.
type commitObject struct {
	tree    string
	parents []lanes.Commit
	subject string
	body    string
	encoded bool // the message is in another encoding than UTF-8
}

func (r *Repo) readCommit(ctx context.Context, at lanes.Commit) (commitObject, error) {
	found, err := r.cat(ctx, []string{string(at)})
	if err != nil {
		return commitObject{}, err
	}
	if found[0].kind != "commit" {
		return commitObject{}, fmt.Errorf("%w: there is no commit %s", engine.ErrNoSuchRevision, at)
	}
	return parseCommit(string(found[0].data))
}

// parseCommit reads headers, a blank line, and the message. A header that goes on begins its next line with a blank.
func parseCommit(data string) (commitObject, error) {
	var c commitObject
	headers, message, _ := strings.Cut(data, "\n\n")
	for line := range strings.SplitSeq(headers, "\n") {
		switch key, value, _ := strings.Cut(line, " "); key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, lanes.Commit(value))
		case "encoding":
			c.encoded = true
		}
	}
	if !isOID(c.tree) || checkCommits(c.parents...) != nil {
		return c, fmt.Errorf("read a commit: it is not understood: run git fsck")
	}
	message = strings.TrimLeft(message, "\n")
	subject, body, _ := strings.Cut(message, "\n\n")
	c.subject, c.body = strings.Join(strings.Split(strings.TrimRight(subject, "\n"), "\n"), " "), strings.TrimLeft(body, "\n")
	return c, nil
}
