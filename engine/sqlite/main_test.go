package sqlite

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs this binary as one of the processes that tests start, when told to by the environment.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(child(role, os.Getenv(pathVariable)))
	}
	goleak.VerifyTestMain(m)
}
