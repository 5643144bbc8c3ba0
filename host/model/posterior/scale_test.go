package posterior

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
)

const bigPrec = 400

// bigExp gives exp(x) for |x| <= 800 to about 100 digits, by its series after
// halving x until it is small.
func bigExp(x *big.Float) *big.Float {
	const halvings = 20
	small := new(big.Float).SetPrec(bigPrec).SetMantExp(x, -halvings)
	sum, term := newBig(1), newBig(1)
	for n := 1; n < 100; n++ {
		term.Mul(term, small)
		term.Quo(term, newBig(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func newBig(v float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(v) }

// For b with 0 <= b, b <= log(1+exp(s)) is the same as exp(b) - 1 <= exp(s):
// no logarithm is needed to check a bound.
func TestSoftplusBounds(t *testing.T) {
	tests := []float64{-700, -699.999, -100, -50, -37, -36.7, -10, -1, -1e-9, 0, 1e-300, 1, 5, 29.9, 30, 30.000001, 35, 36.9, 40, 100, 700}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		tests = append(tests, -700+740*r.Float64(), -6+12*r.Float64())
	}
	for _, s := range tests {
		lo, hi := ScaleSoftplus.SD(s)
		want := bigExp(newBig(s))
		// Bounds near 1e-304 have no digits left of exp(b) - 1 at this precision;
		// there b <= s' follows from b + b^2 <= exp(s) and exp(b)-1 >= b.
		below, above := expm1(lo), expm1(hi)
		if !(lo > 0 && below.Cmp(want) <= 0 && above.Cmp(want) >= 0) {
			t.Errorf("softplus(%v) is not in [%v, %v]", s, lo, hi)
		}
		if hi > lo*(1+2.1e-14) {
			t.Errorf("softplus(%v): [%v, %v] is too wide", s, lo, hi)
		}
	}
}

// expm1 gives exp(b) - 1 for b >= 0 with full relative precision.
func expm1(b float64) *big.Float { return bigExpm1(newBig(b)) }

func bigExpm1(b *big.Float) *big.Float {
	if b.Cmp(newBig(1e-3)) > 0 {
		e := bigExp(b)
		return e.Sub(e, newBig(1))
	}
	sum, term := newBig(0), newBig(1)
	for n := 1; n < 40; n++ {
		term.Mul(term, b)
		term.Quo(term, newBig(float64(n)))
		sum.Add(sum, term)
	}
	return sum
}

func TestSoftplusExtremes(t *testing.T) {
	for _, s := range []float64{-700.0001, -745, -746, -1e6, -math.MaxFloat64} {
		lo, hi := ScaleSoftplus.SD(s)
		if lo != 0 || !(hi > 0 && hi <= 1e-304) {
			t.Errorf("softplus(%v): [%v, %v]", s, lo, hi)
		}
	}
	// exp(-700) < 1e-304, on which the case above rests.
	if bigExp(newBig(-700)).Cmp(newBig(1e-304)) >= 0 {
		t.Error("exp(-700) >= 1e-304")
	}
	for _, scale := range []Scale{ScaleSoftplus, softplusEps(t, "0.5"), ScaleLogSD, ScaleLogVariance} {
		for _, s := range []float64{math.NaN(), math.Inf(1)} {
			if _, hi := scale.SD(s); hi <= math.MaxFloat64 {
				t.Errorf("%v of %v is said to be at most %v", scale, s, hi)
			}
		}
		want := scale.epsLo
		if lo, hi := scale.SD(math.Inf(-1)); lo != want || hi != want {
			t.Errorf("%v of -Inf: [%v, %v], want %v", scale, lo, hi, want)
		}
	}
}

func softplusEps(t *testing.T, eps string) Scale {
	t.Helper()
	s, err := ParseScale("softplus:" + eps)
	if err != nil || s.String() != "softplus:"+eps {
		t.Fatalf("%v, %v", s, err)
	}
	return s
}

// TestSoftplusEps: b <= EPS + log(1+exp(s)) is b - EPS <= log(1+exp(s)); the EPS of the
// test are decimals of which every digit counts.
func TestSoftplusEps(t *testing.T) {
	words := []string{"1.1920928955078125e-07", "2.220446049250313080847263336181640625e-16", "0.1", "0.3", "1e-3", "12345.678", "3e-320", "1e-300", "0.1000000000000000055511151231257827"}
	tests := []float64{-700, -699.5, -700.5, -1e5, -37, -16, -15.9, -1, 0, 1, 29.9, 30.1, 100}
	r := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		tests = append(tests, -40+80*r.Float64(), -20+10*r.Float64())
	}
	const prec = 3000 // EPS is read to within far less than the distance of two bounds
	for _, word := range words {
		scale := softplusEps(t, word)
		eps, _, err := big.ParseFloat(word, 10, prec, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		if lo, hi := scale.SD(math.Inf(-1)); newBig(lo).Cmp(eps) > 0 || newBig(hi).Cmp(eps) < 0 || hi > math.Nextafter(lo, math.Inf(1)) && hi > 1e-300 {
			t.Errorf("%s is not in [%v, %v], or that is too wide", word, lo, hi)
		}
		for _, s := range tests {
			lo, hi := scale.SD(s)
			if s < -700 {
				// 0 < softplus < 1e-304
				if newBig(lo).Cmp(eps) > 0 || new(big.Float).SetPrec(prec).Add(eps, newBig(1e-304)).Cmp(newBig(hi)) > 0 {
					t.Errorf("softplus(%v) + %s: [%v, %v]", s, word, lo, hi)
				}
				continue
			}
			want := bigExp(newBig(s))
			below, above := new(big.Float).SetPrec(prec).SetFloat64(lo), new(big.Float).SetPrec(prec).SetFloat64(hi)
			below.Sub(below, eps)
			above.Sub(above, eps)
			if below.Sign() > 0 && bigExpm1(below).Cmp(want) > 0 || above.Sign() <= 0 || bigExpm1(above).Cmp(want) < 0 {
				t.Errorf("softplus(%v) + %s is not in [%v, %v]", s, word, lo, hi)
			}
			if hi > lo*(1+2.1e-14) {
				t.Errorf("softplus(%v) + %s: [%v, %v] is too wide", s, word, lo, hi)
			}
		}
	}
}

func TestLogBounds(t *testing.T) {
	tests := []float64{-700, -699.999, -745, -1e300, -37, -1, -1e-300, 0, math.SmallestNonzeroFloat64, 1e-9, 1, 30, 709}
	r := rand.New(rand.NewPCG(9, 10))
	for range 400 {
		tests = append(tests, -700+1400*r.Float64(), -10+12*r.Float64())
	}
	for _, half := range []bool{false, true} {
		for _, s := range tests {
			lo, hi := ScaleLogSD.SD(s)
			if half {
				lo, hi = ScaleLogVariance.SD(2 * s)
			}
			if s < -700 {
				if lo != 0 || !(hi > 0 && hi <= 1e-304) {
					t.Errorf("exp(%v): [%v, %v]", s, lo, hi)
				}
				continue
			}
			want := bigExp(newBig(s))
			if newBig(lo).Cmp(want) > 0 || newBig(hi).Cmp(want) < 0 {
				t.Errorf("exp(%v) is not in [%v, %v]", s, lo, hi)
			}
			if !(lo > 0 && hi <= lo*(1+2.1e-14)) {
				t.Errorf("exp(%v): [%v, %v] is too wide", s, lo, hi)
			}
		}
	}
}

func TestParseScale(t *testing.T) {
	for _, word := range []string{"sd", "variance", "softplus", "log_sd", "log_variance", "softplus:1e-7", "softplus:0.25"} {
		if s, err := ParseScale(word); err != nil || s.String() != word {
			t.Errorf("%s: %v, %v", word, s, err)
		}
	}
	for _, word := range []string{"", "SD", "none", "unknown", "softplus:", "softplus:0", "softplus:-1", "softplus:+1", "softplus:1e400", "softplus:1e-400", "softplus:1e-9999999999",
		"softplus:0x1p-3", "softplus:inf", "softplus:1_0", "softplus:1/3", "softplus:.5", "softplus:1e", "sd:1", "softplus:" + strings.Repeat("1", 65)} {
		if s, err := ParseScale(word); err == nil || s != ScaleUnknown {
			t.Errorf("%q was read as %v", word, s)
		}
	}
	if s, err := ParseArrayScale("none"); err != nil || s != ScaleNone {
		t.Errorf("none: %v, %v", s, err)
	}
	if _, err := ParseArrayScale("nil"); err == nil || !strings.HasSuffix(err.Error(), "log_variance, none") {
		t.Errorf("nil: %v", err)
	}
}

// TestScaleList: what records call the spread of a posterior.
func TestScaleList(t *testing.T) {
	one := func(s Scale) Params { return NewParams([]float64{1}, []float64{0}, s) }
	p := &Posterior{Scale: ScaleLogSD, Layers: []Layer{
		{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.Tanh}), Weight: one(ScaleLogSD), Bias: one(ScaleNone)},
		{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: one(ScaleSD), Bias: one(ScaleNone)},
	}}
	if err := p.Validate(); err != nil || p.ScaleList() != "log_sd,none,sd" {
		t.Errorf("%s, %v", p.ScaleList(), err)
	}
	p.Layers[0].Bias = NewParams([]float64{1}, []float64{2}, ScaleNone)
	if err := p.Validate(); err == nil {
		t.Error("a spread where there is none was accepted")
	}
	if got := small(ScaleVariance).ScaleList(); got != "variance" {
		t.Errorf("%s, want variance", got)
	}
}

func TestVarianceBounds(t *testing.T) {
	tests := []float64{1e-290, 9.9e-291, 1e-300, math.SmallestNonzeroFloat64, 2, 3, math.MaxFloat64, float64(math.SmallestNonzeroFloat32), 0.01, 1.0000000000000002}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		tests = append(tests, math.Ldexp(1+r.Float64(), -1000+r.IntN(2000)), float64(float32(r.Float64())))
		// The residual of such a root underflows.
		tests = append(tests, math.Ldexp(1+r.Float64(), -1074+r.IntN(60)))
	}
	for _, v := range tests {
		lo, hi := ScaleVariance.SD(v)
		l, h := newBig(lo), newBig(hi)
		if l.Mul(l, l).Cmp(newBig(v)) > 0 || h.Mul(h, h).Cmp(newBig(v)) < 0 {
			t.Errorf("sqrt(%v) is not in [%v, %v]", v, lo, hi)
		}
		if v >= 1e-290 && hi > math.Nextafter(lo, math.Inf(1)) {
			t.Errorf("sqrt(%v): [%v, %v] is too wide", v, lo, hi)
		}
	}
	for _, sd := range []float64{0, 1, 0.5, 3, 1e-100, 1 << 26} {
		if v := sd * sd; v/sd == sd || v == 0 {
			lo, hi := ScaleVariance.SD(v)
			if math.FMA(sd, sd, -v) == 0 && (lo != sd || hi != sd) {
				t.Errorf("sqrt(%v) = [%v, %v], want exactly %v", v, lo, hi, sd)
			}
		}
	}
	if lo, hi := ScaleVariance.SD(math.Copysign(0, -1)); math.Signbit(lo) || math.Signbit(hi) {
		t.Errorf("sqrt(-0) = [%v, %v]", lo, hi)
	}
}

func TestSD(t *testing.T) {
	if lo, hi := ScaleSD.SD(0.1); lo != 0.1 || hi != 0.1 {
		t.Errorf("[%v, %v], want 0.1 twice", lo, hi)
	}
	if lo, hi := ScaleSD.SD(math.Copysign(0, -1)); math.Signbit(lo) || math.Signbit(hi) {
		t.Errorf("-0 gives [%v, %v]", lo, hi)
	}
}

func TestParseActivation(t *testing.T) {
	for _, word := range []string{"identity", "relu", "tanh", "sigmoid", "leaky_relu:0.1", "leaky_relu:1e-300"} {
		a, err := network.ParseActivation(word)
		if err != nil || a.String() != word {
			t.Errorf("%s: %v, %v", word, a, err)
		}
	}
	for _, word := range []string{"", "ReLU", "gelu", "leaky_relu", "leaky_relu:", "leaky_relu:0", "leaky_relu:1", "leaky_relu:NaN", "leaky_relu:0.1x", "activation(7)"} {
		if a, err := network.ParseActivation(word); err == nil {
			t.Errorf("%q was read as %v", word, a)
		}
	}
}

func TestQuantiles(t *testing.T) {
	values := []float64{4, 0, 1, 3, 2}
	if got := Quantiles(values); got != [5]float64{0, 1, 2, 3, 4} || values[0] != 4 {
		t.Errorf("%v of %v", got, values)
	}
	if got := Quantiles([]float64{10, 20}); got != [5]float64{10, 12.5, 15, 17.5, 20} {
		t.Errorf("%v", got)
	}
	if got := Quantiles([]float64{7}); got != [5]float64{7, 7, 7, 7, 7} {
		t.Errorf("%v", got)
	}
	if got := Quantiles(nil); !math.IsNaN(got[2]) {
		t.Errorf("%v for no values", got)
	}
}

// TestNewGaussian: the bounds belong to the scale and to the weight.
func TestNewGaussian(t *testing.T) {
	for _, scale := range []Scale{ScaleSD, ScaleVariance, ScaleSoftplus, softplusEps(t, "0.1"), ScaleLogSD, ScaleLogVariance} {
		g := NewParams([]float64{1, 2, 3}, []float64{0.25, 4, 9}, scale)
		for i, s := range g.Spread {
			if lo, hi := scale.SD(s); g.SdLo[i] != lo || g.SdHi[i] != hi {
				t.Errorf("%v of %v: [%v, %v], want [%v, %v]", scale, s, g.SdLo[i], g.SdHi[i], lo, hi)
			}
		}
	}
}
