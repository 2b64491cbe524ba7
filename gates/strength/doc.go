// Package strength decides whether an increment has earned its merge: receipts, judges, severities, mutation, burndown,
// coverage, depth, and the merge gate over all of them (verbs.md 5).
//
// It reads no file and runs nothing. What is stored comes in as bytes or values, and most of it is somebody's word: the
// package says what follows from it, not whether it is true.
package strength
