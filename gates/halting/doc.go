// Package halting decides whether a loop may go on: pass and wall-clock caps, the rescope counter, the time limit of an open
// question, the ship clock and the coverage delta (halting.md, verbs.md 3).
//
// It reads no clock and no file. Callers hand in instants, counts and what was stored, and write what comes back.
package halting
