// Package guard reads a shell command line the way a shell would and says whether it contains a merge or ship command
// that touches a protected ref.
//
// It is a sensor, not a lock: it sees what a line says, not what a script that the line starts will do. Everything that it
// cannot read in a place where a merge could stand counts as one.
//
// It touches nothing. What it must know of a repository comes in as Facts, one a directory; directories that the line
// names and that the caller has not described come back in Report.Missing, to be looked up and asked about again.
package guard
