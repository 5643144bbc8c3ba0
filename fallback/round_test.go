package fallback

import (
	"math"
	"testing"

	"psafe/host/bound"
)

// TestDownUp: down(x) < x < up(x), by at most two units in the last place, for
// every binade of both formats and the corners of each.
func TestDownUp(t *testing.T) {
	d32, d64 := New(bound.Float32).(*Device[float32]), New(bound.Float64).(*Device[float64])
	check32 := func(x float32) {
		lo, hi := d32.down(x), d32.up(x)
		near := func(y, towards float32) bool {
			one := math.Nextafter32(x, towards)
			return y == one || y == math.Nextafter32(one, towards)
		}
		if inf := float32(math.Inf(1)); !(lo < x && x < hi) || !near(lo, -inf) || !near(hi, inf) {
			t.Fatalf("float32: down(%x) = %x, up = %x", x, lo, hi)
		}
	}
	check64 := func(x float64) {
		lo, hi := d64.down(x), d64.up(x)
		near := func(y, towards float64) bool {
			one := math.Nextafter(x, towards)
			return y == one || y == math.Nextafter(one, towards)
		}
		if inf := math.Inf(1); !(lo < x && x < hi) || !near(lo, -inf) || !near(hi, inf) {
			t.Fatalf("float64: down(%x) = %x, up = %x", x, lo, hi)
		}
	}
	// Every 1021st float32, and the first and last numbers of all binades.
	for bits := uint64(0); bits < 0x7f800000; bits += 1021 {
		check32(math.Float32frombits(uint32(bits)))
		check32(-math.Float32frombits(uint32(bits)))
	}
	for e := range uint64(2047) {
		for _, m := range []uint64{0, 1, 2, 3, 1 << 51, 1<<51 + 1, 1<<52 - 2, 1<<52 - 1} {
			if e < 255 {
				check32(math.Float32frombits(uint32(e<<23 | m>>29 | m&3)))
			}
			check64(math.Float64frombits(e<<52 | m))
			check64(-math.Float64frombits(e<<52 | m))
		}
	}
}

// TestLowerUpper: only finite numbers pass as bounds.
func TestLowerUpper(t *testing.T) {
	d := New(bound.Float32).(*Device[float32])
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, x := range []float32{inf, -inf, nan, d.down(-d.max), d.down(inf)} {
		if lo, hi := d.lower(x), d.upper(x); lo != -inf || hi != inf {
			t.Errorf("lower(%v) = %v, upper = %v", x, lo, hi)
		}
	}
	for _, x := range []float32{0, d.max, -d.max, d.eta} {
		if d.lower(x) != x || d.upper(x) != x {
			t.Errorf("lower(%v) = %v, upper = %v", x, d.lower(x), d.upper(x))
		}
	}
}

// TestSigmoidErr: the error of sigmoidApprox in float32, against float64, on every
// 509th number: what the comment there derives, half of sigmoidErr.
func TestSigmoidErr(t *testing.T) {
	d := New(bound.Float32).(*Device[float32])
	worst, at := 0.0, float32(0)
	for bits := uint64(0); bits < 0x7f800000; bits += 509 {
		x := math.Float32frombits(uint32(bits))
		for _, t := range []float32{x, -x} {
			off := math.Abs(float64(d.sigmoidApprox(t))-1/(1+math.Exp(-float64(t)))) / 0x1p-24
			if !(off <= worst) {
				worst, at = off, t
			}
		}
	}
	t.Logf("worst error %.2f u, at %x", worst, at)
	if !(worst < sigmoidErr/2) {
		t.Errorf("error %v u at %x, derived: below %v", worst, at, sigmoidErr/2)
	}
}
