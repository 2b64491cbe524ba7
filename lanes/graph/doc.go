// Package graph is the scheduling view of a set of tasks: who waits for whom, whose scopes overlap, which waves and lanes
// a plan has, and what may start now.
//
// It sees ids, states and scopes only, decides nothing about completion, and gives the same answer for the same tasks
// in any order of input.
package graph
