package sqlite

import (
	"path/filepath"
	"sync"
	"testing"

	"ferrox/engine"
	"ferrox/engine/storetest"
)

// newStoreAt opens a store that is closed when the test ends.
func newStoreAt(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestContract(t *testing.T) {
	t.Parallel()

	var mu sync.Mutex
	paths := map[testing.TB]string{}
	storetest.Run(t, func(t testing.TB) engine.Store {
		mu.Lock()
		path, ok := paths[t]
		if !ok {
			path = filepath.Join(t.TempDir(), "ferrox.db")
			paths[t] = path
		}
		mu.Unlock()
		return newStoreAt(t, path, Options{Migrate: true})
	})
}
