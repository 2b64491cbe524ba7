// Package antiloop bounds the rounds of a review: a budget is declared once for an artifact and a question, rounds and
// reviewer lineages count against it, and only a reproducible finding blocks (verbs.md 9).
//
// Every number is a fold of the log's records; nothing is stored beside them, and nothing resets them.
package antiloop

import (
	"strings"
	"unicode"
)

// Kind says what a record is.
type Kind string

// The kinds of records.
const (
	KindBudget  Kind = "budget-declared"
	KindRound   Kind = "round-opened"
	KindFinding Kind = "finding-filed"
)

// Code says why a call was refused.
type Code string

// The refusals. They end with a non-zero status, unlike the other verbs' decisions.
const (
	CodeUndeclared     Code = "E_LOOP_BUDGET_UNDECLARED"
	CodeRedeclared     Code = "E_LOOP_BUDGET_REDECLARED"
	CodeSpent          Code = "E_LOOP_BUDGET_SPENT"
	CodeUnreproducible Code = "E_LOOP_UNREPRODUCIBLE_BLOCKING"
)

// Record is one line of .planning/antiloop-log.jsonl. Fields that its kind has no use for are left out.
type Record struct {
	TS       string `json:"ts"`
	Kind     Kind   `json:"kind"`
	Artifact string `json:"artifact"`
	Question string `json:"question"`

	MaxRounds   *float64 `json:"max_rounds,omitempty"`
	MaxLineages *float64 `json:"max_lineages,omitempty"`
	DeclaredBy  string   `json:"declared_by,omitempty"`

	Gate    string `json:"gate,omitempty"`
	Lineage string `json:"lineage,omitempty"`

	FindingID         string   `json:"finding_id,omitempty"`
	Severity          string   `json:"severity,omitempty"`
	Category          string   `json:"category,omitempty"`
	Summary           string   `json:"summary,omitempty"`
	Reproducible      string   `json:"reproducible,omitempty"`      // the command that shows it
	ReproducibleExit  *float64 `json:"reproducible_exit,omitempty"` // what the command ended with
	Blocking          *bool    `json:"blocking,omitempty"`
	BlockingRequested *bool    `json:"blocking_requested,omitempty"`
}

// Key is what a budget belongs to: artifact and question, whatever the gate or the reviewer.
type Key struct{ artifact, question string }

// KeyOf brings artifact and question into the form in which they are compared.
func KeyOf(artifact, question string) Key { return Key{fold(artifact), fold(question)} }

func fold(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
	return strings.ToLower(strings.Join(words, " "))
}
