package strength

// LandingDecision is the answer of strength.integration-landing (verbs.md 5.11).
type LandingDecision struct {
	Action string `json:"action"` // block, reprove or land
	Reason string `json:"reason"`
}

// DecideLanding says whether an integration head may land on the protected branch.
func DecideLanding(mergedHeadProven, ffOnly, protectedClean bool) LandingDecision {
	switch {
	case !protectedClean:
		return LandingDecision{"block", "protected-branch-not-clean"}
	case !mergedHeadProven:
		return LandingDecision{"reprove", "merged-head-not-proven"}
	case !ffOnly:
		return LandingDecision{"block", "not-fast-forward"}
	default:
		return LandingDecision{"land", "proven-fast-forward"}
	}
}

// BlockerDecision is the answer of strength.blocker-policy. A blocker is always shown.
type BlockerDecision struct {
	Action     string `json:"action"` // park-and-continue or halt
	Surface    bool   `json:"surface"`
	NeedsHuman bool   `json:"needsHuman"`
	Reason     string `json:"reason"`
}

// DecideBlocker says whether work goes on beside a blocker.
func DecideBlocker(independentWorkRemaining, requiresHuman bool) BlockerDecision {
	d := BlockerDecision{Action: "halt", Surface: true, NeedsHuman: requiresHuman, Reason: "no-independent-work"}
	if independentWorkRemaining {
		d.Action, d.Reason = "park-and-continue", "independent-work-remaining"
	}
	return d
}

// AuthorityDecision is the answer of strength.authority-check.
type AuthorityDecision struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
}

// alwaysDenied are the operations that no caller's list can allow.
func alwaysDenied() []string {
	return []string{"push", "merge-main", "release", "deploy", "canary", "issue-close", "lifecycle-cleanup"}
}

// CheckAuthority says whether an operation may be done without a person. denied adds to the built-in set.
func CheckAuthority(op string, denied []string) AuthorityDecision {
	if contains(append(alwaysDenied(), denied...), norm(op)) {
		return AuthorityDecision{false, "operation-denied"}
	}
	return AuthorityDecision{true, "operation-not-denied"}
}
