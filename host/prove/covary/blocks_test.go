package covary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// exactVariance is that of sum_k a^k D^k p^k in rational numbers, p^k with a last entry for the bias.
func exactVariance(post *posterior.Posterior, a, p [][]float64) *big.Rat {
	sum := new(big.Rat)
	columns := make([]*big.Rat, post.JointRank())
	for t := range columns {
		columns[t] = new(big.Rat)
	}
	square := func(x *big.Rat) { sum.Add(sum, new(big.Rat).Mul(x, x)) }
	for k := range post.Layers {
		l := &post.Layers[k]
		in, out := l.Inputs(), l.Outputs()
		of := make([]*big.Rat, 0)
		if all := post.Covariances(); all != nil && all[k] != nil {
			for range out * max(all[k].Rank, in+1) {
				of = append(of, new(big.Rat))
			}
		}
		for o := range out {
			for j := range in + 1 {
				x := rat(a[k][o])
				x.Mul(x, rat(p[k][j]))
				times := func(w ...float64) *big.Rat {
					y := new(big.Rat).Set(x)
					for _, v := range w {
						y.Mul(y, rat(v))
					}
					return y
				}
				switch {
				case post.Independent() && j == in:
					square(times(l.Bias.SdHi[o]))
				case post.Independent():
					square(times(l.Weight.SdHi[j*out+o]))
				case post.Joint() != nil:
					for t := range columns {
						columns[t].Add(columns[t], times(sumtest.SharedEntry(post, k, o, j, t)))
					}
				case len(of) == 0:
				case post.Covariances()[k].Full():
					c := post.Covariances()[k]
					for t := range c.Rank {
						at := t
						if c.Apart {
							at += o * c.Rank
						}
						of[at].Add(of[at], times(c.Factor[(o*(in+1)+j)*c.Rank+t]))
					}
				default:
					c := post.Covariances()[k]
					for e := range of {
						i, t := e/(in+1), e%(in+1)
						of[e].Add(of[e], times(c.QG[o*out+i], c.Sd[e], c.QA[j*(in+1)+t]))
					}
				}
			}
		}
		for _, x := range of {
			square(x)
		}
	}
	for _, x := range columns {
		square(x)
	}
	return sum
}

// TestBlocks: what is said of a row's noise on a cell, in all layers together, is at least what it is at points
// that the lines allow, in rational numbers, and at a point of the lines it is that; so are the deviations of
// coefficients, and of those that lines give each input.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 99))
	randoms := []func(*rand.Rand, network.Activation, float64, ...int) *posterior.Posterior{sumtest.RandomNoisy, sumtest.RandomCorrelated, sumtest.RandomJoint}
	for i := range testscale.Cases(t, 300) {
		sizes := []int{1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(2)}
		post := randoms[i%3](r, network.Activation{}, math.Exp2(float64(r.IntN(12)-8)), sizes...)
		b, err := NewBlocks(post, never)
		if err != nil {
			t.Fatal(err)
		}
		width, in := float64(i/3%2), sizes[0]
		l := &Lines{Slope: [][][]float64{nil}}
		var a [][]float64
		for j := range in {
			l.Radius = append(l.Radius, width*float64(j+1)/4)
		}
		for k := range 2 {
			var at, half, reach []float64
			var slope [][]float64
			for j := range sizes[k] {
				at, half = append(at, r.NormFloat64()), append(half, width*r.Float64()*float64(k))
				s, far := make([]float64, in), half[j]
				for x := range s {
					if s[x] = r.NormFloat64(); k == 0 {
						s[x] = map[bool]float64{true: 1}[x == j]
					}
					far += math.Abs(s[x]) * l.Radius[x]
				}
				slope, reach = append(slope, s), append(reach, far)
			}
			l.At, l.Half, l.Reach = append(l.At, at), append(l.Half, half), append(l.Reach, reach)
			if k > 0 {
				l.Slope = append(l.Slope, slope)
			}
			row := make([]float64, sizes[k+1])
			for o := range row {
				row[o] = r.NormFloat64() * float64(r.IntN(4))
			}
			a = append(a, row)
		}
		slopeOf := func(k, j, x int) float64 {
			if k == 0 {
				return map[bool]float64{true: 1}[x == j]
			}
			return l.Slope[k][j][x]
		}
		n := b.Noise(a, a, l)
		for range 6 {
			d := make([]float64, in)
			for x := range d {
				d[x] = l.Radius[x] * float64(2*r.IntN(2)-1) * 0.999
			}
			var p [][]float64
			for k := range 2 {
				var list []float64
				for j := range sizes[k] {
					z := l.At[k][j] + l.Half[k][j]*float64(2*r.IntN(2)-1)*0.999
					for x := range d {
						z += slopeOf(k, j, x) * d[x]
					}
					list = append(list, z)
				}
				p = append(p, append(list, 1))
			}
			want := exactVariance(post, a, p)
			x, _ := want.Float64()
			if !above(n.Variance, want) || width == 0 && (n.Variance > x*(1+1e-9)+1e-90 || !above(n.Centre, want)) {
				t.Fatalf("%d: variance %v, at a point %v", i, n.Variance, x)
			}
		}
		for x := range in {
			var p [][]float64
			for k := range 2 {
				var list []float64
				for j := range sizes[k] {
					list = append(list, slopeOf(k, j, x))
				}
				p = append(p, append(list, 0))
			}
			want := exactVariance(post, a, p)
			v, _ := want.Float64()
			if rat(n.Along[x]).Mul(rat(n.Along[x]), rat(n.Along[x])).Cmp(want) < 0 || n.Along[x] > math.Sqrt(v)*(1+1e-9)+1e-45 {
				t.Fatalf("%d: along input %d %v, want %v", i, x, n.Along[x], math.Sqrt(v))
			}
		}
		for k := range 2 {
			for j := range sizes[k] {
				p := [][]float64{make([]float64, sizes[0]+1), make([]float64, sizes[1]+1)}
				p[k][j] = 1
				want := exactVariance(post, a, p)
				v, _ := want.Float64()
				if sd := n.Sd[k][j]; rat(sd).Mul(rat(sd), rat(sd)).Cmp(want) < 0 || sd > math.Sqrt(v)*(1+1e-9)+1e-45 {
					t.Fatalf("%d: layer %d input %d %v, want %v", i, k, j, sd, math.Sqrt(v))
				}
			}
		}
	}
}
