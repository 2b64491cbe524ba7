package settings

import "time"

// Settings is the whole of .planning/config.json with every default filled in.
type Settings struct {
	Schema       string       `json:"$schema,omitempty" jsonschema:"where an editor finds the schema of this file; ferrox does not read it"`
	Runner       Runner       `json:"runner" jsonschema:"how batches are run"`
	Tasks        Tasks        `json:"tasks" jsonschema:"where task packets are found"`
	Authority    Authority    `json:"authority" jsonschema:"who may rule, and how that is proved"`
	Notify       []string     `json:"notify" jsonschema:"reserved; has no effect yet"`
	Guard        Guard        `json:"guard" jsonschema:"what the git and agent hooks protect"`
	Halting      Halting      `json:"halting" jsonschema:"caps and clocks of the halting verbs"`
	Coordination Coordination `json:"coordination" jsonschema:"the registry of the coordination verbs"`
	Strength     Strength     `json:"strength" jsonschema:"limits and stores of the strength verbs"`
	Model        Model        `json:"model" jsonschema:"audits by other model families"`
	Domain       string       `json:"domain,omitempty" jsonschema:"what the project makes; prose domains (writing, long-form, research) waive two merge criteria in the merge hook"`
}

// Runner is the block "runner".
type Runner struct {
	Lanes           int           `json:"lanes" jsonschema:"lanes that work at the same time"`
	LanesDir        string        `json:"lanes_dir" jsonschema:"folder of the lane worktrees, from the main checkout; empty is the checkout's name with .lanes, beside it"`
	Setup           [][]string    `json:"setup" jsonschema:"commands run once in a fresh worktree"`
	Copy            []string      `json:"copy" jsonschema:"ignored files that a fresh worktree gets"`
	Worker          Worker        `json:"worker" jsonschema:"the coding agent"`
	Reviewer        Reviewer      `json:"reviewer" jsonschema:"the reviewing agent"`
	Verify          [][]string    `json:"verify" jsonschema:"commands run on the merged tree before it lands"`
	NoProgressLimit int           `json:"no_progress_limit" jsonschema:"runs in a row without progress after which a task is stalled"`
	StallTimeout    time.Duration `json:"stall_timeout" jsonschema:"silence of a running worker after which it is stalled"`
	FinishGrace     time.Duration `json:"finish_grace" jsonschema:"time a worker gets to end by itself after its claim"`
	HoldQuiesce     time.Duration `json:"hold_quiesce" jsonschema:"time a worker may go on after its escalation"`
	HoldTimeout     time.Duration `json:"hold_timeout" jsonschema:"time until a held lane parks"`
	Backoff         Backoff       `json:"backoff" jsonschema:"wait between iterations that did nothing"`
	OnRed           string        `json:"on_red" jsonschema:"what a red ship clock does"`
	Sign            bool          `json:"sign" jsonschema:"sign ferrox's commits as git is configured to"`
}

// Worker is the block "runner.worker". Preset and Command are both empty by default; Command goes before Preset.
type Worker struct {
	Preset        string        `json:"preset" jsonschema:"a known agent"`
	Command       []string      `json:"command" jsonschema:"the command, argument by argument"`
	MaxIterations int           `json:"max_iterations" jsonschema:"runs of the worker a task may have"`
	MaxWallClock  time.Duration `json:"max_wall_clock" jsonschema:"time one run may last"`
}

// Reviewer is the block "runner.reviewer".
type Reviewer struct {
	Command []string `json:"command" jsonschema:"the command, argument by argument"`
}

// Backoff is the block "runner.backoff": the first wait, doubled up to Max.
type Backoff struct {
	Initial time.Duration `json:"initial" jsonschema:"the first wait"`
	Max     time.Duration `json:"max" jsonschema:"the longest wait"`
}

// Tasks is the block "tasks". Roots that do not exist are no error; the first ones are looked at first.
type Tasks struct {
	Roots              []string `json:"roots" jsonschema:"folders of task packets, from the main checkout"`
	DefaultReviewLevel int      `json:"default_review_level" jsonschema:"review level of a packet that names none"`
}

// Authority is the block "authority". Reserve lists, by role, the gates that only this role may rule on.
type Authority struct {
	RequireSigned  bool                `json:"require_signed" jsonschema:"a ruling counts only with a good signature"`
	AllowedSigners string              `json:"allowed_signers" jsonschema:"file in the format of ssh-keygen's allowed signers, from the main checkout"`
	Reserve        map[string][]string `json:"reserve" jsonschema:"role, and the gates only this role may rule on"`
}

// Guard is the block "guard". Protected holds branch names and globs.
type Guard struct {
	Protected []string `json:"protected" jsonschema:"branches that agents may not move, as names or globs"`
}

// Halting is the block "halting" (verbs.md 2.7).
type Halting struct {
	Gates            map[string]Gate `json:"gates" jsonschema:"caps by gate id; a gate that is not listed has the defaults"`
	Rescope          Rescope         `json:"rescope" jsonschema:"the rescope counter"`
	HumanSLASeconds  float64         `json:"human_sla_seconds" jsonschema:"seconds a person has to answer before the increment is parked"`
	ShipClockSeconds float64         `json:"ship_clock_seconds" jsonschema:"seconds since the last landed merge after which the ship clock is red"`
}

// Gate holds the caps of one gate.
type Gate struct {
	MaxPasses        int     `json:"max_passes" jsonschema:"passes at which the cap fires"`
	WallClockSeconds float64 `json:"wall_clock_seconds" jsonschema:"seconds at which the cap fires"`
	CapOutcome       string  `json:"cap_outcome" jsonschema:"what a fired cap resolves to"`
}

// Rescope is the block "halting.rescope".
type Rescope struct {
	MaxAttempts int `json:"max_attempts" jsonschema:"rescopes an increment may have"`
}

// Coordination is the block "coordination". The lists hold globs, matched without regard to letter case.
type Coordination struct {
	MigrationStore   string   `json:"migration_store" jsonschema:"file of the migration numbers"`
	HotSeams         []string `json:"hot_seams" jsonschema:"paths that force serial work"`
	SharedStatePaths []string `json:"shared_state_paths" jsonschema:"paths that only the orchestrator writes; they are seams too"`
}

// Strength is the block "strength". Paths are taken from the project's folder.
type Strength struct {
	MediumClusterThreshold int      `json:"medium_cluster_threshold" jsonschema:"medium findings on one surface that make a high one"`
	SecurityAgeLimitDays   float64  `json:"security_age_limit_days" jsonschema:"days a security or correctness item may stay open"`
	ReceiptStore           string   `json:"receipt_store" jsonschema:"file of the receipts"`
	CoverageStore          string   `json:"coverage_store" jsonschema:"file of the coverage baseline"`
	RequirementsPath       string   `json:"requirements_path" jsonschema:"file of the requirements"`
	FindingsStore          string   `json:"findings_store" jsonschema:"file of the open findings"`
	BacklogPath            string   `json:"backlog_path" jsonschema:"file of the backlog"`
	DepthStore             string   `json:"depth_store" jsonschema:"file of the depth decisions"`
	CrossAuditStore        string   `json:"cross_audit_store" jsonschema:"file of the recorded cross audits"`
	SecurityCategories     []string `json:"security_categories" jsonschema:"finding categories that never go to the backlog"`
	CrossAuditMaxPhases    int      `json:"cross_audit_max_phases" jsonschema:"phases after which a cross audit is due"`
	MergeGateRequest       string   `json:"merge_gate_request" jsonschema:"file of the evidence that the merge hook reads"`
}

// Model is the block "model".
type Model struct {
	TridentCheckpoints []string      `json:"trident_checkpoints" jsonschema:"the two checkpoints of the bounded audit"`
	RiskBoundaries     []string      `json:"risk_boundaries" jsonschema:"words in a path or category that mark high risk"`
	TridentPanel       []PanelMember `json:"trident_panel" jsonschema:"the commands that trident.audit --live asks"`
}

// PanelMember is one reviewer of a live audit: its model family and the command that reads a prompt on standard input and
// prints its findings as a JSON list.
type PanelMember struct {
	Family  string   `json:"family" jsonschema:"the model family, claude, openai, google, …"`
	Command []string `json:"command" jsonschema:"the command, argument by argument"`
}

// Gate returns the caps of a gate; a gate that is not listed has the defaults.
func (h Halting) Gate(id string) Gate {
	if g, ok := h.Gates[id]; ok {
		return g
	}
	return defaultGate()
}
