package engine

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestDoubtedWork: a recheck of one kind of work says nothing of another, nor of chunks that come
// after it.
func TestDoubtedWork(t *testing.T) {
	r := &recheck{}
	agrees := func() error { return nil }
	chunk := func(names ...string) (w *work) {
		r.launched++
		for _, name := range names {
			w = r.did(name, agrees)
		}
		return w
	}
	doubted := func(name string, since uint64) {
		t.Helper()
		switch w := r.doubted(); {
		case w == nil && name != "", w != nil && (w.name != name || w.since != since):
			t.Errorf("doubted is %+v, want %s since chunk %d", w, name, since)
		}
	}
	doubted("", 0)
	a := chunk("a")
	b := chunk("b")
	chunk("a")
	doubted("a", 1)
	if err := r.do(a); err != nil { // confirms chunks 1 and 3, not 2
		t.Fatal(err)
	}
	doubted("b", 2)
	chunk("a", "b")
	doubted("b", 2)
	b.again = func() error { return errors.New("a fault") }
	if err := r.do(b); err == nil || b.agreed {
		t.Error("a recheck that failed has agreed")
	}
	doubted("b", 2)
	b.again = agrees
	if err := r.do(b); err != nil {
		t.Fatal(err)
	}
	doubted("a", 4)
	if err := r.do(a); err != nil {
		t.Fatal(err)
	}
	doubted("", 0)
}

// TestDiffer: other bits are a difference, and so are other lengths.
func TestDiffer(t *testing.T) {
	nan, zero := math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		a, b []float64
		says string
	}{
		{nil, nil, ""}, {[]float64{1, nan}, []float64{1, -nan}, ""},
		{[]float64{1, 0}, []float64{1, zero}, "gave 0x0p+00 (0) where cpu has -0x0p+00 (-0)"},
		{[]float64{1, 2}, []float64{1}, "gave 2 numbers where cpu has 1"},
		{nil, []float64{1, 2, 3}, "gave 0 numbers where cpu has 3"},
		{[]float64{2, 2}, []float64{1}, "gave 0x1p+01 (2) where"},
	} {
		if got := differ(c.a, c.b, "cpu"); !strings.HasPrefix(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%v and %v: %q, want %q", c.a, c.b, got, c.says)
		}
	}
}
