package gates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/gates"
)

func TestCitations(t *testing.T) {
	t.Parallel()
	own, others := []string{"01OWN"}, []string{"01OTHER"}
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
