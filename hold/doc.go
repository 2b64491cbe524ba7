// Package hold is the hold record and its transition table: a durable "may not complete until a ruling has reached the
// work".
//
// It decides only. Who may rule and what a ruling must look like is in package mailbox; whether a task may complete is in
// package gates.
package hold
