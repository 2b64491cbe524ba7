package packet

import (
	"fmt"
	"slices"
)

// Severity says whether a problem keeps a packet from running.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// ProblemCode names a kind of problem. New codes may be added; none is renamed.
type ProblemCode string

// What can be wrong with one packet.
const (
	CodePromptMissing   ProblemCode = "prompt-missing"
	CodeNotText         ProblemCode = "not-text"          // not UTF-8, or with NUL bytes
	CodeFenceUnclosed   ProblemCode = "fence-unclosed"    // a fence or comment hides the rest of the file
	CodeFrontMatter     ProblemCode = "front-matter"      // a front matter key that says something else than the packet
	CodeIDMissing       ProblemCode = "id-missing"        //
	CodeIDInvalid       ProblemCode = "id-invalid"        //
	CodeIDMismatch      ProblemCode = "id-mismatch"       // heading and folder name different tasks
	CodeTitleMissing    ProblemCode = "title-missing"     //
	CodeSizeUnknown     ProblemCode = "size-unknown"      //
	CodeReviewLevel     ProblemCode = "review-level"      // declared and not 0 to 3
	CodeSectionTwice    ProblemCode = "section-twice"     //
	CodeSectionLevel    ProblemCode = "section-level"     // a section's name under a heading of another level
	CodeDependencyBad   ProblemCode = "dependency-bad"    // an entry that is no legal id
	CodeDependencyNone  ProblemCode = "dependency-none"   // None and ids in one section
	CodeDependencyProse ProblemCode = "dependency-prose"  // ids found in a sentence
	CodeScopeMissing    ProblemCode = "scope-missing"     //
	CodeScopeProse      ProblemCode = "scope-prose"       // a line of the section that is no bullet
	CodeScopeOutside    ProblemCode = "scope-outside"     // an entry that points out of the repository
	CodeScopeGlob       ProblemCode = "scope-glob"        // an entry that is no legal glob
	CodeNoSteps         ProblemCode = "no-steps"          //
	CodeStepHeading     ProblemCode = "step-heading"      // looks like a step and is none
	CodeStepTwice       ProblemCode = "step-twice"        //
	CodeStateUnknown    ProblemCode = "state-unknown"     // a step's Status line with other words
	CodeSegments        ProblemCode = "segments"          //
	CodeRepoBad         ProblemCode = "repo-bad"          //
	CodeReviewName      ProblemCode = "review-name"       // looks like a review and is none
	CodeReviewBad       ProblemCode = "review-unreadable" //
)

// What can be wrong with a set of packets.
const (
	CodeDuplicateID       ProblemCode = "duplicate-id"
	CodeSimilarID         ProblemCode = "similar-id" // differs only in letter case or Unicode form
	CodeDependencyUnknown ProblemCode = "dependency-unknown"
	CodeDependencySelf    ProblemCode = "dependency-self"
	CodeDependencyCycle   ProblemCode = "dependency-cycle"
)

// Problem is one thing that a packet says wrongly or unclearly.
type Problem struct {
	Code     ProblemCode `json:"code"`
	Severity Severity    `json:"severity"`
	File     string      `json:"file"` // slash-separated, relative to the repository root
	Line     int         `json:"line"` // from 1; 0 when the problem is the whole file's
	Message  string      `json:"message"`
}

// String gives the problem as one line, "file:line: message".
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Failed reports whether any of the problems is an error.
func Failed(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

func failure(code ProblemCode, file string, line int, format string, args ...any) Problem {
	return Problem{Code: code, Severity: SeverityError, File: file, Line: line, Message: fmt.Sprintf(format, args...)}
}

func warning(code ProblemCode, file string, line int, format string, args ...any) Problem {
	return Problem{Code: code, Severity: SeverityWarning, File: file, Line: line, Message: fmt.Sprintf(format, args...)}
}
