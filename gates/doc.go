// Package gates answers whether something may happen: the completion predicate and its permit, review verdicts, and the
// decision verbs.
//
// Nothing here reads a clock, a file or a process: facts come in, a permit or all the reasons against come out.
package gates
