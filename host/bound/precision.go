// Package bound propagates weight boxes and input boxes through a network and
// returns bounds that hold in real arithmetic.
//
// The inclusion that every function here promises: for every weight vector w
// between the stored end-points of its weight box and every x of its input box,
// the exact real value of a quantity lies between the Lo and the Hi returned for
// it. Rounding, underflow and overflow of the floating-point format included.
//
// The algorithms (IBP and LBP in propagate.go, concentration LBP in clbp.go) are sequences of the
// operations of the Device interface; packages fallback and gpu implement the operations.
package bound

import (
	"fmt"
	"math"
)

// Real is the set of number formats that a device computes in.
type Real interface{ float32 | float64 }

// Block is the length of the runs in which every sum is taken: terms are added
// left to right in blocks of Block, block sums left to right. It is part of the
// definition of each operation that sums.
const Block = 32

// Precision is the floating-point format of a device: IEEE 754, round to
// nearest, gradual underflow.
type Precision int

const (
	Float32 Precision = iota
	Float64
)

// String returns float32 or float64.
func (p Precision) String() string {
	if p == Float32 {
		return "float32"
	}
	return "float64"
}

// ParsePrecision reads float32 or float64.
func ParsePrecision(word string) (Precision, error) {
	switch word {
	case "float32":
		return Float32, nil
	case "float64":
		return Float64, nil
	}
	return 0, fmt.Errorf("precision %q is neither float32 nor float64", word)
}

// Bytes is the size of one number.
func (p Precision) Bytes() int {
	if p == Float32 {
		return 4
	}
	return 8
}

// Unit is the unit roundoff u: 2^-24 or 2^-53.
func (p Precision) Unit() float64 {
	if p == Float32 {
		return 0x1p-24
	}
	return 0x1p-53
}

// Eta is the smallest positive subnormal number: 2^-149 or 2^-1074.
func (p Precision) Eta() float64 {
	if p == Float32 {
		return 0x1p-149
	}
	return 0x1p-1074
}

// Max is the largest finite number.
func (p Precision) Max() float64 {
	if p == Float32 {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// Nearest rounds x to the format, to nearest.
func (p Precision) Nearest(x float64) float64 {
	if p == Float32 {
		return float64(float32(x))
	}
	return x
}

// RoundLo returns the largest number of the format that is <= x; -Inf if there
// is none and for NaN.
func (p Precision) RoundLo(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(-1)
	}
	if p == Float64 {
		return x
	}
	return float64(float32Down(x))
}

// float32Down returns the largest float32 <= x; NaN for NaN. It has no branch: draws are rounded
// by the million, and half of them up.
func float32Down(x float64) float32 {
	r := float32(x)
	bits := math.Float32bits(r)
	below := bits - (1 | uint32(int32(bits)>>31)) // towards 0 above it, away from it below; -0 is below
	if float64(r) > x {
		bits = below
	}
	return math.Float32frombits(bits)
}

// RoundHi returns the smallest number of the format that is >= x; +Inf if there
// is none and for NaN.
func (p Precision) RoundHi(x float64) float64 {
	return -p.RoundLo(-x)
}

// Rounding is the pair of constants by which an operation pushes a computed sum
// outward: by Rel times the computed sum of magnitudes plus Abs. Both are
// numbers of the device's format, rounded up.
type Rounding struct{ Rel, Abs float64 }

// gamma is g_k = k u / (1 - k u) of docs/theory.md (5), rounded up.
func (p Precision) gamma(k int) float64 {
	ku := float64(k) * p.Unit()
	if !(ku < 0.25) {
		panic(fmt.Sprintf("bound: a sum in which a term is rounded %d times has no error bound in %v", k, p))
	}
	return ku / (1 - ku) * (1 + 0x1p-50)
}

// longestSum is the longest sum for which all constants exist: each term meets
// fewer than 2^-4 / u roundings.
func (p Precision) longestSum() int { return int(min(0x1p-4/p.Unit()*Block, 1<<40)) / 2 }

// roundings is the largest number of roundings that one of n terms meets when
// it is a rounded product, is added in its block, and its block is added to the
// others: 1 + 31 + (blocks - 1).
func roundings(n int) int { return Block + (n+Block-1)/Block - 1 }

// pushFor returns the constants for a sum whose terms meet at most k roundings,
// beside a sum of magnitudes that meets as many, with at most n products.
//
// With M the exact sum of magnitudes, m the computed one: the sum is wrong by at
// most g_k M + n eta (docs/theory.md (5); a product that underflows is wrong by eta/2),
// and M <= (m + n eta) / (1-u)^k. The push is computed as fl(fl(m Rel) + Abs),
// which is >= (m Rel (1-u) - eta/2 + Abs)(1-u). So Rel >= g_k (1-u)^-(k+2) and
// Abs >= (3 n + 1) eta (1-u)^-2 suffice, since g_k < 1.
func (p Precision) pushFor(k, n int) Rounding {
	g := p.gamma(k + 4)
	return Rounding{Rel: p.RoundHi(p.gamma(k) * (1 + g) * (1 + 0x1p-50)), Abs: p.RoundHi(float64(4*n+8) * p.Eta())}
}

// inflateFor returns the factor and the summand that turn a computed sum of
// non-negative terms, each met by at most k roundings, n of them products, into
// an upper bound of the exact sum: fl(fl(m Rel) + Abs).
func (p Precision) inflateFor(k, n int) Rounding {
	return Rounding{Rel: p.RoundHi((1 + p.gamma(k+4)) * (1 + 0x1p-50)), Abs: p.RoundHi(float64(4*n+8) * p.Eta())}
}
