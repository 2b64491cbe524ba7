package lanes

// Code says why something may not happen. Codes are part of the outside contract: new ones may be added, none is renamed.
type Code string

// The reasons that a completion, a merge or a start can be refused for.
const (
	CodeHoldOpen              Code = "hold-open"
	CodeHoldUnacknowledged    Code = "hold-unacknowledged"
	CodeClaimMissing          Code = "claim-missing"
	CodeClaimStale            Code = "claim-stale"
	CodeNoSteps               Code = "no-steps"
	CodeStepsOpen             Code = "steps-open"
	CodeUncommittedWork       Code = "uncommitted-work"
	CodeWrongBranch           Code = "wrong-branch"
	CodeUndeclaredFiles       Code = "undeclared-files"
	CodeHotSeam               Code = "hot-seam-not-serialized"
	CodeMigrationUncentral    Code = "migration-uncentral"
	CodeReviewMissing         Code = "review-missing"
	CodeReviewNotApproved     Code = "review-not-approved"
	CodeReviewUnreadable      Code = "review-unreadable"
	CodeRatificationInvalid   Code = "ratification-invalid"
	CodeCapFired              Code = "cap-fired"
	CodeAborted               Code = "aborted"
	CodeVerifyFailed          Code = "verify-failed"
	CodeMergeConflict         Code = "merge-conflict"
	CodeIntegrationCheckedOut Code = "integration-checked-out"
	CodeIntegrationMoved      Code = "integration-moved"
	CodeDependencyUnmet       Code = "dependency-unmet"
	CodeLeaseLost             Code = "lease-lost"
	CodeFactUnreadable        Code = "fact-unreadable"

	// Added to the published list by this implementation.

	CodePathClash     Code = "path-clash"        // names that differ only in letter case, or a file against a folder
	CodeSubmodule     Code = "submodule-changed" // a lane changed a gitlink, whose commit only it may have
	CodeNoProgress    Code = "no-progress"       // runs in a row that did nothing
	CodeWorkerFailed  Code = "worker-failed"     // the worker could not start, or died by a signal
	CodeSetupFailed   Code = "setup-failed"      // a runner.setup command failed in a fresh worktree
	CodeSkipped       Code = "skipped"           // the operator skipped the task
	CodeWorkerRunning Code = "worker-running"    // a worker is alive in the lane
	CodeNotLanded     Code = "not-landed"        // commits or files that nothing else holds
	CodeMergeRefused  Code = "merge-refused"     // git cannot do this merge right (drivers, filters, signing)
	CodeStateForbids  Code = "state-forbids"     // the task's state has no such move
)

// Reason is one thing that stands against a completion, a merge or a start, with who clears it and how.
type Reason struct {
	Code   Code   `json:"code"`
	Ref    string `json:"ref"`    // the hold, gate, file, task … that the reason speaks of
	Text   string `json:"text"`   // one sentence for a person
	Clears string `json:"clears"` // worker, supervisor, operator or engine
	Next   string `json:"next"`   // the next command to type; may be empty
}
