package gates

import "ferrox/lanes"

// Path names a way on which a task could become complete, a lane merge, or work be removed.
type Path string

// The paths that ask the predicate.
const (
	PathClaim     Path = "claim"     // a .DONE was found after a worker's tree had ended
	PathResume    Path = "resume"    // recovery found a claim, or a half-done merge
	PathRecorded  Path = "recorded"  // recovery found a merge in the branch that a permit had moved there
	PathMerge     Path = "merge"     // ferrox merge
	PathShip      Path = "ship"      // what passes of a task is landed; its open steps are filed
	PathRetry     Path = "retry"     // ferrox retry
	PathSkip      Path = "skip"      // ferrox skip
	PathPause     Path = "pause"     // ferrox pause
	PathTakeover  Path = "takeover"  // ferrox takeover
	PathAbort     Path = "abort"     // ferrox abort
	PathIntegrate Path = "integrate" // ferrox integrate
	PathClean     Path = "clean"     // ferrox clean
)

// Permit is proof that the predicate allowed one effect on one path. Only Complete makes one; the zero permit is refused
// everywhere. It is never stored or rebuilt: an effect that runs later asks again.
type Permit struct {
	batch   lanes.BatchID
	task    lanes.TaskID
	path    Path
	commit  lanes.Commit
	version int64
	valid   bool
}

// Valid reports whether the predicate minted the permit.
func (p Permit) Valid() bool { return p.valid }

// Batch is the batch that the permit speaks of.
func (p Permit) Batch() lanes.BatchID { return p.batch }

// Task is the task that the permit speaks of.
func (p Permit) Task() lanes.TaskID { return p.task }

// Path is the way on which it was asked for.
func (p Permit) Path() Path { return p.path }

// Commit is the lane head that the predicate examined.
func (p Permit) Commit() lanes.Commit { return p.commit }

// Version is the version of the task's row that the decision was made on.
func (p Permit) Version() int64 { return p.version }
