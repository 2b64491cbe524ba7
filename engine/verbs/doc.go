// Package verbs is the edge of the decision verbs, "ferrox query FAMILY.VERB": it reads flags, settings and state files, asks
// the pure packages below gates, writes what they decided and prints it.
//
// It decides nothing itself, knows no store and no lane, and is kept quick to start: scripts call it at every step.
package verbs
