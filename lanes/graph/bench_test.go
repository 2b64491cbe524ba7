package graph_test

import (
	"fmt"
	"testing"

	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// BenchmarkPlanLanes plans a wave of 500 tasks with 8 globs each, none of which overlap: every pair is compared.
func BenchmarkPlanLanes(b *testing.B) {
	var wave []graph.Node
	for i := range 500 {
		n := graph.Node{ID: lanes.TaskID(fmt.Sprintf("T-%d", i)), Scoped: true}
		for j := range 8 {
			n.Scope = append(n.Scope, fmt.Sprintf("src/package%03d/**/file%d*.go", i, j))
		}
		wave = append(wave, n)
	}
	for b.Loop() {
		if plan := graph.PlanLanes(wave, 4); len(plan) != 4 {
			b.Fatalf("%d lanes", len(plan))
		}
	}
}
