package halting

// Entry is one line of the run-log .planning/halting-log.jsonl (verbs.md 2.9). Ids are logged as given.
type Entry struct {
	TS         string   `json:"ts"` // ISO 8601 in UTC with milliseconds
	Gate       string   `json:"gate"`
	Trigger    Trigger  `json:"trigger"`
	CapOutcome string   `json:"cap_outcome"` // an Outcome, "hard-descope-or-kill" or "wave-invalidating"
	Increment  string   `json:"increment"`
	Undeclared []string `json:"undeclared,omitempty"` // ownership only
}
