package epoch_test

import (
	"testing"

	"ferrox/gates/epoch"
)

func TestText(t *testing.T) {
	t.Parallel()
	for ms, want := range map[epoch.Millis]string{
		0: "1970-01-01T00:00:00.000Z", 1.9: "1970-01-01T00:00:00.001Z", -1: "1969-12-31T23:59:59.999Z",
		8.64e15: "+275760-09-13T00:00:00.000Z", -8.64e15: "-271821-04-20T00:00:00.000Z", -62167219200000: "0000-01-01T00:00:00.000Z",
		253402300800000: "+010000-01-01T00:00:00.000Z",
	} {
		if got := ms.String(); got != want || !ms.Valid() {
			t.Errorf("%v: %s, want %s", float64(ms), got, want)
		}
	}
	if epoch.Millis(8.64e15+1).Valid() || epoch.Millis(-8.65e15).Valid() {
		t.Error("an instant without a text form is valid")
	}
}
