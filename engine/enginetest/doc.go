// Package enginetest drives the engine through random histories. The store is the real one; git, processes and clocks are
// models that outlive every engine, so that an engine can be killed at any commit and any effect and started again. The
// engine's goroutines run in a bubble whose time stands still until all of them rest, and take turns at everything that
// others can see: one history is one interleaving, and the same one every time.
package enginetest
