package ontop

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
)

// TestPointLaw: mean and variance of a row at a point are those in rational numbers, of every kind of posterior.
func TestPointLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 6))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range 12 {
		about := checktest.RandomAbout(rng, i%3, 0.3, 2, 3, 2)
		post, err := about.Linearised()
		if err != nil {
			t.Fatal(err)
		}
		n := meansOf(t, post)
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}
		law := NewPointLaw(NewLinear(about), n.Layers, property.Box{Lo: x, Hi: x})
		c := []float64{1, -0.5}
		got := law.variance(law.rows(&property.Row{CLo: c, CHi: c}))
		// By hand: z of the hidden layer, and the coefficients of its pre-activations.
		l := about.Layers
		z, a := make([]float64, 3), make([]*big.Rat, 3)
		exact := make([]*big.Rat, 3)
		for o := range z {
			t := rat(l[0].Bias.Mean[o])
			for k, v := range x {
				t.Add(t, new(big.Rat).Mul(rat(l[0].Weight.Mean[k*3+o]), rat(v)))
			}
			a[o] = new(big.Rat)
			if exact[o] = t; t.Sign() > 0 {
				for q, v := range c {
					a[o].Add(a[o], new(big.Rat).Mul(rat(v), rat(l[1].Weight.Mean[o*2+q])))
				}
			} else {
				exact[o] = new(big.Rat)
			}
		}
		terms := map[string]*big.Rat{}
		add := func(term string, by, coefficient *big.Rat) {
			if terms[term] == nil {
				terms[term] = new(big.Rat)
			}
			terms[term].Add(terms[term], new(big.Rat).Mul(by, coefficient))
		}
		for k, rows := range [][]*big.Rat{a, {rat(c[0]), rat(c[1])}} {
			fed := [][]*big.Rat{{rat(x[0]), rat(x[1]), rat(1)}, append(append([]*big.Rat{}, exact...), rat(1))}[k]
			in, out := len(fed)-1, len(rows)
			for o, row := range rows {
				for e, v := range fed {
					by := new(big.Rat).Mul(row, v)
					switch joint, cov := about.Joint(), about.Covariances(); {
					case joint != nil && joint[k] != nil:
						for r := range joint[k].Rank {
							add(fmt.Sprint(r), by, rat(joint[k].Factor[(o*(in+1)+e)*joint[k].Rank+r]))
						}
					case joint != nil || cov != nil && cov[k] == nil:
					case cov != nil && cov[k].Full():
						for r := range cov[k].Rank {
							term := fmt.Sprint(k, r)
							if cov[k].Apart {
								term = fmt.Sprint(k, r, "of", o)
							}
							add(term, by, rat(cov[k].Factor[(o*(in+1)+e)*cov[k].Rank+r]))
						}
					case cov != nil:
						for f, sd := range cov[k].Sd {
							q := new(big.Rat).Mul(rat(cov[k].QG[o*out+f/(in+1)]), rat(cov[k].QA[e*(in+1)+f%(in+1)]))
							add(fmt.Sprint(k, f), by, q.Mul(q, rat(sd)))
						}
					case e == in:
						add(fmt.Sprint(k, o, e), by, rat(l[k].Bias.SdHi[o]))
					default:
						add(fmt.Sprint(k, o, e), by, rat(l[k].Weight.SdHi[e*out+o]))
					}
				}
			}
		}
		want := new(big.Rat)
		for _, term := range terms {
			want.Add(want, term.Mul(term, term))
		}
		if !(rat(got.Lo).Cmp(want) <= 0 && rat(got.Hi).Cmp(want) >= 0) || got.Hi > got.Lo*(1+1e-10)+1e-12 {
			w, _ := want.Float64()
			t.Errorf("%d: variance in [%v, %v], it is %v", i, got.Lo, got.Hi, w)
		}
		if math.IsNaN(got.Lo) {
			t.Error("NaN")
		}
	}
}

// TestPointLawOfBoxes: the law of a row at points of a box is within that of the box.
func TestPointLawOfBoxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 7))
	for i := range 60 {
		about := checktest.RandomAbout(rng, i%3, 0.3, 2, 3, 2)
		post, err := about.Linearised()
		if err != nil {
			t.Fatal(err)
		}
		n := meansOf(t, post)
		b := checktest.BallOf(rng, 2, 0.05)
		x := []float64{b.Lo[0] + (b.Hi[0]-b.Lo[0])*rng.Float64(), b.Lo[1] + (b.Hi[1]-b.Lo[1])*rng.Float64()}
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
		box, at := NewPointLaw(NewLinear(about), n.Layers, b), NewPointLaw(NewLinear(about), n.Layers, property.Box{Lo: x, Hi: x})
		wide, v := box.variance(box.rows(&row)), at.variance(at.rows(&row))
		if !(wide.Lo <= v.Lo && wide.Hi >= v.Hi) || box.TailUp(&row) < at.TailUp(&row) {
			t.Errorf("%d: variance %v of a point, %v of the box; tails %v, %v", i, v, wide, at.TailUp(&row), box.TailUp(&row))
		}
	}
}

// meansOf is the network of a posterior's means.
func meansOf(t *testing.T, post *posterior.Posterior) relax.Network {
	t.Helper()
	m, err := relax.MoldOf(post.Network())
	if err != nil {
		t.Fatal(err)
	}
	n, err := relax.NetworkOf(m, post.Mean())
	if err != nil {
		t.Fatal(err)
	}
	n.Lines = true
	return *n
}
