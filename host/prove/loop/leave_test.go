package loop

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/plant"
	"psafe/internal/testscale"
)

// pushed is x' = x + u + v, where u is a normal number of deviation sd, the network's bias.
func pushed(t *testing.T, sd float64, noise, rest string) (*Loop, *posterior.Posterior) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plant.yaml")
	text := `state: {x: {range: [-2, 2], cells: 64}}
network: {inputs: [x], outputs: [u]}
noise: {v: ` + noise + `}
next: {x: x + u + v}
start: [0 <= x <= 0]
safe: [-1 <= x <= 1]
` + rest
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := plant.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return New(p), &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{
		Layer:  network.DenseLayer(1, 1, network.Activation{}),
		Weight: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD),
		Bias:   posterior.NewParams([]float64{0}, []float64{sd}, posterior.ScaleSD),
	}}}
}

// TestLeave compares with sums of the drawn numbers, exactly: how many trajectories break the statement, of networks that
// are drawn once and at each step, with noise at its ends, and with a goal on the right.
func TestLeave(t *testing.T) {
	const n = 60
	for _, c := range []struct {
		sd          float64
		noise, rest string
		steps       int
		ends        []*big.Rat
		goal        *big.Rat
	}{
		{0.004, "[0, 0]", "semantics: once\n", 0, []*big.Rat{new(big.Rat)}, nil},
		{0.004, "[-1/512, 1/1024]", "semantics: once\n", 0, []*big.Rat{big.NewRat(-1, 512), big.NewRat(1, 1024)}, nil},
		{0.004, "[0, 0]", "semantics: once\ngoal: [x >= 0.5]\n", 0, []*big.Rat{new(big.Rat)}, big.NewRat(1, 2)},
		{0.02, "[0, 0]", "semantics: once\ngoal: [x >= 0.5]\n", 20, []*big.Rat{new(big.Rat)}, big.NewRat(1, 2)},
		{0.5, "[0, 0]", "semantics: each-step\nsteps: 4\n", 4, []*big.Rat{new(big.Rat)}, nil},
		{0.5, "[0, 0]", "semantics: each-step\nsteps: 4\ngoal: [x >= 0.5]\n", 4, []*big.Rat{new(big.Rat)}, big.NewRat(1, 2)},
	} {
		l, post := pushed(t, c.sd, c.noise, c.rest)
		got, err := l.Leave(context.Background(), post, Draws{n, 3}, c.steps, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		steps, least, most := c.steps, 0, 0
		if steps == 0 {
			steps = horizon
		}
		w := post.NewWeights()
		// breaks reports it of limits that are moved by a share: what ends there may be too near to prove.
		breaks := func(i int, end, limit *big.Rat) bool {
			x := new(big.Float).SetPrec(2000) // in which sums are exact
			less, more := new(big.Float).SetRat(limit), new(big.Float).SetRat(new(big.Rat).Neg(limit))
			for k := range steps {
				number := draws + i
				if l.Fresh {
					number = draws + i*steps + k
				}
				if k == 0 || l.Fresh {
					post.Draw(3, number, w)
				}
				x.Add(x.Add(x, big.NewFloat(w[1][0])), new(big.Float).SetRat(end))
				if c.goal != nil && x.Cmp(new(big.Float).SetRat(c.goal)) >= 0 {
					return false
				}
				if x.Cmp(less) > 0 || x.Cmp(more) < 0 {
					return true
				}
			}
			return c.goal != nil && c.steps > 0
		}
		for i := range n {
			any := func(limit *big.Rat) bool {
				return slices.ContainsFunc(c.ends, func(end *big.Rat) bool { return breaks(i, end, limit) })
			}
			if any(big.NewRat(1, 1)) {
				most++
			}
			if any(big.NewRat(1000001, 1000000)) {
				least++
			}
		}
		if got.Left > most || got.Left < least || most == 0 || most == n || got.Networks != n {
			t.Errorf("%s%s: %d of %d break the statement, exactly %d to %d", c.noise, c.rest, got.Left, got.Networks, least, most)
		}
		if cells := l.Starts(); len(got.Cells) == 0 || !slices.Contains(cells, got.Cells[0]) {
			t.Errorf("%s: they begin in %v, starts are %v", c.rest, got.Cells, cells)
		}
	}
}

// TestEncloseOutputs: outputs of boxes of states hold those of their points, exactly, with inputs that the file normalises.
func TestEncloseOutputs(t *testing.T) {
	l, post := pushed(t, 0.3, "[0, 0]", "semantics: once\n")
	post.Layers[0].Weight = posterior.NewParams([]float64{0.7}, []float64{0.3}, posterior.ScaleSD)
	post.Input = posterior.Input{Mean: []float64{0.1}, Std: []float64{0.3}}
	c := chase{Loop: l, post: post}
	r := rand.New(rand.NewPCG(5, 5))
	for i := range testscale.Cases(t, 1000) {
		w := c.weights(i)
		lo := r.Float64() - 0.5
		hi := lo + r.Float64()*float64(i%2)
		out := c.enclose(w, []arith.Interval{arith.Of(lo, hi)})
		for _, x := range []float64{lo, hi} {
			y := new(big.Rat).Sub(rat(x), rat(0.1))
			y.Quo(y, rat(0.3))
			y.Add(y.Mul(y, rat(w[0][0])), rat(w[1][0]))
			if y.Cmp(rat(out[0].Lo)) < 0 || y.Cmp(rat(out[0].Hi)) > 0 {
				t.Fatalf("network %d: at %v of %v to %v the output is %v, not within %v", i, x, lo, hi, y.FloatString(20), out)
			}
		}
		if lo == hi && out[0].Hi-out[0].Lo > 1e-14 {
			t.Fatalf("network %d: at %v the output is within %v", i, lo, out)
		}
	}
	w := c.weights(0)
	w[1][0] = arith.Inf
	if out := c.enclose(w, []arith.Interval{arith.Exactly(0)}); out != nil {
		t.Errorf("an infinite weight gives %v", out)
	}
}

// TestStartIn: boxes that are tried have a point of the start set, however thin it is.
func TestStartIn(t *testing.T) {
	for start, found := range map[string]bool{
		"0.1 <= x <= 0.1": true, "1/3 <= x <= 1/3": true, "1/3 <= x, 7*x <= 7/3": true, "-1/3 <= x <= 1/7": true, "0.3 <= x <= 0.3000001": true,
		"-1 <= x <= 1": true, "0.1 <= x <= 0.1, sin(x) <= 0.09": false,
	} {
		file := filepath.Join(t.TempDir(), "plant.yaml")
		text := fmt.Sprintf("state: {x: {range: [-2, 2], cells: 64}}\nnetwork: {inputs: [x], outputs: [u]}\nnext: {x: u}\nstart: [%s]\nsafe: [x <= 1]\nsemantics: once\n", start)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := plant.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		l := New(p)
		tried := l.trials(9)
		for _, trial := range tried {
			x := trial.start[0]
			least, most := rat(x.Lo), rat(x.Hi) // of the box and of the bounds
			for _, f := range p.Start {
				by := f.Terms[0].By.Exact
				root := new(big.Rat).Quo(new(big.Rat).Neg(f.Constant.Exact), by)
				if by.Sign() > 0 && root.Cmp(least) > 0 {
					least = root
				} else if by.Sign() < 0 && root.Cmp(most) < 0 {
					most = root
				}
			}
			if least.Cmp(most) > 0 {
				t.Errorf("%s: %v is tried", start, x)
			}
			if e := l.State[0].Edges; x.Lo < e[trial.cell] || x.Hi > e[trial.cell+1] || x.Hi-x.Lo > 1e-15 {
				t.Errorf("%s: %v is tried in cell %d", start, x, trial.cell)
			}
		}
		if len(tried) > 0 != found {
			t.Errorf("%s: %d are tried", start, len(tried))
		}
	}
}
