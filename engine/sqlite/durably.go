//go:build !brokenack

package sqlite

// durably tells a writer that its transaction is decided once it is on disk. The tests build a program that does so
// before (tag brokenack), to see that they would notice.
func durably(commit func() error) error { return commit() }
