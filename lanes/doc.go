// Package lanes holds the words that every part of ferrox shares (ids, states, reasons) and the lane machine: what a
// lane does next, which task starts where, when a budget is spent.
//
// It decides and touches nothing: no files, no clock, no randomness. Instants and observations come in as arguments.
package lanes
