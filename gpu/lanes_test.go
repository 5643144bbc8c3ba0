package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testscale"
)

// TestLanes: in lanes and one by one transfers have the same hashes, the same numbers, and the same entries
// that were never written or are no float32.
func TestLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 4))
	number := func() float32 {
		switch r.IntN(20) {
		case 0:
			return float32(math.NaN())
		case 1:
			return math.Float32frombits(r.Uint32())
		case 2:
			return float32(math.Inf(1 - 2*r.IntN(2)))
		}
		return r.Float32() - 0.5
	}
	d := &Device{precision: bound.Float32}
	each := func(f func() string) (all [2]string) {
		for i, set := range []string{"none", ""} {
			t.Setenv("PSAFE_VECTOR", set)
			all[i] = f()
		}
		return all
	}
	for range testscale.Cases(t, 5000) {
		n := r.IntN(70)
		raw, src := make([]byte, 4*n), make([]float64, n)
		for i := range n {
			x := number()
			src[i] = float64(x)
			binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
		}
		if n > 0 && r.IntN(2) == 0 {
			binary.LittleEndian.PutUint32(raw[4*r.IntN(n):], poison32)
			src[r.IntN(n)] = 0.1
		}
		receipt := r.Uint32()
		got := each(func() string {
			dst := make([]float64, n)
			bad := d.numbers(dst, raw)
			for i := range dst { // all NaN have the bits that the processor gives them
				if math.Float64bits(dst[i]) != math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))) {
					return fmt.Sprint("another number at ", i)
				}
			}
			singles, other := singles(src)
			return fmt.Sprintf("%x %d %x %d", hash(raw, bound.Float32, receipt), bad, singles, other)
		})
		if got[0] != got[1] {
			t.Fatalf("%d numbers: in lanes %s, one by one %s", n, got[1], got[0])
		}
	}
}
