package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ferrox/gates"
	"ferrox/lanes"
)

// Errors of git, told apart because the answers differ. Test with errors.Is.
var (
	ErrNotRepository  = errors.New("not a git repository")
	ErrUntrusted      = errors.New("repository of another user")
	ErrNoSuchRevision = errors.New("no such revision")
	ErrRefExists      = errors.New("branch exists")
	ErrRefMoved       = errors.New("ref is not at the expected commit")
	ErrRefCheckedOut  = errors.New("branch is checked out")
	ErrWorktreeGone   = errors.New("worktree is missing or broken")
	ErrWorktreeLocked = errors.New("worktree is locked")
	ErrGitTimeout     = errors.New("git took too long")
	ErrGitLocked      = errors.New("a git lock file is in the way")
	ErrMergeDriver    = errors.New("merge driver or filter that ferrox does not run")
	ErrSigning        = errors.New("signing failed")
)

// GitError is a git command that did not do what was asked.
type GitError struct {
	Args   []string // without the hardening options
	Dir    string
	Exit   int // -1 when it did not exit by itself
	Stderr string
	Err    error // one of the errors above, or what os/exec said
}

func (e *GitError) Error() string {
	msg := strings.TrimSpace(e.Stderr)
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	return fmt.Sprintf("git %s: %s", strings.Join(e.Args, " "), msg)
}

func (e *GitError) Unwrap() error { return e.Err }

// RepoInfo is what is known of a repository at the start.
type RepoInfo struct {
	Root      string // absolute top level of the main checkout; "" for a bare repository
	CommonDir string // absolute
	Bare      bool
	Shallow   bool
	Unborn    bool         // no commit yet
	Detached  bool         // HEAD of the main checkout names no branch
	Head      lanes.Commit // "" when unborn
	Branch    string       // the branch checked out in the main checkout, "" when detached
	Version   string       // of git, "2.39.5"
}

// BranchInfo is a branch and who has it checked out.
type BranchInfo struct {
	Head         lanes.Commit // "" when there is no such branch
	CheckedOutIn string       // absolute folder of a worktree that has it checked out; "" for none
}

// Change is one path that differs between two commits. A rename is two changes.
type Change struct {
	Path    string
	Status  byte   // A, M, D, T
	OldMode string // "100644", "120000", "160000", "000000" when it was not there
	NewMode string
}

// Gitlink reports whether the change is about a submodule's commit.
func (c Change) Gitlink() bool { return c.OldMode == "160000" || c.NewMode == "160000" }

// WorktreeStatus is what a lane's worktree looks like.
type WorktreeStatus struct {
	Branch  string       // "" when detached
	Head    lanes.Commit // "" when unborn
	Entries []StatusEntry
}

// StatusEntry is one path that is not as committed: changed, staged, unmerged, or untracked and not ignored.
type StatusEntry struct {
	Path      string
	Code      string // the two letters of porcelain v2, "??" for untracked
	Submodule bool
}

// File is one file to put into a tree.
type File struct {
	Path   string // slash-separated, relative to the root of the tree
	Mode   string // "100644", "100755" or "120000"
	Data   []byte
	Remove bool // take the path out instead
}

// TreeEntry is one file of a commit's tree.
type TreeEntry struct {
	Path string
	Mode string
	OID  string
}

// Worktree is one registered worktree.
type Worktree struct {
	Dir      string
	Branch   string // "" when detached
	Head     lanes.Commit
	Locked   bool
	Prunable bool // its folder is gone
}

// MergeRequest asks for a merge commit, computed without a checkout and published by nobody yet.
type MergeRequest struct {
	Into    lanes.Commit // first parent: the integration head
	From    lanes.Commit // second parent: the lane head
	Overlay []File       // files put on top of the merged tree, where neither side has committed that path since the base
	Message string
	At      time.Time // committer and author date
	Sign    bool      // sign as git is configured to, within a time limit
}

// MergeResult is a computed merge, or what stands against it.
type MergeResult struct {
	Commit    lanes.Commit // "" unless the merge is clean
	Tree      string
	Conflicts []Conflict
}

// Conflict is one path that git, or a case-folding disk, cannot merge.
type Conflict struct {
	Path string
	Kind string // content, modify/delete, file/folder, letter-case, mode …
}

// CommitInfo is one commit of a lane, for the citation check.
type CommitInfo struct {
	OID     lanes.Commit
	Subject string
	Body    string
}

// Rescue says what a rescue ref holds.
type Rescue struct {
	Ref     string       // refs/ferrox/rescue/…
	Commit  lanes.Commit // first parent the head; the tree holds tracked changes and untracked files
	Index   lanes.Commit // the index as it stood, when it differs
	Files   []string     // untracked files taken in
	Ignored []string     // ignored files, listed and not taken
	Head    lanes.Commit // the lane's head; filled by Rescues
	Message string       // what the rescue said about itself; filled by Rescues
	At      time.Time    // when it was made; filled by Rescues
}

// Git moves worktrees, branches and merges of one repository. Every call is bounded in time, asks nobody anything, runs
// no hook, and is safe to repeat.
type Git interface {
	// Inspect looks at the repository. ErrNotRepository when there is none.
	Inspect(ctx context.Context) (RepoInfo, error)
	// Resolve returns the commit that rev names, or ErrNoSuchRevision.
	Resolve(ctx context.Context, rev string) (lanes.Commit, error)
	// Branch looks up refs/heads/name and where it is checked out, in one go.
	Branch(ctx context.Context, name string) (BranchInfo, error)
	// BranchesUnder lists branches whose name is prefix or starts with prefix + "/".
	BranchesUnder(ctx context.Context, prefix string) (map[string]lanes.Commit, error)
	// CreateBranch makes a branch; ErrRefExists when there is one, or when a name is in the way (a, a/b).
	CreateBranch(ctx context.Context, name string, at lanes.Commit) error
	// Publish moves an integration branch from old to new. ErrRefMoved when it is not at old, ErrRefCheckedOut when a
	// worktree has it checked out. The permit is proof that the predicate allowed exactly this.
	Publish(ctx context.Context, p gates.Permit, branch string, next, old lanes.Commit) error
	// FastForward brings a branch and the clean checkout in dir that has it from old to next. ErrRefCheckedOut when the
	// checkout has changes, ErrRefMoved when it stands elsewhere.
	FastForward(ctx context.Context, p gates.Permit, dir, branch string, next, old lanes.Commit) error
	// IsAncestor reports whether a is reachable from b. Equal commits are.
	IsAncestor(ctx context.Context, a, b lanes.Commit) (bool, error)
	// Changed lists what the lane changed: the difference between merge-base(base, head) and head.
	Changed(ctx context.Context, base, head lanes.Commit) ([]Change, error)
	// Commits lists base..head, oldest first.
	Commits(ctx context.Context, base, head lanes.Commit) ([]CommitInfo, error)

	// AddWorktree makes a worktree on branch, creating the branch at commit when it is not there. If the folder already is
	// that worktree on that branch, it is left as it is. A final failure leaves neither folder nor a new branch behind.
	AddWorktree(ctx context.Context, dir, branch string, at lanes.Commit) error
	// AddDetached makes a scratch worktree without a branch; RemoveScratch removes it again.
	AddDetached(ctx context.Context, dir string, at lanes.Commit) error
	RemoveScratch(ctx context.Context, dir string) error
	// ReuseWorktree brings a lane's worktree and branch to commit for its next task. It refuses while the branch's head is
	// not reachable from commit or the tree has changes outside exempt paths. It returns how the worktree stands after.
	ReuseWorktree(ctx context.Context, dir, branch string, at lanes.Commit, exempt func(path string) bool) (WorktreeStatus, error)
	// RemoveWorktree removes a worktree and its registration. The caller has rescued what was in it.
	RemoveWorktree(ctx context.Context, p gates.Permit, dir string) error
	// DeleteBranch deletes a branch that is still at commit.
	DeleteBranch(ctx context.Context, p gates.Permit, name string, at lanes.Commit) error
	// Worktrees lists all of them, the main checkout first.
	Worktrees(ctx context.Context) ([]Worktree, error)
	// Status looks at one worktree. ErrWorktreeGone when it is not one of this repository any more.
	Status(ctx context.Context, dir string) (WorktreeStatus, error)
	// Rescue puts head, index, changes and untracked files of a worktree under a ref.
	Rescue(ctx context.Context, dir, ref, message string, at time.Time) (Rescue, error)
	// RescueCommit does the same for a head that no worktree stands on.
	RescueCommit(ctx context.Context, head lanes.Commit, ref, message string, at time.Time) (Rescue, error)
	// Rescues lists all rescues by name, with the paths that differ from their head as Files.
	Rescues(ctx context.Context) ([]Rescue, error)
	// RestoreRescue makes a worktree in dir on a new branch at the rescue's head, and brings index, changes and untracked
	// files back as they were. ErrRefExists when the branch is there; a folder with anything in it is refused.
	RestoreRescue(ctx context.Context, ref, dir, branch string) (Rescue, error)

	// Merge computes a merge. Conflicts are a result, not an error.
	Merge(ctx context.Context, r MergeRequest) (MergeResult, error)
	// CommitFiles makes a commit on top of parent with files put in, published by nobody yet.
	CommitFiles(ctx context.Context, parent lanes.Commit, files []File, message string, at time.Time, sign bool) (lanes.Commit, error)
	// Tree lists the files of a commit below prefix ("" for all).
	Tree(ctx context.Context, at lanes.Commit, prefix string) ([]TreeEntry, error)
	// Blobs reads objects by id, in order, in one go.
	Blobs(ctx context.Context, oids []string) ([][]byte, error)
}
