// Package packet reads task packets: the folder with PROMPT.md, STATUS.md, .DONE and .reviews/ that says what a worker is
// to do and how far it came.
//
// It works on bytes that the caller read and touches nothing itself. It never guesses: what cannot be read one way only
// becomes a Problem that names file and line. A .DONE is reported, not believed.
package packet
