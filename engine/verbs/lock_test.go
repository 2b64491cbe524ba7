package verbs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func lockIn(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state.json")
}

func hold(t *testing.T, target string) *lock {
	t.Helper()
	k, err := acquire(target, defaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.release)
	return k
}

func TestLock_FenceOrder(t *testing.T) {
	t.Parallel()
	target := lockIn(t)
	for _, tc := range []struct {
		name  string
		spoil func(*lock)
		want  error
	}{
		{"held too long", func(k *lock) { k.since = time.Now().Add(-15 * time.Second) }, errHoldExpired},
		{"held too long and gone", func(k *lock) { k.since = time.Now().Add(-15 * time.Second); _ = os.Remove(k.path) }, errHoldExpired},
		{"gone", func(k *lock) { _ = os.Remove(k.path) }, errFenceLost},
		{"another inode", func(k *lock) {
			data, _ := os.ReadFile(k.path)
			_ = os.Remove(k.path)
			_ = os.WriteFile(k.path, data, 0o644)
		}, errFenceLost},
		{"another nonce", func(k *lock) { k.stamp.Nonce = "00" }, errFenceLost},
		{"another token", func(k *lock) { k.stamp.Token++ }, errFenceLost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k, err := acquire(target, defaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			tc.spoil(k)
			err = replace(target, []byte("new"), k)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if _, err := os.Stat(target); !os.IsNotExist(err) {
				t.Error("the file was written")
			}
			if left, _ := filepath.Glob(target + ".*.tmp"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			k.release()
			_ = os.Remove(k.path)
		})
	}
}

func TestLock_ReleaseLeavesAnothersLock(t *testing.T) {
	t.Parallel()
	target := lockIn(t)
	k, err := acquire(target, defaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(k.path)
	other := hold(t, target)
	k.release()
	if !other.mine() {
		t.Error("release removed a lock that is not its own")
	}
}

func TestLock_WhoIsTakenOver(t *testing.T) {
	t.Parallel()
	me := self()
	if me.Start == "" || me.Boot == "" || me.PIDNS == "" {
		t.Skip("this system does not tell processes apart")
	}
	stampOf := func(o owner) string {
		data, err := json.Marshal(stamp{owner: o, Nonce: "ab", Token: 6})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	with := func(change func(*owner)) string {
		o := me
		change(&o)
		return stampOf(o)
	}
	for _, tc := range []struct {
		name, text string
		age        time.Duration
		taken      bool
		token      int
	}{
		{"alive and fresh", stampOf(me), 0, false, 0},
		{"alive and just below the limit", stampOf(me), 29 * time.Second, false, 0},
		{"alive and old", stampOf(me), 31 * time.Second, true, 6},
		{"the number now is another process", with(func(o *owner) { o.Start = "1" }), 0, true, 6},
		{"no such process", with(func(o *owner) { o.PID = 1 << 22 }), 0, true, 6},
		{"from before the reboot", with(func(o *owner) { o.PID, o.Boot = 1<<22, "other" }), 0, false, 0},
		{"of another pid namespace", with(func(o *owner) { o.PID, o.PIDNS = 1<<22, "pid:[1]" }), 0, false, 0},
		{"of a program that stamps less", `{"pid":4194304,"nonce":"ab","token":6}`, 0, false, 0},
		{"of a program that stamps less, old", `{"pid":1,"nonce":"ab","token":6}`, time.Hour, true, 6},
		{"empty and fresh", "", 0, false, 0},
		{"empty and old", "", time.Hour, true, 0},
		{"nonsense and old", "}{", time.Hour, true, 0},
		{"a nonce that is a path", `{"nonce":"../../x","token":6}`, time.Hour, true, 0},
		{"from the future", stampOf(me), -time.Hour, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			target := lockIn(t)
			path := target + ".lock"
			if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			when := time.Now().Add(-tc.age)
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
			old, taken := reap(path, target, 30*time.Second)
			if taken != tc.taken || old.Token != tc.token {
				t.Errorf("taken %v with token %d, want %v with %d", taken, old.Token, tc.taken, tc.token)
			}
			if _, err := os.Stat(path); os.IsNotExist(err) != tc.taken {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

func TestState_KeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	target := lockIn(t)
	if err := os.WriteFile(target, []byte(`{"other":{"big":12345678901234567890,"html":"<&>"},"n":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if countUp(target, 1) != 0 {
		t.Fatal("update failed")
	}
	data, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"n\": 2,\n  \"other\": {\n    \"big\": 12345678901234567890,\n    \"html\": \"<&>\"\n  }\n}\n"
	if string(data) != want {
		t.Errorf("got %s", data)
	}
	if info, _ := os.Stat(target); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestState_WriteFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	target := lockIn(t)
	if err := os.MkdirAll(filepath.Join(target, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	k, err := acquire(target, defaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if err := replace(target, []byte("x"), k); err == nil {
		t.Error("renamed over a folder")
	}
	k.release()
	if left, _ := filepath.Glob(filepath.Dir(target) + "/*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
