// Package trident decides on the bounded audit by other model families: one pass, at one of exactly two checkpoints, by a
// panel that leaves the caller's own lineage out and has at least two others (verbs.md 7).
//
// It asks nobody. The panel's findings come in; what they agree on comes out.
package trident
