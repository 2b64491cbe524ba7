package sealed_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/gates/sealed"
)

func TestURI(t *testing.T) {
	t.Parallel()
	h := sealed.HashOf([]byte("kiln reference v2\n"))
	for _, uri := range []string{h.URI(), string(h)} {
		if got, ok := sealed.ParseURI(uri); !ok || got != h {
			t.Errorf("%s: %v %v", uri, got, ok)
		}
	}
	if h.Path() != "sha256/84/"+string(h) {
		t.Error(h.Path())
	}
	for _, uri := range []string{
		"", "sealed:sha256:", "sha256:" + string(h), strings.ToUpper(string(h)), "sealed:sha256:" + strings.ToUpper(string(h)), string(h) + "0", string(h)[1:],
		"sealed:sha256:sealed:sha256:" + string(h), " " + string(h), "../" + string(h)[3:], "sealed:sha1:" + string(h),
	} {
		if got, ok := sealed.ParseURI(uri); ok {
			t.Errorf("%q taken for %s", uri, got)
		}
	}
}

func hash(i int) sealed.Hash {
	sum := sha256.Sum256([]byte(fmt.Sprint(i)))
	return sealed.Hash(hex.EncodeToString(sum[:]))
}

func TestSample(t *testing.T) {
	t.Parallel()
	var pool []sealed.Mutant
	for i := range 7 {
		pool = append(pool, sealed.Mutant{ID: fmt.Sprint("m", i), Hash: hash(i)})
	}
	for k, want := range map[float64]int{2: 2, 1: 1, 2.9: 2, 7: 7, 100: 7, 1e300: 7, 0: 2, -3: 2, 0.5: 2} {
		got := sealed.Sample("run", "gate", pool, k)
		if len(got) != want {
			t.Errorf("k %v draws %d, want %d", k, len(got), want)
		}
		for i, m := range got {
			if slices.Contains(got[:i], m) {
				t.Errorf("k %v draws %s twice", k, m.ID)
			}
		}
	}

	backwards := slices.Clone(pool)
	slices.Reverse(backwards)
	if diff := cmp.Diff(sealed.Sample("run", "gate", pool, 3), sealed.Sample("run", "gate", backwards, 3)); diff != "" {
		t.Errorf("the order of the list counts: %s", diff)
	}
	if cmp.Equal(sealed.Sample("run", "gate", pool, 7), sealed.Sample("run 2", "gate", pool, 7)) {
		t.Error("another run draws the same row")
	}
	if got := sealed.Sample("r", "g", nil, 2); got == nil || len(got) != 0 {
		t.Errorf("an empty pool: %v", got)
	}
}

// The draw is fixed by its description: seed sha256("run:gate"), draw i by sha256(seed, i), over the pool sorted by hash.
func TestSampleByHand(t *testing.T) {
	t.Parallel()
	pool := []sealed.Mutant{{"a", hash(1)}, {"b", hash(2)}, {"c", hash(3)}}
	slices.SortFunc(pool, func(x, y sealed.Mutant) int { return strings.Compare(string(x.Hash), string(y.Hash)) })
	seed := sha256.Sum256([]byte("R:G"))
	sum := sha256.Sum256(append(seed[:], 0, 0, 0, 0))
	n := uint64(0)
	for _, b := range sum[:8] {
		n = n<<8 | uint64(b)
	}
	if got := sealed.Sample("R", "G", pool, 1); got[0] != pool[n%3] {
		t.Errorf("drew %v, want %v", got[0], pool[n%3])
	}
}

func TestReadPool(t *testing.T) {
	t.Parallel()
	h := string(hash(1))
	pool, err := sealed.ReadPool([]byte(`[{"id":"a","fixture":"sealed:sha256:` + h + `"},{"id":"b","hash":"` + h + `"},{"id":"","hash":"` + h + `"},{"id":7},null,"x",{"id":"c","fixture":"x","hash":"` + h + `"},{"id":"d"}]`))
	var ids []string
	for _, m := range pool {
		ids = append(ids, m.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, ids); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, text := range []string{"", "{}", "null", "7", "[", `"x"`} {
		if _, err := sealed.ReadPool([]byte(text)); err == nil {
			t.Errorf("%q taken for a pool", text)
		}
	}
}
