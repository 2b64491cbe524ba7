package gates

import (
	"strings"
	"testing"
)

func TestMatrixTable(t *testing.T) {
	t.Parallel()
	table := MatrixTable(Matrix())
	lines := strings.Split(strings.TrimRight(table, "\n"), "\n")
	if len(lines) != 2+8 {
		t.Fatalf("%d lines, want a head and the eight rows of the taxonomy", len(lines))
	}
	for _, l := range lines {
		if strings.Count(l, "|") != 7 {
			t.Errorf("not six cells: %s", l)
		}
	}
	kinds := map[Type]bool{TypePreFlight: false, TypeRevision: false, TypeEscalation: false, TypeAbort: false}
	for _, r := range Matrix() {
		if _, known := kinds[r.Type]; !known {
			t.Errorf("%s is none of the four types", r.Type)
		}
		kinds[r.Type] = true
		if bounded := r.Type == TypeRevision || r.Type == TypeEscalation; bounded != (r.Verb != "") {
			t.Errorf("%s %s: what waits or loops is bounded by a verb, what does not is not", r.Workflow, r.Phase)
		}
	}
	for k, used := range kinds {
		if !used {
			t.Errorf("no gate is of type %s", k)
		}
	}
}
