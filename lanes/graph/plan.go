package graph

import (
	"cmp"
	"slices"

	"ferrox/lanes"
)

// Lane is one lane of a plan.
type Lane struct {
	Number lanes.Number // from 1
	Tasks  []lanes.TaskID
	Weight int // S 1, M 2, L 4
}

// PlanLanes lays the tasks of one wave into at most limit lanes: groups of several tasks first, the heaviest first, each
// to the lightest lane, then the single ones in the same way. A group never splits. Ties go to the first id and the
// lowest number. A limit below 1 is taken as 1.
func PlanLanes(wave []Node, limit int) []Lane {
	groups := groupNodes(wave)
	slices.SortStableFunc(groups, func(a, b []Node) int {
		return cmp.Or(
			cmp.Compare(min(len(b), 2), min(len(a), 2)),
			cmp.Compare(weigh(b), weigh(a)),
			cmp.Compare(a[0].ID, b[0].ID),
		)
	})

	plan := make([]Lane, min(len(groups), max(limit, 1)))
	for i := range plan {
		plan[i].Number = lanes.Number(i + 1)
	}
	for _, g := range groups {
		lightest := 0
		for i := range plan {
			if plan[i].Weight < plan[lightest].Weight {
				lightest = i
			}
		}
		plan[lightest].Tasks = append(plan[lightest].Tasks, idsOf(g)...)
		plan[lightest].Weight += weigh(g)
	}
	return plan
}

func weigh(group []Node) int {
	total := 0
	for _, n := range group {
		total += weight(n.Size)
	}
	return total
}

func weight(size string) int {
	switch size {
	case "S":
		return 1
	case "L":
		return 4
	default:
		return 2
	}
}
