package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"ferrox/engine"
	"ferrox/engine/sqlite"
	"ferrox/engine/sshsig"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// forgery is what stands in the database of a batch that asks for signatures: one hold, released by a signed ruling.
type forgery struct {
	batch  lanes.Batch
	task   lanes.Task
	asked  mailbox.Message
	hold   hold.Record
	ruling mailbox.Message
	more   []mailbox.Message
	keys   map[string]string // private key files by name
}

// wallKeys are the lines of the allowed-signers file, but for the keys themselves.
var wallKeys = map[string]string{
	"alice": "operator/alice", "bob": "supervisor/bob",
	"old": `operator/old valid-before="20200101Z"`, "early": `operator/early valid-after="21000101Z"`, "mallory": "",
}

func wallKeyFiles(t *testing.T) (files map[string]string, signers string) {
	t.Helper()
	files = map[string]string{}
	for name, who := range wallKeys {
		file := filepath.Join(t.TempDir(), name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
		files[name] = file
		public, err := os.ReadFile(file + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		if who != "" {
			signers += who + " " + string(public)
		}
	}
	return files, signers
}

// genuine makes records in which everything is as a real ruling leaves it.
func genuine(t *testing.T, keys map[string]string, signers string) *forgery {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	id := ulid.MustNew(ulid.Timestamp(now.Add(-time.Minute)), strings.NewReader(strings.Repeat("x", 16))).String()
	sum := sha256.Sum256([]byte(signers))
	f := &forgery{
		keys: keys,
		batch: lanes.Batch{
			ID: "b1", Phase: lanes.PhaseRunning, Settings: `{"authority": {"require_signed": true, "reserve": {"operator": ["release"]}}}`,
			Signers: signers, SignersDigest: hex.EncodeToString(sum[:]),
		},
		task:  lanes.Task{Batch: "b1", ID: "T-1", State: lanes.TaskPending},
		asked: mailbox.Message{ID: lanes.MessageID(id), Batch: "b1", Task: "T-1", Type: mailbox.TypeEscalate, Gate: "code-step1", Text: "may I?"},
		ruling: mailbox.Message{
			ID: "M1", Batch: "b1", Task: "T-1", Type: mailbox.TypeRuling, Role: mailbox.RoleOperator, ReplyTo: id, Gate: "code-step1",
			Verdict: mailbox.VerdictApprove, Text: "yes", Head: "c0ffee", Nonce: "n1", Signed: true, CreatedAt: now.Add(-time.Second),
		},
	}
	f.sign(t, "alice")
	return f
}

// sign signs the ruling as it stands and releases the hold with it.
func (f *forgery) sign(t *testing.T, key string) {
	t.Helper()
	signature, err := sshsig.Sign(t.Context(), f.keys[key], "", mailbox.StatementOf(f.ruling).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	f.ruling.Signature = signature
	f.release(t)
}

func (f *forgery) release(t *testing.T) {
	t.Helper()
	open := hold.New(f.asked, "", time.Hour)
	released, err := open.Rule(f.ruling)
	if err != nil {
		t.Fatal(err)
	}
	f.hold = released
}

// read puts the records into a fresh store and reads the hold through the wall.
func (f *forgery) read(t *testing.T) (h hold.Record, unresolved int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ferrox.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(t.Context(), func(tx engine.Tx) error { return f.write(t.Context(), tx) })
	if err != nil {
		t.Fatal(err)
	}
	wall := engine.NewWall(s, sshsig.Verifier{}, engine.SystemClock())
	err = wall.View(t.Context(), func(r engine.Reader) error {
		if h, err = r.Hold(t.Context(), f.hold.ID); err != nil {
			return err
		}
		all, err := r.Holds(t.Context(), engine.HoldFilter{Unresolved: true})
		unresolved = len(all)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, unresolved
}

func (f *forgery) write(ctx context.Context, tx engine.Tx) error {
	if _, err := tx.PutBatch(ctx, f.batch); err != nil {
		return err
	}
	if _, err := tx.PutTask(ctx, f.task); err != nil {
		return err
	}
	for _, m := range append([]mailbox.Message{f.asked, f.ruling}, f.more...) {
		if err := tx.AddMessage(ctx, m); err != nil {
			return err
		}
	}
	_, err := tx.PutHold(ctx, f.hold)
	return err
}

// TestWall: of all that can stand in the database, only what a right key signed for this very hold releases it. Each case
// first acknowledges the ruling, so that nothing but the wall stands in the way.
func TestWall(t *testing.T) {
	t.Parallel()
	keys, signers := wallKeyFiles(t)
	for name, tc := range map[string]struct {
		forge func(t *testing.T, f *forgery)
		why   string // "" when the release counts
	}{
		"genuine":                              {func(*testing.T, *forgery) {}, ""},
		"by a supervisor":                      {func(t *testing.T, f *forgery) { f.ruling.Role = mailbox.RoleSupervisor; f.sign(t, "bob") }, ""},
		"an operator's key below a supervisor": {func(t *testing.T, f *forgery) { f.ruling.Role = mailbox.RoleSupervisor; f.sign(t, "alice") }, ""},
		"not asked for":                        {func(t *testing.T, f *forgery) { f.batch.Settings = ""; f.ruling.Signature = ""; f.release(t) }, ""},

		"unsigned":        {func(t *testing.T, f *forgery) { f.ruling.Signature = ""; f.release(t) }, "is not signed"},
		"not a signature": {func(t *testing.T, f *forgery) { f.ruling.Signature = "yes"; f.release(t) }, "armored"},
		"unknown key":     {func(t *testing.T, f *forgery) { f.sign(t, "mallory") }, "not among the allowed"},
		"another verdict": {func(t *testing.T, f *forgery) { f.ruling.Verdict = mailbox.VerdictSplit; f.release(t) }, "did not sign this"},
		"another text":    {func(t *testing.T, f *forgery) { f.ruling.Text = "yes!"; f.release(t) }, "did not sign this"},
		"another head":    {func(t *testing.T, f *forgery) { f.ruling.Head = ""; f.release(t) }, "did not sign this"},
		"another nonce":   {func(t *testing.T, f *forgery) { f.ruling.Nonce = "n2"; f.release(t) }, "did not sign this"},
		"another gate":    {func(t *testing.T, f *forgery) { f.asked.Gate, f.ruling.Gate = "x", "x"; f.release(t) }, "did not sign this"},
		"another batch": {func(t *testing.T, f *forgery) {
			f.ruling.Batch = "b0"
			f.sign(t, "alice")
			f.ruling.Batch = "b1"
			f.release(t)
		}, "did not sign this"},
		"another hold": {func(t *testing.T, f *forgery) {
			mine := f.ruling.ReplyTo
			f.ruling.ReplyTo = "01OTHER"
			f.sign(t, "alice")
			f.ruling.ReplyTo = mine
			f.release(t)
		}, "did not sign this"},
		"a ruling on another hold": {func(_ *testing.T, f *forgery) { f.ruling.ReplyTo = "01OTHER" }, "no ruling on it"},
		"no ruling but mail":       {func(_ *testing.T, f *forgery) { f.ruling.Type = mailbox.TypeSteer }, "no ruling on it"},
		"no such ruling":           {func(_ *testing.T, f *forgery) { f.hold.Ruling = "M9" }, "not in the store"},
		"text in the hold only":    {func(_ *testing.T, f *forgery) { f.hold.RulingText = "ship" }, "does not say what"},
		"verdict in the hold only": {func(_ *testing.T, f *forgery) { f.hold.RulingVerdict = "reject" }, "does not say what"},
		"promoted":                 {func(t *testing.T, f *forgery) { f.sign(t, "bob") }, "is supervisor/bob's"},
		"reserved": {func(t *testing.T, f *forgery) {
			f.asked.Reserved, f.ruling.Role = mailbox.RoleOperator, mailbox.RoleSupervisor
			f.sign(t, "bob")
		}, "reserved for the operator"},
		"reserved, and the hold's row says no": {func(t *testing.T, f *forgery) {
			f.asked.Reserved, f.ruling.Role = mailbox.RoleOperator, mailbox.RoleSupervisor
			f.sign(t, "bob")
			f.hold.ReservedFor = ""
		}, "reserved for the operator"},
		"reserved by the settings": {func(t *testing.T, f *forgery) {
			f.asked.Gate, f.ruling.Gate, f.ruling.Role = "release", "release", mailbox.RoleSupervisor
			f.sign(t, "bob")
		}, "reserved for the operator"},
		"expired": {func(t *testing.T, f *forgery) { f.sign(t, "old") }, "expired"},
		"expired, dated back": {func(t *testing.T, f *forgery) {
			f.ruling.CreatedAt = time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)
			f.sign(t, "old")
		}, "expired"},
		"not yet valid": {func(t *testing.T, f *forgery) { f.sign(t, "early") }, "not valid before"},
		"not yet valid, dated ahead": {func(t *testing.T, f *forgery) {
			f.ruling.CreatedAt = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
			f.sign(t, "early")
		}, "not valid before"},
		"cancelled":                   {func(_ *testing.T, f *forgery) { f.hold.State, f.hold.Delivery = hold.Cancelled, hold.DeliveryNone }, "nothing was aborted"},
		"a state that does not exist": {func(_ *testing.T, f *forgery) { f.hold.State = "Released" }, "which no hold has"},
		"signers added to": {func(t *testing.T, f *forgery) {
			public, err := os.ReadFile(f.keys["mallory"] + ".pub")
			if err != nil {
				t.Fatal(err)
			}
			f.batch.Signers += "operator/mallory " + string(public)
			f.sign(t, "mallory")
		}, "digest"},
		"settings that cannot be read": {func(_ *testing.T, f *forgery) { f.batch.Settings = "{" }, "settings"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := genuine(t, keys, signers)
			f.hold.Delivery = hold.DeliveryAcknowledged
			tc.forge(t, f)
			if f.hold.State == hold.Released {
				f.hold.Delivery = hold.DeliveryAcknowledged
			}
			h, unresolved := f.read(t)
			if tc.why == "" && (h.State != hold.Released || h.Unproven != "" || unresolved != 0) {
				t.Fatalf("%s: %s, %d unresolved", h.State, h.Unproven, unresolved)
			}
			if tc.why != "" && (h.State != hold.Open || h.Ruling != "" || unresolved != 1 || !strings.Contains(h.Unproven, tc.why)) {
				t.Fatalf("%s, ruling %q, %d unresolved: %q, want %q", h.State, h.Ruling, unresolved, h.Unproven, tc.why)
			}
		})
	}
}

// TestWall_Landed: a task that landed by a ruling that was good then is not held again by a reload, one that did not is.
func TestWall_Landed(t *testing.T) {
	t.Parallel()
	keys, signers := wallKeyFiles(t)
	for name, tc := range map[string]struct {
		task lanes.Task
		want hold.State
	}{
		"landed":           {lanes.Task{State: lanes.TaskSucceeded, Merge: "c0ffee"}, hold.Released},
		"marked as landed": {lanes.Task{State: lanes.TaskSucceeded}, hold.Open},
		"stalled":          {lanes.Task{State: lanes.TaskStalled, Merge: "c0ffee"}, hold.Open},
		"failed":           {lanes.Task{State: lanes.TaskFailed}, hold.Open},
		"going on":         {lanes.Task{State: lanes.TaskRunning}, hold.Open},
	} {
		f := genuine(t, keys, signers)
		f.sign(t, "mallory") // whom the signers of today do not know
		f.hold.Delivery = hold.DeliveryAcknowledged
		f.task.State, f.task.Merge = tc.task.State, tc.task.Merge
		if h, _ := f.read(t); h.State != tc.want {
			t.Errorf("%s: the hold reads as %s, want %s", name, h.State, tc.want)
		}
	}
}

// TestWall_Replayed: a nonce counts once. The store refuses the second, and where its index was dropped the wall does.
func TestWall_Replayed(t *testing.T) {
	t.Parallel()
	keys, signers := wallKeyFiles(t)
	f := genuine(t, keys, signers)
	again := f.ruling
	again.ID = "M2"
	path := filepath.Join(t.TempDir(), "ferrox.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Update(t.Context(), func(tx engine.Tx) error { return f.write(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
	add := func(tx engine.Tx) error { return tx.AddMessage(t.Context(), again) }
	if err := s.Update(t.Context(), add); err == nil {
		t.Error("the store takes a nonce twice")
	}
	if out, err := exec.Command("sqlite3", path, "DROP INDEX messages_by_nonce").CombinedOutput(); err != nil {
		t.Fatalf("sqlite3: %v: %s", err, out)
	}
	if err := s.Update(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	err = engine.NewWall(s, sshsig.Verifier{}, engine.SystemClock()).View(t.Context(), func(r engine.Reader) error {
		h, err := r.Hold(t.Context(), f.hold.ID)
		if h.State != hold.Open || !strings.Contains(h.Unproven, "nonce") {
			t.Errorf("%s: %q", h.State, h.Unproven)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWall_Aborted: what a real abort cancelled stays so.
func TestWall_Aborted(t *testing.T) {
	t.Parallel()
	keys, signers := wallKeyFiles(t)
	f := genuine(t, keys, signers)
	f.batch.Phase = lanes.PhaseAborted
	f.hold.State, f.hold.Delivery = hold.Cancelled, hold.DeliveryNone
	if h, unresolved := f.read(t); h.State != hold.Cancelled || unresolved != 0 {
		t.Errorf("a hold that an abort cancelled reads as %s", h.State)
	}
}
