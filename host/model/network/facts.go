package network

import (
	"fmt"
	"math"
)

// facts is all that the program has to know of an activation s, beside the code of the
// devices that takes it through Activate and Relax (fallback, kernels), which have tables
// with an entry for each kind of their own. Every field must be said: the program does
// not start with a kind of which one is missing, since code that guesses would certify
// another function. facts_test.go checks every entry against the function's values.
//
// s is nondecreasing: interval propagation (bound.Activate) takes it for granted, so a kind
// of which the table does not say so is refused.
type facts struct {
	// word holds what files and flags call it; slope says that it has an Activation.Slope.
	word  string
	slope answer
	// value is s(t) and derivative s'(t) where s(t) = z, in ordinary float64; at a kink it
	// is one of both slopes.
	value      func(a Activation, t float64) float64
	derivative func(a Activation, t, z float64) float64
	// up is an upper bound of sign s(t), sign being 1 or -1, rounded up: +-up encloses
	// the real number s(t) for every float64 t.
	up func(a Activation, t, sign float64) float64
	// monotone: s is nondecreasing, which must be yes.
	monotone answer
	// nonNeg: s(t) >= 0 for all t. deadBelow: s(t) = 0 for all t <= 0.
	nonNeg, deadBelow answer
	// kinked: s(t) = below t for t < 0 and t for t >= 0, with 0 <= below <= 1: convex and
	// positively homogeneous. For others below is what devices get in its place: the slope
	// of those that have one, or 0.
	kinked answer
	below  func(a Activation) float64
	// bend encloses s'' on [lo, hi], which does not have 0 inside it and may be infinite: s'
	// is there, and continuous, on both sides of 0. It is 0 for what is made of two lines.
	bend func(a Activation, lo, hi float64) (least, most float64)
	// lipschitz: |s(t) - s(r)| <= lipschitz |t - r|.
	lipschitz float64
	// growth, offset and bound: |s(t)| <= growth |t| + offset and |s(t)| <= bound for all t;
	// +Inf where there is no such number.
	growth, offset, bound float64
}

// answer is yes or no, or that nobody has said.
type answer int

const (
	unsaid answer = iota
	no
	yes
)

var inf = math.Inf(1)

// table has the facts of every kind.
var table = [Kinds]facts{
	Identity: {
		word: "identity", slope: no,
		value:      func(_ Activation, t float64) float64 { return t },
		derivative: func(Activation, float64, float64) float64 { return 1 },
		up:         func(_ Activation, t, sign float64) float64 { return kinkedUp(1, t, sign) },
		monotone:   yes,
		nonNeg:     no, deadBelow: no,
		kinked: yes, below: func(Activation) float64 { return 1 },
		bend:      straight,
		lipschitz: 1, growth: 1, bound: inf,
	},
	ReLU: {
		word: "relu", slope: no,
		value: func(_ Activation, t float64) float64 { return math.Max(t, 0) },
		derivative: func(_ Activation, t, _ float64) float64 {
			if t <= 0 {
				return 0
			}
			return 1
		},
		up:       func(_ Activation, t, sign float64) float64 { return kinkedUp(0, t, sign) },
		monotone: yes,
		nonNeg:   yes, deadBelow: yes,
		kinked: yes, below: func(Activation) float64 { return 0 },
		bend:      straight,
		lipschitz: 1, growth: 1, bound: inf,
	},
	LeakyReLU: {
		word: "leaky_relu", slope: yes,
		value: func(a Activation, t float64) float64 {
			if t < 0 {
				return a.Slope * t
			}
			return t
		},
		derivative: func(a Activation, t, _ float64) float64 {
			if t < 0 {
				return a.Slope
			}
			return 1
		},
		up:       func(a Activation, t, sign float64) float64 { return kinkedUp(a.Slope, t, sign) },
		monotone: yes,
		nonNeg:   no, deadBelow: no,
		kinked: yes, below: func(a Activation) float64 { return a.Slope },
		bend:      straight,
		lipschitz: 1, growth: 1, bound: inf,
	},
	Tanh: {
		word: "tanh", slope: no,
		value:      func(_ Activation, t float64) float64 { return math.Tanh(t) },
		derivative: func(_ Activation, _, z float64) float64 { return 1 - z*z },
		up:         func(_ Activation, t, sign float64) float64 { return tanhUp(t, sign) },
		monotone:   yes,
		nonNeg:     no, deadBelow: no,
		kinked: no, below: func(Activation) float64 { return 0 },
		bend:      bendTanh,
		lipschitz: 1, growth: 1, bound: 1,
	},
	Sigmoid: {
		word: "sigmoid", slope: no,
		value:      func(_ Activation, t float64) float64 { return 1 / (1 + math.Exp(-t)) },
		derivative: func(_ Activation, _, z float64) float64 { return z * (1 - z) },
		up:         func(_ Activation, t, sign float64) float64 { return sigmoidUp(t, sign) },
		monotone:   yes,
		nonNeg:     yes, deadBelow: no,
		kinked: no, below: func(Activation) float64 { return 0 },
		bend:      bendSigmoid,
		lipschitz: 0.25, growth: inf, bound: 1,
	},
	Softplus: {
		word: "softplus", slope: no,
		value:      func(_ Activation, t float64) float64 { return math.Max(t, 0) + math.Log1p(math.Exp(-math.Abs(t))) },
		derivative: func(_ Activation, t, _ float64) float64 { return 1 / (1 + math.Exp(-t)) },
		up:         func(_ Activation, t, sign float64) float64 { return softplusUp(t, sign) },
		monotone:   yes,
		deadBelow:  no, nonNeg: yes,
		kinked: no, below: func(Activation) float64 { return 0 },
		bend:      bendSoftplus,
		lipschitz: 1, growth: 1, offset: 0.6931471805599454, bound: inf, // ln 2 = 0.693147180559945309...
	},
	ELU: {
		word: "elu", slope: yes,
		value: func(a Activation, t float64) float64 {
			if t < 0 {
				return a.Slope * math.Expm1(t)
			}
			return t
		},
		derivative: func(a Activation, t, z float64) float64 {
			if t < 0 {
				return z + a.Slope
			}
			return 1
		},
		up:       func(a Activation, t, sign float64) float64 { return eluUp(a.Slope, t, sign) },
		monotone: yes,
		nonNeg:   no, deadBelow: no,
		kinked: no, below: func(a Activation) float64 { return a.Slope },
		bend:      bendELU,
		lipschitz: 1, growth: 1, bound: inf,
	},
}

func init() {
	for k := range table {
		if missing := table[k].missing(); missing != "" {
			panic(fmt.Sprintf("network: activation %d (%s) has no %s in the table of host/model/network/facts.go", k, table[k].word, missing))
		}
	}
}

// missing names a fact that nobody has said, "" if all are there.
func (f *facts) missing() string {
	for _, fact := range []struct {
		name string
		said bool
	}{
		{"word", f.word != ""}, {"slope", f.slope != unsaid}, {"value", f.value != nil}, {"derivative", f.derivative != nil},
		{"up", f.up != nil}, {"monotone", f.monotone == yes}, {"nonNeg", f.nonNeg != unsaid}, {"deadBelow", f.deadBelow != unsaid}, {"kinked", f.kinked != unsaid},
		{"below", f.below != nil}, {"bend", f.bend != nil}, {"lipschitz", f.lipschitz > 0}, {"growth", f.growth > 0}, {"bound", f.bound > 0},
	} {
		if !fact.said {
			return fact.name
		}
	}
	return ""
}

// facts of the activation. A kind that is not in the table is a mistake of the program:
// Check refuses it where it comes from a file.
func (a Activation) facts() *facts {
	if a.Kind < 0 || int(a.Kind) >= Kinds {
		panic(fmt.Sprintf("network: %v is not among the %d activations", a.Kind, Kinds))
	}
	return &table[a.Kind]
}

// NonNeg reports whether the activation's values are never negative.
func (a Activation) NonNeg() bool { return a.facts().nonNeg == yes }

// DeadBelow reports whether the activation is 0 for every t <= 0.
func (a Activation) DeadBelow() bool { return a.facts().deadBelow == yes }

// Kinked reports whether the activation is below t for t < 0 and t for t >= 0, with a number 0 <=
// below <= 1: convex, and positively homogeneous.
func (a Activation) Kinked() (below float64, kinked bool) {
	f := a.facts()
	return f.below(a), f.kinked == yes
}

// BendWithin encloses the second derivative s” on [lo, hi], with 0 <= lo or hi <= 0; -Inf and
// +Inf are ends, too. On each side of 0, s' is continuous.
func (a Activation) BendWithin(lo, hi float64) (least, most float64) {
	f := a.facts()
	if !(lo <= hi && (lo >= 0 || hi <= 0)) {
		return -inf, inf
	}
	return f.bend(a, lo, hi)
}

// Lipschitz is a constant L with |s(t) - s(r)| <= L |t - r|.
func (a Activation) Lipschitz() float64 { return a.facts().lipschitz }

// SizeUp bounds |s(t)|, and its L2 norm if t is random, from above by the same of t: the
// lesser of growth times size plus offset, rounded up, and of what |s| never exceeds.
func (a Activation) SizeUp(size float64) float64 { return a.facts().sizeUp(size) }

func (f *facts) sizeUp(size float64) float64 {
	grown := size
	if f.growth == inf {
		grown = inf // also where size is 0
	} else if f.growth != 1 {
		grown = math.Nextafter(f.growth*size, inf)
	}
	if f.offset != 0 {
		grown = math.Nextafter(grown+f.offset, inf)
	}
	return min(grown, f.bound)
}
