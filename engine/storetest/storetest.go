// Package storetest is the contract of engine.Store: every store passes it, whatever it is built on. A fault found in one
// store becomes a case for all.
package storetest

import (
	"testing"

	"ferrox/engine"
)

// Run checks that open yields stores that keep every promise of engine.Store. All stores that open yields for one
// testing.TB share their records, as two processes would; those of another are empty. open closes them when the test ends.
func Run(t *testing.T, open func(testing.TB) engine.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, func(testing.TB) engine.Store)
	}{
		{"MissingIsNotFound", missingIsNotFound},
		{"EmptyListIsNoError", emptyListIsNoError},
		{"EveryFieldRoundTrips", everyFieldRoundTrips},
		{"TextsAreByteExact", textsAreByteExact},
		{"TimesAreWholeMicroseconds", timesAreWholeMicroseconds},
		{"VersionsAreCompared", versionsAreCompared},
		{"OneWinnerPerVersion", oneWinnerPerVersion},
		{"FailedUpdateLeavesNothing", failedUpdateLeavesNothing},
		{"CancelledUpdateLeavesNothing", cancelledUpdateLeavesNothing},
		{"PanicLeavesNothing", panicLeavesNothing},
		{"TransactionEndsWithItsFunction", transactionEndsWithItsFunction},
		{"ViewIsOneSnapshot", viewIsOneSnapshot},
		{"ReopenSeesAll", reopenSeesAll},
		{"DataVersionTellsOfCommits", dataVersionTellsOfCommits},
		{"EffectsFollowTheirRecord", effectsFollowTheirRecord},
		{"SettledTwiceIsOnce", settledTwiceIsOnce},
		{"EventsAscend", eventsAscend},
		{"MessagesNeverChange", messagesNeverChange},
		{"Lists", lists},
		{"Looks", looks},
		{"UnresolvedHolds", unresolvedHolds},
		{"PrefixMindsCase", prefixMindsCase},
		{"LeaseFences", leaseFences},
		{"RequestOnce", requestOnce},
		{"SupervisorOnce", supervisorOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open)
		})
	}
}
