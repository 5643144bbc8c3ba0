package property

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"psafe/internal/testscale"
)

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// length is sum_j (|x_j - v_j| / r_j)^norm exactly; a coordinate whose r_j is 0 has to be v_j.
func length(x, v, r []*big.Rat, norm int) (sum *big.Rat, fits bool) {
	sum, fits = new(big.Rat), true
	for j := range x {
		d := new(big.Rat).Sub(x[j], v[j])
		if r[j].Sign() == 0 {
			fits = fits && d.Sign() == 0
			continue
		}
		if d.Abs(d).Quo(d, r[j]); norm == 2 {
			d.Mul(d, d)
		}
		sum.Add(sum, d)
	}
	return sum, fits
}

// inside is a number of an interval: an end of it, or between them.
func inside(r *rand.Rand, lo, hi float64) *big.Rat {
	share := big.NewRat([]int64{0, 1, 3, 8}[r.IntN(4)], 8)
	return share.Add(rat(lo), share.Mul(share, new(big.Rat).Sub(rat(hi), rat(lo))))
}

// TestBall compares with exact arithmetic, whatever the real centre and the real half-axes are: every
// point of the real ball that is in the box is in the outer one, and every witness is in the real ball.
func TestBall(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	outer, witnesses := 0, 0
	for i := range testscale.Cases(t, 4000) {
		n, norm := 1+r.IntN(6), 1+r.IntN(2)
		wide := []float64{0, 0x1p-52, 0x1p-20, 0.1}[r.IntN(4)]
		b := &Ball{Norm: norm, CentreLo: make([]float64, n), CentreHi: make([]float64, n), RadiusLo: make([]float64, n), RadiusHi: make([]float64, n)}
		box := Box{Lo: make([]float64, n), Hi: make([]float64, n)}
		inner := Box{Lo: make([]float64, n), Hi: make([]float64, n)}
		v, rs, x := make([]*big.Rat, n), make([]*big.Rat, n), make([]*big.Rat, n)
		near := make([]float64, n)
		for j := range n {
			c, radius := r.NormFloat64(), []float64{0, 0.3, 1, 1e-3}[r.IntN(4)]
			b.CentreLo[j], b.CentreHi[j] = c, c+wide*r.Float64()
			b.RadiusLo[j], b.RadiusHi[j] = radius, radius*(1+wide*r.Float64())
			box.Lo[j], box.Hi[j] = addDown(b.CentreLo[j], -b.RadiusHi[j]), addUp(b.CentreHi[j], b.RadiusHi[j])
			inner.Lo[j], inner.Hi[j] = addUp(b.CentreHi[j], -b.RadiusLo[j]), addDown(b.CentreLo[j], b.RadiusLo[j])
			if r.IntN(4) == 0 && radius > 0 { // --clip at the centre
				box.Lo[j], inner.Lo[j] = b.CentreHi[j], b.CentreHi[j]
			}
			v[j], rs[j] = inside(r, b.CentreLo[j], b.CentreHi[j]), inside(r, b.RadiusLo[j], b.RadiusHi[j])
			// A point near the face of the real ball.
			x[j] = new(big.Rat).Add(v[j], new(big.Rat).Mul(rs[j], new(big.Rat).SetFloat64(r.NormFloat64()/math.Pow(float64(n), 1/float64(norm)))))
			near[j], _ = x[j].Float64()
		}
		task := Task{T: []Box{box}, Inner: []Box{inner}, Ball: b, S: Safe{Any: [][]int{{}}}, Label: -1}
		if err := task.Check(n, 1); err != nil && wide < 0.1 {
			t.Fatalf("case %d: %v", i, err)
		}
		if sum, _ := length(x, v, rs, norm); sum.Cmp(big.NewRat(1, 1)) <= 0 && inBox(x, box) {
			centre, radius := b.Outer(box)
			c, rr := make([]*big.Rat, n), make([]*big.Rat, n)
			for j := range n {
				c[j], rr[j] = rat(centre[j]), rat(radius[j])
			}
			outer++
			if sum, fits := length(x, c, rr, norm); !fits || sum.Cmp(big.NewRat(1, 1)) > 0 {
				t.Fatalf("case %d: norm %d: a point of the real ball is outside of %v, %v", i, norm, centre, radius)
			}
		}
		w := task.Witness(0, near)
		if w.Lo == nil {
			continue
		}
		witnesses++
		at := make([]*big.Rat, n)
		for j := range n {
			if at[j] = rat(w.Lo[j]); w.Lo[j] != w.Hi[j] {
				if at[j] = v[j]; b.RadiusHi[j] != 0 || rat(w.Lo[j]).Cmp(v[j]) > 0 || rat(w.Hi[j]).Cmp(v[j]) < 0 {
					t.Fatalf("case %d: coordinate %d is only known to be in %v to %v", i, j, w.Lo[j], w.Hi[j])
				}
			}
		}
		if sum, fits := length(at, v, rs, norm); !fits || sum.Cmp(big.NewRat(1, 1)) > 0 || !inBox(at, box) {
			t.Fatalf("case %d: norm %d: the witness %v is outside of the ball", i, norm, w.Lo)
		}
	}
	if outer < 20 || witnesses < 20 {
		t.Errorf("%d points and %d witnesses: too few to tell", outer, witnesses)
	}
}

func inBox(x []*big.Rat, b Box) bool {
	for j, v := range x {
		if v.Cmp(rat(b.Lo[j])) < 0 || v.Cmp(rat(b.Hi[j])) > 0 {
			return false
		}
	}
	return true
}

// TestBallOfPoints: --norm makes a ball around a point in the units of the data, which --std takes to one
// with half-axes of their own.
func TestBallOfPoints(t *testing.T) {
	region, err := ReadRegion(RegionText{Eps: "1/4", Norm: "2", Clip: []string{"0", "1"}, Fix: "1"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "point.csv")
	if err := os.WriteFile(file, []byte("0,0.5,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPoints(file, InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var task Task
	if err := p.RegionOf(&task, 0, region); err != nil {
		t.Fatal(err)
	}
	if b := task.Ball; b == nil || b.Norm != 2 || b.RadiusHi[0] != 0.25 || b.RadiusHi[1] != 0 || task.T[0].Hi[0] != 0.25 || task.T[0].Lo[0] != 0 {
		t.Fatalf("%+v in %v", task.Ball, task.T)
	}
	norm, err := ReadNorm("[0.5,0.5,0.5]", "[0.5,1,2]", 3, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := norm.Apply(&task); err != nil {
		t.Fatal(err)
	}
	if b := task.Ball; b.RadiusHi[0] != 0.5 || b.RadiusHi[2] != 0.125 || b.CentreLo[0] != -1 || b.CentreLo[2] != 0.25 {
		t.Errorf("normalised: %+v", b)
	}
	for _, c := range []struct {
		text RegionText
		ball bool
	}{{RegionText{Eps: "0", Norm: "2"}, false}, {RegionText{Eps: "0.1", Norm: "inf"}, false}, {RegionText{Eps: "0.1"}, false}, {RegionText{Eps: "[0,0,0.1]", Norm: "1"}, true}} {
		region, err := ReadRegion(c.text, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.RegionOf(&task, 0, region); err != nil || (task.Ball != nil) != c.ball {
			t.Errorf("%+v: ball %+v, %v", c.text, task.Ball, err)
		}
	}
	if _, err := ReadRegion(RegionText{Eps: "1", Norm: "l2"}, 3); err == nil || err.Error() != `--norm "l2" is none of inf, 2 and 1: write --norm 2 for the ball of the L2 norm, or leave it out for a box` {
		t.Error(err)
	}
}
