// Package engine is the one shell of ferrox: it loads facts, asks the pure core (lanes, mailbox, hold, gates), commits
// the answer in one transaction and only then acts.
//
// Everything that can block, fail or surprise is behind the small interfaces of ports_*.go, declared here because they
// are used here; the edges (engine/sqlite, engine/gitcli, engine/process, engine/watch) implement them, and cmd/ferrox
// wires them together. The engine imports no edge.
package engine
