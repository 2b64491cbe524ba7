// Package crash names the instants at which a test may kill the program: before and after every commit and every effect.
//
// It does nothing unless the environment asks for it when the program starts. FERROX_TEST_CRASH_LOG=FILE appends the name
// of every point that is passed, by any process that shares the file. FERROX_TEST_CRASH_AT=NAME#N[>NAME#N…] beside it
// records those names alone. It kills the process that passes the first of them for the N-th time, then the one that passes
// the second for the N-th time after that, and so on.
package crash
