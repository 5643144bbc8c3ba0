package branch

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testscale"
)

// graphCase is a random graph of convolutions, joins and pools with ReLU, and points of a box.
type graphCase struct {
	net     network.Network
	weights [][]float64
	post    *posterior.Posterior
	model   *bound.Model
	box     property.Box
	safe    property.Safe
	points  []graphPoint
}

// graphPoint has what every layer computes at a point.
type graphPoint struct{ pre [][]*big.Rat }

func newGraphCase(t *testing.T, r *rand.Rand, p bound.Precision, spread float64) *graphCase {
	t.Helper()
	c := &graphCase{}
	for !canSplitSmall(c.net) {
		c.net = networktest.Random(r, network.Activation{Kind: network.ReLU}, network.Activation{Kind: network.ReLU})
	}
	c.weights = networktest.Weights(r, c.net)
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k, l := range c.net {
		w, b := c.weights[2*k], c.weights[2*k+1]
		certain := r.IntN(4) == 0
		params := func(mean []float64) posterior.Params {
			sd := make([]float64, len(mean))
			for i := range sd {
				if !certain {
					sd[i] = spread * r.Float64()
				}
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: l, Weight: params(w), Bias: params(b)})
	}
	c.post = post
	signed := r.IntN(2)
	for range c.net.Inputs() {
		x := float64(r.IntN(9)-4*signed) / 8
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+float64(r.IntN(5))/8)
	}
	outputs := c.net[len(c.net)-1].Outputs()
	for range 3 {
		var row property.Row
		for range outputs {
			row.CLo = append(row.CLo, float64(r.IntN(5)-2))
		}
		row.CHi, row.D = row.CLo, float64(r.IntN(9)-4)
		row.DHi = row.D
		c.safe.Rows = append(c.safe.Rows, row)
	}
	c.safe.Any = [][]int{{0, 1, 2}}
	for n := range 10 {
		c.points = append(c.points, c.at(r, n, nil))
	}
	var err error
	if c.model, err = bound.NewModel(fallback.New(p), post, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.model.Release)
	return c
}

// canSplitSmall reports whether a network has phases and is small enough for rational numbers.
func canSplitSmall(net network.Network) bool {
	return len(net) > 0 && bound.CanSplit(net) && Work(net) < 1<<22
}

// at computes every layer at a corner of the box, or at a point inside, each pre-activation off by some of
// off, if that is not nil.
func (c *graphCase) at(r *rand.Rand, n int, off [][]float64) (p graphPoint) {
	var x []*big.Rat
	for j := range c.box.Lo {
		share := float64(r.IntN(2))
		if n%2 == 1 {
			share = float64(r.IntN(5)) / 4
		}
		x = append(x, rat(c.box.Lo[j]+share*(c.box.Hi[j]-c.box.Lo[j])))
	}
	out := make([][]*big.Rat, len(c.net))
	for k, l := range c.net {
		var z []*big.Rat
		for _, s := range c.net.Feed(k) {
			if s < 0 {
				z = append(z, x...)
			} else {
				z = append(z, out[s]...)
			}
		}
		pre := networktest.Map(l.Map, c.weights[2*k], c.weights[2*k+1], z)
		if k < len(off) && off[k] != nil {
			for i := range pre {
				by := rat(off[k][i])
				pre[i].Add(pre[i], by.Mul(by, rat([]float64{-1, 1, 1, -1, r.Float64()}[r.IntN(5)])))
			}
		}
		p.pre, out[k] = append(p.pre, pre), slices.Clone(pre)
		for i, v := range out[k] {
			if l.Activation.Kind == network.ReLU && v.Sign() < 0 {
				out[k][i] = new(big.Rat)
			}
		}
	}
	return p
}

// row is the value of a mixture of rows there.
func (p *graphPoint) row(safe *property.Safe, theta []float64) *big.Rat {
	sum := new(big.Rat)
	for i, f := range theta {
		v := rat(safe.Rows[i].D)
		for o, y := range p.pre[len(p.pre)-1] {
			v.Add(v, new(big.Rat).Mul(rat(safe.Rows[i].CLo[o]), y))
		}
		sum.Add(sum, v.Mul(v, rat(f)))
	}
	return sum
}

// has reports whether neurons have their phases there.
func (p *graphPoint) has(phases []phaseAt) bool {
	for _, f := range phases {
		if float64(p.pre[f.layer][f.unit].Sign())*f.phase < 0 {
			return false
		}
	}
	return true
}

// inRanges: pre-activations are within their bounds, where a row is not positive if one is assumed.
func (c *graphCase) inRanges(t *testing.T, p *phased, points []graphPoint) {
	t.Helper()
	for _, q := range points {
		for l := range p.known.lo {
			for i, v := range q.pre[l] {
				if v.Cmp(rat(p.known.lo[l][i])) < 0 || v.Cmp(rat(p.known.hi[l][i])) > 0 {
					t.Fatalf("neuron %d of layer %d is %v, bounds [%v, %v]", i, l, v.FloatString(9), p.known.lo[l][i], p.known.hi[l][i])
				}
			}
		}
	}
}

// TestPhaseGraphs: through convolutions, joins and pools, no bound of a row or a neuron is above an exact
// value at a point that has the phases; nor where the row is assumed not to be positive.
func TestPhaseGraphs(t *testing.T) {
	met, cut := 0, 0
	for n := range testscale.Cases(t, 300) {
		r := rand.New(rand.NewPCG(uint64(n), 177))
		prec := bound.Precision(n % 2)
		c := newGraphCase(t, r, prec, 0)
		var weights bound.Explicit
		for _, w := range c.weights {
			weights.Lo, weights.Hi = append(weights.Lo, w), append(weights.Hi, w)
		}
		p := newPhased(&Task{Box: c.box, Safe: &c.safe}, c.net)
		p.most = 2 + 2*r.IntN(8)
		if err := alone(p, c.model, weights, func() error {
			c.inRanges(t, p, c.points)
			var knots []*knot
			for i := range 6 {
				k := &knot{clause: []int{r.IntN(3)}, theta: []float64{1}, bound: math.Inf(-1)}
				if n%2 == 0 && i%2 == 0 { // a mixture of two
					k.clause, k.theta = []int{0, 2}, []float64{r.Float64(), r.Float64()}
				}
				like := &c.points[r.IntN(len(c.points))]
				for range p.open {
					k.slope = append(k.slope, r.Float32())
				}
				for _, o := range p.open {
					if i > 0 && r.IntN(3) == 0 {
						phase := 1.0
						if like.pre[o.layer][o.unit].Sign() < 0 {
							phase = -1
						}
						k.phases = append(k.phases, phaseAt{o, phase, float64(float32(math.Abs(r.NormFloat64())))})
						cut++
					}
				}
				knots = append(knots, k)
			}
			a := p.columns(knots)
			for range 3 {
				a.best = slices.Repeat([]float64{math.Inf(-1)}, len(knots)) // of other mixtures
				if err := a.evaluate(true); err != nil {
					return err
				}
				for i, k := range knots {
					theta := make([]float64, 3)
					theta[k.clause[0]] = 1
					if a.q.Theta != nil {
						theta = a.q.Theta[i]
					}
					for _, q := range c.points {
						if q.has(k.phases) {
							met++
							if v := q.row(&c.safe, theta); !math.IsInf(a.best[i], -1) && rat(a.best[i]).Cmp(v) > 0 {
								t.Fatalf("case %d: bound %v, the row is %v in %v", n, a.best[i], v.FloatString(9), c.net)
							}
						}
					}
				}
				if err := a.step(); err != nil {
					return err
				}
			}
			return c.checkAssumed(t, r, p, [][]int{{0}, {0, 2}}[n/2%2])
		}); err != nil {
			t.Fatal(err)
		}
	}
	if met < 100 || cut < 10 {
		t.Errorf("%d values compared, %d cuts: the test misses its cases", met, cut)
	}
}

// checkAssumed: what is found where no row of a clause is positive and neurons have phases holds there.
func (c *graphCase) checkAssumed(t *testing.T, r *rand.Rand, p *phased, clause []int) error {
	k := &knot{clause: clause, theta: evenly(len(clause)), bound: math.Inf(-1), slope: make([]float32, len(p.open))}
	for range 2 {
		q, proved, err := p.aiming(k)
		defer q.release()
		if err != nil {
			return err
		}
		for _, at := range c.points {
			positive := false
			for _, i := range clause {
				theta := make([]float64, 3)
				theta[i] = 1
				positive = positive || at.row(&c.safe, theta).Sign() > 0
			}
			if positive || !at.has(k.phases) {
				continue
			}
			if proved {
				t.Fatal("a clause is proved none of whose rows is positive somewhere")
			}
			c.inRanges(t, q, []graphPoint{at})
		}
		if proved || len(q.open) == 0 {
			return nil
		}
		p, k = q, &knot{clause: clause, theta: k.theta, bound: k.bound, slope: make([]float32, len(q.open))}
		k.phases = append(k.phases, phaseAt{q.open[r.IntN(len(q.open))], float64(2*r.IntN(2) - 1), 0})
	}
	return nil
}

// TestConfinedGraphs: what is proved for all noise within kappa holds for every such noise, another one
// for every unit and every point, shared weights or not.
func TestConfinedGraphs(t *testing.T) {
	met := 0
	for i := range testscale.Cases(t, 200) {
		n := (i + 20) % 200 // case 34 has a pool whose units are off
		r := rand.New(rand.NewPCG(uint64(n), 178))
		prec := bound.Precision(n % 2)
		c := newGraphCase(t, r, prec, []float64{0x1p-10, 0x1p-6, 0x1p-3}[n%3])
		noise := NewNoise(c.post, absMeans(c.post), 0.01)
		p := newPhased(&Task{Box: c.box, Safe: &c.safe, Noise: noise}, c.net)
		p.proof = &Proof{}
		err := alone(p, c.model, bound.Enclose(c.post.Mean(), prec), func() error {
			off, below := c.checkNoise(t, p)
			for n := range 12 {
				c.points[n%len(c.points)] = c.at(r, n, off)
			}
			c.inRanges(t, p, c.points)
			var knots []*knot
			for i := range 3 {
				k := &knot{clause: []int{i}, theta: []float64{1}, bound: math.Inf(-1), slope: make([]float32, len(p.open))}
				if n%2 == 0 && i == 2 { // a mixture of two
					k.clause, k.theta = []int{0, 2}, []float64{r.Float64(), r.Float64()}
				}
				knots = append(knots, k)
			}
			a := p.columns(knots)
			for range 3 {
				if a.q.Theta != nil {
					a.best = slices.Repeat([]float64{math.Inf(-1)}, len(knots)) // of other mixtures
				}
				if err := a.evaluate(true); err != nil {
					return err
				}
				for i := range knots {
					theta := make([]float64, 3)
					theta[i] = 1
					if a.q.Theta != nil {
						theta = a.q.Theta[i]
					}
					for _, q := range c.points {
						v := q.row(&c.safe, theta)
						for row, f := range theta {
							v.Sub(v, new(big.Rat).Mul(rat(f), rat(below[row])))
						}
						if !math.IsInf(a.best[i], -1) && rat(a.best[i]).Cmp(v) > 0 {
							t.Fatalf("case %d: bound %v, the row less its noise is %v in %v", n, a.best[i], v.FloatString(9), c.net)
						}
						met++
					}
				}
				if err := a.step(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
	}
	if met < 100 {
		t.Errorf("%d values compared: the test misses its cases", met)
	}
}

// checkNoise compares kappa of all units with its definition, in rational numbers but for roots, and
// returns it, and that of the rows. Each layer by itself computes what its weights deviate by as it
// computes everything.
func (c *graphCase) checkNoise(t *testing.T, p *phased) (off [][]float64, below []float64) {
	t.Helper()
	box := ReachOf(c.box)
	var outputs []Reach
	for k, l := range c.net[:len(c.net)-1] {
		in := p.reach(k, &box, outputs)
		off = append(off, nil)
		if g := c.post.Layers[k]; p.task.Noise.layers[k].random {
			off[k] = p.task.Noise.units(k, &in)
			squares, absolute := [2][]float64{squaresUp(g.Weight.SdHi), squaresUp(g.Bias.SdHi)}, func(m []float64) (list []*big.Rat) {
				for _, x := range m {
					list = append(list, rat(x))
				}
				return list
			}
			mean := networktest.Map(l.Map, g.Weight.SdHi, make([]float64, len(g.Bias.Mean)), absolute(in.radius))
			variance := networktest.Map(l.Map, squares[0], squares[1], absolute(squaresUp(in.most)))
			for i, by := range off[k] {
				m, _ := mean[i].Float64()
				v, _ := variance[i].Float64()
				if want := math.Sqrt(2/math.Pi)*m + p.task.Noise.noise*math.Sqrt(v); by < want*(1-1e-12) || by > want*(1+1e-9)+1e-300 {
					t.Fatalf("kappa of unit %d of layer %d is %v, want %v", i, k, by, want)
				}
			}
		}
		outputs = append(outputs, p.task.Noise.OutputsUp(k, &in, p.known.lo[k], p.known.hi[k]))
	}
	in := p.reach(len(c.net)-1, &box, outputs)
	return off, p.task.Noise.rows(c.safe.Rows, &in)
}
