// Package process runs workers: each one under a shim, which is the same executable started again in a session of its
// own. The shim holds the lane's kernel lock, keeps the worker's output, carries its requests, ends its whole process
// tree and leaves a durable record of how the run ended. It outlives the engine; another engine finds it by the
// identity that it recorded and waits for it as if it had started it.
//
// The package knows no store and decides nothing about tasks: what a worker asks for is handed to the Handler that
// cmd/ferrox gives. It is for Linux; elsewhere only the output of past runs can be read.
package process
