// Package powercut tells tests what a disk may hold after the power was cut.
//
// A Recorder runs programs and is told of each fsync and fdatasync that they or anything they start ask for, before the
// kernel carries it out, whoever asks: Go, SQLite, git, a shell. The kernel's seccomp filter with a listener does that,
// so that no program has to be changed for it, and none can forget to tell. What was never flushed may be lost, so from
// these instants the recorder knows at each of them two states of the folder: what is durable, and what was written.
// Every Cut builds a state between the two.
//
// The rules of the imagined disk, stricter than any file system in use:
//
//   - The bytes of a file are durable when the file is flushed, its name when its folder is flushed; neither brings the other.
//   - A file that is moved to another folder is never under both names, nor under none.
//   - What is written and not flushed may be there or not, page by page.
//   - What is there when the recording begins is durable.
package powercut
