package fallback

import (
	"math"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testscale"
)

// TestConvexErr: the errors of softplusAt and eluAt in float32, against float64, on every 509th
// number in deep and every 2039th otherwise: for t <= 0 the upper ends are the approximation,
// moved by sigmoidErr u and one rounding.
func TestConvexErr(t *testing.T) {
	d := New(bound.Float32).(*Device[float32])
	stride := uint64(2039)
	if testscale.Deep(t) {
		stride = 509
	}
	worst := map[string]float64{}
	for bits := uint64(0); bits < 0x7f800000; bits += stride {
		x := -math.Float32frombits(uint32(bits))
		soft, elu := d.softplusAt(x), d.eluAt(x, 1, 1)
		for what, off := range map[string]float64{
			"softplus":       float64(soft.hi) - sigmoidErr*0x1p-24 - math.Log1p(math.Exp(float64(x))),
			"softplus slope": float64(soft.slope) - 1/(1+math.Exp(-float64(x))),
			"elu below":      float64(elu.lo) + sigmoidErr*0x1p-24 - math.Expm1(float64(x)),
			"elu slope":      float64(elu.slope) - math.Exp(float64(x)),
		} {
			if !(math.Abs(off)/0x1p-24 <= worst[what]) && !(what == "elu below" && elu.lo == -1) && x != 0 {
				worst[what] = math.Abs(off) / 0x1p-24
			}
		}
	}
	t.Logf("worst errors in u: %v", worst)
	for what, off := range worst {
		if !(off < 11) { // 9.5 are derived for the largest, and the bounds are rounded
			t.Errorf("%s: error %v u", what, off)
		}
	}
}
