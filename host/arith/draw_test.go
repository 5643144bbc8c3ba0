package arith

import (
	"math"
	"testing"
)

// TestPhilox: the known-answer vectors of Random123 (kat_vectors, philox4x32 10).
func TestPhilox(t *testing.T) {
	const all = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{all, all, all, all}, [2]uint32{all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(c.counter, c.key); got != c.want {
			t.Errorf("Philox(%x, %x) is %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

// TestNormalApprox measures the error against the exact quantile and holds the
// comment of NormalApprox to it.
func TestNormalApprox(t *testing.T) {
	var worstAbs, worstRel, largest float64 // of |quantile| < 0.01, beyond, of all
	measure := func(bits uint32) {
		v := (float64(bits&0x7fffffff) + 0.5) / (1 << 31)
		want := math.Sqrt2 * math.Erfcinv(v)
		if bits>>31 != 0 {
			want = -want
		}
		got := float64(NormalApprox(bits))
		if got != got || math.Signbit(got) != (bits>>31 != 0) {
			t.Fatalf("NormalApprox(%x) is %v, exact %v", bits, got, want)
		}
		off := math.Abs(got - want)
		largest = max(largest, math.Abs(got))
		if math.Abs(want) < 0.01 {
			worstAbs = max(worstAbs, off)
		} else {
			worstRel = max(worstRel, off/math.Abs(want))
		}
	}
	for i := range uint32(1 << 14) { // both ends, both signs
		for _, sign := range []uint32{0, 1 << 31} {
			measure(sign | i)
			measure(sign | 0x7fffffff - i)
			measure(sign | i<<17 | 0x5a5a)
		}
	}
	for i := uint64(0); i < 1<<32; i += 8191 {
		measure(uint32(i))
	}
	t.Logf("error at most %.3g below 0.01, relative %.3g beyond; largest result %.4f", worstAbs, worstRel, largest)
	if worstAbs > 1e-7 || worstRel > 1e-5 || largest > 6.4 {
		t.Errorf("error %.3g below 0.01, relative %.3g beyond, largest result %v", worstAbs, worstRel, largest)
	}
}

// TestNormalMoments: mean, variance, skewness and kurtosis of a stream, each
// within five standard errors; streams, boxes and seeds differ.
func TestNormalMoments(t *testing.T) {
	const n = 400000
	var m [5]float64
	for i := range uint32(n) {
		x := float64(Normal(12345, uint64(i/1000), 3, i%1000))
		for k, p := 1, x; k <= 4; k, p = k+1, p*x {
			m[k] += p / n
		}
	}
	for k, want := range []float64{1: 0, 2: 1, 3: 0, 4: 3} {
		// Var of x^k is E x^2k - (E x^k)^2: 1, 2, 15, 96.
		if sd := math.Sqrt([]float64{0, 1, 2, 15, 96}[k] / n); k > 0 && math.Abs(m[k]-want) > 5*sd {
			t.Errorf("moment %d is %v, want %v +- %v", k, m[k], want, sd)
		}
	}
	a := Normal(1, 2, 3, 4)
	for _, b := range []float32{Normal(2, 2, 3, 4), Normal(1<<32|1, 2, 3, 4), Normal(1, 3, 3, 4), Normal(1, 1<<32|2, 3, 4), Normal(1, 2, 4, 4), Normal(1, 2, 3, 5), Normal(1, 2, 3, 8)} {
		if a == b {
			t.Errorf("two counters give the same number %v", a)
		}
	}
}
