package antiloop_test

import (
	"testing"

	"ferrox/gates/antiloop"
)

func budget(rounds, lineages float64) antiloop.Record {
	return antiloop.Record{Kind: antiloop.KindBudget, Artifact: "a", Question: "q", MaxRounds: &rounds, MaxLineages: &lineages}
}

func round(lineage string) antiloop.Record {
	return antiloop.Record{Kind: antiloop.KindRound, Artifact: " A ", Question: "Q\n", Lineage: lineage, Gate: "g"}
}

func fold(records ...antiloop.Record) antiloop.State {
	return antiloop.Fold(records, antiloop.KeyOf("a", "q"))
}

func TestMayOpen(t *testing.T) {
	t.Parallel()
	noLimit := antiloop.Record{Kind: antiloop.KindBudget, Artifact: "a", Question: "q"}
	for _, tc := range []struct {
		name    string
		s       antiloop.State
		lineage string
		want    antiloop.Code
	}{
		{"no budget", fold(), "x", antiloop.CodeUndeclared},
		{"a budget without limits", fold(noLimit), "x", antiloop.CodeUndeclared},
		{"a budget of a fraction", fold(budget(1.5, 2)), "x", antiloop.CodeUndeclared},
		{"declared after a round", fold(round("x"), budget(9, 9)), "x", antiloop.CodeUndeclared},
		{"the first declaration counts", fold(budget(1, 9), budget(9, 9), round("x")), "x", antiloop.CodeSpent},
		{"a malformed one is not put right by a second", fold(noLimit, budget(9, 9)), "x", antiloop.CodeUndeclared},
		{"rounds 3 permit three", fold(budget(3, 9), round("x"), round("x")), "x", ""},
		{"and no fourth", fold(budget(3, 9), round("x"), round("x"), round("x")), "x", antiloop.CodeSpent},
		{"lineages 2 permit one reviewer", fold(budget(9, 2), round("x")), " X ", ""},
		{"and no second", fold(budget(9, 2), round("x")), "y", antiloop.CodeSpent},
		{"none at all", fold(budget(0, 9)), "x", antiloop.CodeSpent},
		{"another artifact", antiloop.Fold([]antiloop.Record{budget(9, 9)}, antiloop.KeyOf("b", "q")), "x", antiloop.CodeUndeclared},
		{"the same, however it is written", antiloop.Fold([]antiloop.Record{budget(9, 9)}, antiloop.KeyOf("\tA\x01", "  q  ")), "x", ""},
	} {
		if code, ok := tc.s.MayOpen(tc.lineage); code != tc.want || ok != (tc.want == "") {
			t.Errorf("%s: %q %v, want %q", tc.name, code, ok, tc.want)
		}
	}
	if _, ok := fold(noLimit).MayDeclare(); ok {
		t.Error("a second declaration is never taken, whatever the first was")
	}
}

func TestBlocksAndDisposition(t *testing.T) {
	t.Parallel()
	one, zero := 1.0, 0.0
	for _, tc := range []struct {
		requested bool
		command   string
		exit      *float64
		want      bool
	}{
		{true, "make test", &one, true}, {false, "make test", &one, false}, {true, " ", &one, false}, {true, "x", nil, false}, {true, "x", &zero, false},
	} {
		if got := antiloop.Blocks(tc.requested, tc.command, tc.exit); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}

	yes, no := true, false
	finding := func(category string, blocking *bool) antiloop.Record {
		return antiloop.Record{Kind: antiloop.KindFinding, Artifact: "a", Question: "q", Category: category, Blocking: blocking}
	}
	for _, tc := range []struct {
		f    antiloop.Record
		want string
	}{
		{finding("style", &no), "ship-with-backlog"}, {finding(" Auth ", &no), "escalate-to-human"}, {finding("auth", nil), "escalate-to-human"}, {finding("auth", &yes), "ship-with-backlog"},
	} {
		if st := fold(tc.f).Status("a", "q", []string{"auth"}); st.Disposition != tc.want || len(st.Findings) != 1 {
			t.Errorf("%+v: %+v", tc.f, st)
		}
	}
	if st := fold(budget(1, 5), round("x")).Status("a", "q", nil); st.Decision != string(antiloop.CodeSpent) || st.Rounds != 1 || st.Lineages != 1 {
		t.Errorf("%+v", st)
	}
}
