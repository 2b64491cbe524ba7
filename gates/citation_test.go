package gates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/gates"
)

func TestCitations(t *testing.T) {
	t.Parallel()
	own, others := []string{"01OWN", "01LONG-ENOUGH-TO-TELL"}, []string{"01OTHER"}
	for name, c := range map[string]struct {
		message string
		want    []gates.CitationFlag
	}{
		"W1 a made-up ruling":                   {"fix: per ruling R-999", []gates.CitationFlag{{Kind: "prose-claim", Ref: "fix: per ruling R-999"}}},
		"F001 a ruling nobody gave":             {"fix(TP-2037): R004 cap ruling (FIX) — done", []gates.CitationFlag{{Kind: "prose-claim", Ref: "fix(TP-2037): R004 cap ruling (FIX) — done"}}},
		"F062 bookkeeping is no claim":          {"hold(TP-1919): record pending operator ruling", nil},
		"F063 ruling-independent work":          {"feat: apply ruling-independent part", nil},
		"F064 a known ruling by trailer":        {"fix it\n\nFerrox-Ruling: 01OWN\r\n", nil},
		"an unknown trailer":                    {"fix it\n\nferrox-ruling: 01OWN, 01GONE", []gates.CitationFlag{{Kind: "unknown-ruling", Ref: "01GONE"}}},
		"a trailer of another task":             {"fix it\n\n Ferrox-Ruling: 01OTHER", []gates.CitationFlag{{Kind: "wrong-unit", Ref: "01OTHER"}}},
		"bookkeeping with a verdict is a claim": {"no more waiting, ruling R004 came", []gates.CitationFlag{{Kind: "prose-claim", Ref: "no more waiting, ruling R004 came"}}},
		"any letter case, or enough of it":      {"fix it\n\nferrox-ruling: 01own, 01LONG-ENOUGH-T", nil},
		"too little of it":                      {"fix it\n\nferrox-ruling: 01LONG", []gates.CitationFlag{{Kind: "unknown-ruling", Ref: "01LONG"}}},
		"a list that goes on":                   {"fix it\n\nTaskplane-Ruling: 01OWN,\n  01GONE,\n  01OTHER\nper ruling", []gates.CitationFlag{{Kind: "unknown-ruling", Ref: "01GONE"}, {Kind: "wrong-unit", Ref: "01OTHER"}, {Kind: "prose-claim", Ref: "per ruling"}}},
		"a trailer is never prose":              {"Ferrox-Ruling: 01OWN ruling APPROVE", []gates.CitationFlag{{Kind: "unknown-ruling", Ref: "ruling"}, {Kind: "unknown-ruling", Ref: "APPROVE"}}},
		"F062 waiting, with a gate's number":    {"hold: R004 still awaits a ruling", []gates.CitationFlag{{Kind: "prose-claim", Ref: "hold: R004 still awaits a ruling"}}},
		"F062 every word of bookkeeping":        {"apply nothing: pending a ruling\nfollow up, awaiting the ruling\napplied all but what is requesting a ruling\napply what needs no ruling\nhold the rest until a ruling is applied\napplied before the ruling\nimplement it without a ruling\nno ruling says so", nil},
		"F063 in a claim":                       {"applied the ruling-independent part, as ruled", []gates.CitationFlag{{Kind: "prose-claim", Ref: "applied the ruling-independent part, as ruled"}}},
		"other words":                           {"scruled overrulings are fine", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, gates.Citations(c.message, own, others)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUncited: a ruling is named by a trailer of any commit, under either name, never by prose or by its hold's id.
func TestUncited(t *testing.T) {
	t.Parallel()
	messages := []string{"work", "more\n\nTaskplane-Ruling: 01ONE", "more\n\nferrox-ruling: 01TWO,\n 01THREE", "per ruling 01FOUR (FIX)", "x\n\nFerrox-Hold: 01FIVE"}
	got := gates.Uncited(messages, []string{"01ONE", "01TWO", "01THREE", "01FOUR", "01FIVE"})
	want := []gates.CitationFlag{{Kind: gates.FlagUncited, Ref: "01FOUR"}, {Kind: gates.FlagUncited, Ref: "01FIVE"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := gates.Uncited(messages, nil); got != nil {
		t.Errorf("without rulings: %v", got)
	}
}
