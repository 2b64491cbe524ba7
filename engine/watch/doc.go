// Package watch turns file events into "look again".
//
// An event is never taken for the truth: it may be lost, doubled or late, and some file systems send none. So whoever
// is told of a folder reads it, and is told of every folder now and then whatever the kernel says. Nothing here reads the
// watched files or knows their names, and nothing below a watched folder is watched.
package watch
