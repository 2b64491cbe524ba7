package strength

import "encoding/json"

// FailingRun is the red run that a receipt claims.
type FailingRun struct {
	ExitCode  float64 `json:"exit_code"`
	LogDigest string  `json:"log_digest"`
}

// Receipt is the claim that a test of a requirement was seen failing at a commit (verbs.md 5.3).
type Receipt struct {
	Requirement string     `json:"requirement"`
	Test        string     `json:"test"`
	FailingRun  FailingRun `json:"failing_run"`
	Commit      string     `json:"commit"`
}

// ReceiptAnswer is the decision of strength.verify-receipt (verbs.md 5.4).
type ReceiptAnswer string

// The answers of strength.verify-receipt.
const (
	ReceiptMissing    ReceiptAnswer = "missing"
	ReceiptNeverRed   ReceiptAnswer = "never-red"
	ReceiptFabricated ReceiptAnswer = "fabricated-commit"
	ReceiptValid      ReceiptAnswer = "valid"
)

// CommitLookup says what is known of a commit.
type CommitLookup int

// What a look-up of a commit can find. CommitUnchecked stands outside a repository and where git can't run.
const (
	CommitUnchecked CommitLookup = iota
	CommitKnown
	CommitUnknown
)

// ReceiptDecision is the answer of strength.verify-receipt.
type ReceiptDecision struct {
	Decision    ReceiptAnswer `json:"decision"`
	Requirement string        `json:"requirement"`
}

// VerifyReceipt judges the stored receipt of a requirement; lookup is asked only for a receipt that is good otherwise.
func VerifyReceipt(requirement string, stored json.RawMessage, lookup func(commit string) CommitLookup) ReceiptDecision {
	d := ReceiptDecision{Decision: ReceiptMissing, Requirement: requirement}
	receipt, ok := fields(stored)
	if !ok {
		return d
	}

	run, _ := fields(receipt["failing_run"])
	code, isNumber := numberOf(run["exit_code"])
	commit := text(receipt["commit"])
	if !isNumber || code == 0 || norm(text(run["log_digest"])) == "" || norm(commit) == "" {
		d.Decision = ReceiptNeverRed
		return d
	}

	d.Decision = ReceiptValid
	if lookup(commit) == CommitUnknown {
		d.Decision = ReceiptFabricated
	}
	return d
}

// fields reads a JSON object; ok is false for everything else.
func fields(raw json.RawMessage) (m map[string]json.RawMessage, ok bool) {
	if absent(raw) || json.Unmarshal(raw, &m) != nil {
		return nil, false
	}
	return m, m != nil
}
