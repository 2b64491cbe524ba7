package gates

import (
	"time"

	"ferrox/hold"
	"ferrox/lanes"
)

// Facts is everything that a completion depends on. The engine gathers it; a fact that could not be read is named in
// Unreadable and stands against everything that needs facts.
type Facts struct {
	Path  Path
	Now   time.Time
	Batch lanes.Batch
	Task  lanes.Task
	Lane  lanes.Lane    // zero when the task has none
	Holds []hold.Record // every hold of the task
	Alive bool          // a worker's tree is alive in the lane

	Claim        Claim
	Steps        Steps
	Tree         Tree
	Changed      []string // what the lane changed: a rename is both names
	Packets      []string // folders of every packet known to the batch
	Added        []string // those of Changed that were not there before
	SharedWrites []string // those of Changed that only the orchestrator writes
	Seams        []string // hot seams that the lane changed beside somebody else
	Migrations   []string // migration files whose number was not handed out
	Gitlinks     []string // submodule commits that the lane changed
	Integration  Integration
	Reviews      Reviews
	Verify       *Failure       // what the merged tree was verified with, when that failed
	Conflicts    []Conflict     // what the computed merge came to
	Ship         []lanes.Reason // what the ship gate has against the batch
	Rescued      string         // ref that holds the lane's head and files; "" when none does
	LeaseLost    bool           // another engine owns the repository
	Unreadable   []Failure
}

// Claim is the worker's .DONE as found after its tree had ended.
type Claim struct {
	Present bool
	Stale   bool // it was there before this run of the worker began
}

// Steps is what the packet's STATUS.md says.
type Steps struct {
	None bool     // no step could be read
	Open []string // steps that are not done: "Step 2: Wire it", with what is missing
}

// Tree is the lane's worktree.
type Tree struct {
	Missing bool // the folder is gone or is no worktree of this repository
	Branch  string
	Head    lanes.Commit
	OffBase bool     // the head does not contain the commit that the lane started from
	Dirty   []string // changed or untracked paths outside the packet's own STATUS.md, .DONE and .reviews
	Landed  bool     // the head is reachable from the integration branch
}

// Integration is the integration branch as found.
type Integration struct {
	Head         lanes.Commit // "" when the branch is gone
	Followable   bool         // it is where ferrox left it, or further on
	CheckedOutIn string       // folder of a worktree that has it checked out
}

// Reviews says which review gates the packet asks for and what stood in the base commit.
type Reviews struct {
	Level    int              // review level that counts
	Required []string         // gates that the level asks for
	Latest   []lanes.GateFact // latest verdict of every gate that has one
}

// Failure is something that went wrong, with what it was about.
type Failure struct {
	Ref  string
	Text string
}

// Conflict is one path that cannot be merged.
type Conflict struct {
	Path string
	Kind string
}
