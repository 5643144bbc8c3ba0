package covary

import (
	"math/rand/v2"
	"testing"

	"psafe/host/model/posterior"
)

// TestMoves: an entry of a Kronecker covariance is random if a product of three numbers is not 0.
func TestMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 8))
	const in, out, n = 2, 3, 3
	for range 200 {
		c := &posterior.Covariance{QG: make([]float64, out*out), QA: make([]float64, n*n), Sd: make([]float64, out*n)}
		for _, list := range [][]float64{c.QG, c.QA, c.Sd} {
			for e := range list {
				list[e] = float64(max(0, rng.IntN(4)-1)) * 1e-200
			}
		}
		v := &Covaried{Topped: Topped{Covariance: c, In: in, Out: out}}
		for o := range out {
			moves := v.moves(o)
			for j := range n {
				want := false
				for e, sd := range c.Sd {
					want = want || sd != 0 && c.QG[o*out+e/n] != 0 && c.QA[j*n+e%n] != 0
				}
				if moves[j] != want {
					t.Fatalf("entry %d, %d of %+v: %v", o, j, c, moves[j])
				}
			}
		}
	}
}
