package property

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPoint: a point comes back within a step of the box, ends to within a rounding, and
// whatever is read is written as the same text again.
func TestPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for range 200 {
		n := 1 + r.IntN(5)
		b, x := Box{}, make([]float64, n)
		for j := range n {
			lo := r.NormFloat64() * math.Pow(10, float64(r.IntN(9)-4))
			width := math.Abs(r.NormFloat64()) * []float64{0, 1, 1e-3}[r.IntN(3)]
			b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+width)
			x[j] = lo + width*[]float64{0, 1, r.Float64()}[r.IntN(3)]
		}
		text := b.EncodePoint(x)
		got, err := b.DecodePoint(text)
		if err != nil {
			t.Fatal(err)
		}
		for j := range x {
			step := (b.Hi[j]-b.Lo[j])/pointSteps + 4e-16*math.Abs(b.Lo[j])
			if math.Abs(got[j]-x[j]) > step {
				t.Errorf("box %v to %v: %v came back as %v", b.Lo[j], b.Hi[j], x[j], got[j])
			}
		}
		if again := b.EncodePoint(got); again != text && !slices.Equal(b.Lo, b.Hi) {
			second, _ := b.DecodePoint(again)
			for j := range second {
				if math.Abs(second[j]-got[j]) > 4e-16*math.Abs(b.Lo[j]) {
					t.Errorf("%v is written as %v and then as %v", x, got, second)
				}
			}
		}
	}
}

// TestPointRefuses: texts that are no point of the box.
func TestPointRefuses(t *testing.T) {
	b := Box{Lo: []float64{0, 0}, Hi: []float64{1, 1}}
	for _, text := range []string{"", "AAA=", "AAAAAB==", "!!!!", "AAAAAAAA", "AAAA\nAA=="} {
		if _, err := b.DecodePoint(text); err == nil {
			t.Errorf("%q is taken for a point", text)
		}
	}
	wide := Box{Lo: []float64{-math.MaxFloat64}, Hi: []float64{math.MaxFloat64}}
	x, err := wide.DecodePoint(wide.EncodePoint([]float64{0}))
	if err != nil || len(x) != 1 {
		t.Errorf("a box whose width overflows: %v, %v", x, err)
	}
	task := Task{T: []Box{wide}, Inner: []Box{wide}}
	if w := task.Witness(0, x); w.Lo == nil || math.IsNaN(w.Lo[0]) || math.IsInf(w.Lo[0], 0) {
		t.Errorf("its witness is %v", w)
	}
	wantPanic(t, func() { b.EncodePoint([]float64{1}) }, "1 coordinates for a box of 2")
}
