// Package coord decides what parallel work may touch: declared against written files, hot seams, the one writer of shared
// state, and migration numbers (coordination.md, verbs.md 4).
//
// It reads no file. Callers hand in paths and what was stored, and write what comes back.
package coord
