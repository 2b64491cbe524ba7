package enginetest

import "testing"

// Histories that went wrong once.
func TestHistories_ThatWentWrong(t *testing.T) {
	t.Parallel()
	template := newTemplate(t)
	for name, steps := range map[string][]step{
		"an abort without an engine waits for workers without spinning":  {{killEngine, 0, 0, 0}, {abort, 0, 0, 0}},
		"a skip without an engine waits for its worker without spinning": {{killEngine, 0, 0, 0}, {skip, 0, 0, 0}},
		"a merge is tried again within the second of its first try":      {{killEngine, 4, 0, 0}, {finish, 0, 1, 0}},
		"an engine whose store is locked leaves, whoever works":          {{locked, 1, 0, 0}, {finish, 1, 1, 0}},
		"an engine whose disk is full leaves, whoever works":             {{diskFull, 1, 0, 0}, {finish, 1, 1, 0}},
		"a question in the spool stands against a skip after a takeover": {{takeover, 0, 0, 0}, {spool, 1, 0, 0}, {idleOut, 1, 0, 0}, {skip, 1, 0, 0}},
		"a question in the spool is cancelled by an abort":               {{takeover, 0, 0, 0}, {spool, 1, 0, 0}, {idleOut, 1, 0, 0}, {abort, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := history{Steps: steps, Grace: "1m"}
			if end := play(t, template, h, sound); end.wrong != "" {
				t.Error(tell(h, end))
			}
		})
	}
}
