package posterior

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// NewWeights makes room for one weight vector, all zeros, as Draw takes it: a list
// for the weights of layer 0, one for the biases of layer 0, one for the weights
// of layer 1, and so on.
func (p *Posterior) NewWeights() [][]float64 {
	list := make([][]float64, 2*len(p.Layers))
	for a := range list {
		list[a] = make([]float64, p.size(a))
	}
	return list
}

// Draw writes weight vector number i >= 0 of the sequence that seed names to dst,
// which has the shape that NewWeights gives: dst[2k] are the weights of layer k, in the
// order of its linear map, dst[2k+1] its biases. The vectors of a sequence
// are independent draws from the posterior; number i is the same whichever others
// were drawn before or are drawn at the same time. p must be valid; a dst of
// another shape or a negative i is a mistake of the caller.
//
// Each kind takes its numbers from ChaCha8, with the key made of seed and i, by
// math/rand/v2. With every operation rounded to float64,
//
//   - KindGaussian: w = mean + sd*n, sd being SdHi, n from NormFloat64;
//   - KindFinite: network i with probability Counts[i] / Total(), exactly;
//   - KindSWAG: w = (mean + sqrt(1/2)*(sd*n)) + (1/sqrt(2(K-1)))*sum, where sum
//     adds deviation*n over the columns, first to last, n being the column's;
//   - KindDropout: all weights from one input are 0 with probability rate (to a
//     multiple of 2^-53), else weight/(1-rate); biases stay;
//   - KindCorrelated: mean plus Factor z, z from NormFloat64, or QG (Sd n) QA', n from
//     NormFloat64 by rows, sums taken first to last (Covariance);
//   - KindJoint: mean plus Factor z, with one z from NormFloat64 for all layers.
//
// A statistical statement is about the law of these float64 numbers. It differs
// from the posterior's own law by their rounding, by the lattice of 2^-32 of
// NormFloat64, and by the width of [SdLo, SdHi]. A draw is infinite where the sum
// overflows.
func (p *Posterior) Draw(seed uint64, i int, dst [][]float64) {
	_ = p.DrawUntil(seed, i, dst, forever)
}

// DrawUntil is Draw that asks ended from time to time, where one draw takes long: of Kronecker covariances.
// The error is that of ended; then nothing can be said of dst.
func (p *Posterior) DrawUntil(seed uint64, i int, dst [][]float64, ended func() error) error {
	if i < 0 || len(dst) != 2*len(p.Layers) {
		panic(fmt.Sprintf("posterior: Draw: vector %d into %d lists, %d are needed", i, len(dst), 2*len(p.Layers)))
	}
	for a := range dst {
		if len(dst[a]) != p.size(a) {
			panic(fmt.Sprintf("posterior: Draw: list %d has %d entries, %s has %d", a, len(dst[a]), arrayWords(a), p.size(a)))
		}
	}
	r := drawStream(seed, uint64(i))
	switch p.Kind {
	case KindGaussian:
		for a, g := range p.Params() {
			drawNormal(r, g.Mean, g.SdHi, 1, dst[a])
		}
	case KindFinite:
		for a, w := range p.finite.Weights(p.finite.draw(r)) {
			copy(dst[a], w)
		}
	case KindSWAG:
		p.drawSWAG(r, dst)
	case KindDropout:
		p.drawDropout(r, dst)
	case KindCorrelated, KindJoint:
		return p.drawCovariances(r, dst, ended)
	default:
		panic(fmt.Sprintf("posterior: Draw: %v", p.Kind))
	}
	return nil
}

// drawStream is the random stream of vector i of sequence seed. ChaCha8 is a
// cipher: streams of neighbouring keys have nothing in common, which is not so of
// generators whose seeds are places in one sequence.
func drawStream(seed, i uint64) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[0:], seed)
	binary.LittleEndian.PutUint64(key[8:], i)
	copy(key[16:], "psafe draw")
	return rand.New(rand.NewChaCha8(key))
}

// drawNormal writes mean + factor*(sd*n). The conversions keep the compiler from
// fusing operations, which would give other bits on other processors. A normal is
// drawn for every weight, a fixed one too.
func drawNormal(r *rand.Rand, mean, sd []float64, factor float64, dst []float64) {
	for e, m := range mean {
		dst[e] = m + float64(factor*float64(sd[e]*r.NormFloat64()))
	}
}

// draw gives the index of a network.
func (s *Finite) draw(r *rand.Rand) int {
	u := int64(r.Uint64N(uint64(s.Total())))
	for i, c := range s.Counts {
		if u < c {
			return i
		}
		u -= c
	}
	panic("posterior: a number below the sum of counts is in no count")
}

func (p *Posterior) drawSWAG(r *rand.Rand, dst [][]float64) {
	s := p.swag
	column := normals(r, s.Rank)
	factor := 1 / math.Sqrt(float64(2*(s.Rank-1)))
	for a, g := range p.Params() {
		drawNormal(r, g.Mean, s.Sd[a], math.Sqrt2/2, dst[a])
		n := len(dst[a])
		for e := range dst[a] {
			sum := 0.0
			for k, z := range column {
				sum += float64(s.Deviation[a][k*n+e] * z)
			}
			dst[a][e] += float64(factor * sum)
		}
	}
}
