package branch

import (
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
	"psafe/internal/testscale"
)

// phaseCase is a random network, box and set, with a model.
type phaseCase struct {
	lineNet
	post  *posterior.Posterior
	model *bound.Model
	box   property.Box
	safe  property.Safe
}

func newPhaseCase(t *testing.T, r *rand.Rand, p bound.Precision, sizes ...int) *phaseCase {
	t.Helper()
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	c := &phaseCase{}
	for k := 1; k < len(sizes); k++ {
		a := network.Activation{Kind: network.ReLU}
		if k == len(sizes)-1 {
			a = network.Activation{}
		}
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], a)}
		numbers := func(n int) []float64 {
			list := make([]float64, n)
			for i := range list {
				list[i] = r.NormFloat64()
			}
			return list
		}
		w, b := numbers(sizes[k-1]*sizes[k]), numbers(sizes[k])
		l.Weight, l.Bias = posterior.NewParams(w, make([]float64, len(w)), posterior.ScaleSD), posterior.NewParams(b, make([]float64, len(b)), posterior.ScaleSD)
		post.Layers = append(post.Layers, l)
		c.weights = append(c.weights, w, b)
	}
	c.post, c.net = post, post.Network()
	for range sizes[0] {
		x := r.NormFloat64()
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+r.Float64())
	}
	c.safe = property.ArgmaxIs(0, sizes[len(sizes)-1])
	model, err := bound.NewModel(fallback.New(p), post, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Release)
	c.model = model
	return c
}

// weightBox has the weights of the network, rounded outward.
func (c *phaseCase) weightBox(p bound.Precision) bound.Explicit {
	var b bound.Explicit
	for _, w := range c.weights {
		lo, hi := make([]float64, len(w)), make([]float64, len(w))
		for j, x := range w {
			lo[j], hi[j] = p.RoundLo(x), p.RoundHi(x)
		}
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b
}

// somePieces returns the pieces of random segments of the box, the whole of it if it has one input.
func (c *phaseCase) somePieces(r *rand.Rand) []linePiece {
	if len(c.box.Lo) == 1 {
		return c.pieces(c.box.Lo, c.box.Hi)
	}
	var list []linePiece
	for range 3 {
		var ends [2][]float64
		for e := range ends {
			for j := range c.box.Lo {
				ends[e] = append(ends[e], c.box.Lo[j]+(c.box.Hi[j]-c.box.Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)])
			}
		}
		list = append(list, c.pieces(ends[0], ends[1])...)
	}
	return list
}

var phaseSizes = [][]int{{1, 5, 4, 3}, {1, 6, 2}, {2, 5, 5, 2}, {3, 4, 4, 4, 3}}

// TestPhaseBounds: whatever slopes, phases and multipliers are, a bound is nowhere above the exact
// value of the row at inputs that have the phases, and climbing from there keeps it so.
func TestPhaseBounds(t *testing.T) {
	empty, above := 0, 0
	for i := range testscale.Cases(t, 200) {
		n := (i + 10) % 200 // case 27 tells the two ends of a negated weight apart
		r := rand.New(rand.NewPCG(uint64(n), 77))
		c := newPhaseCase(t, r, bound.Precision(n%2), phaseSizes[n%len(phaseSizes)]...)
		if n%5 == 0 { // all active: the bound is as near to the row as rounding lets it
			for i := range c.weights[1] {
				c.weights[1][i], c.weights[3][i%len(c.weights[3])] = 40, 300
			}
		}
		p := newPhased(&Task{Box: c.box, Safe: &c.safe}, c.net)
		pieces := c.somePieces(r)
		err := alone(p, c.model, c.around(r, bound.Precision(n%2), n%3 == 0), func() error {
			c.checkHidden(t, p, pieces)
			var knots []*knot
			for range 8 {
				k := &knot{clause: []int{r.IntN(len(c.safe.Rows))}, bound: math.Inf(-1)}
				for range p.open {
					k.slope = append(k.slope, r.Float32())
				}
				for _, o := range p.open {
					if r.IntN(3) == 0 {
						k.phases = append(k.phases, phaseAt{o, float64(2*r.IntN(2) - 1), float64(float32(math.Abs(r.NormFloat64())))})
					}
				}
				knots = append(knots, k)
			}
			a := p.columns(knots)
			for round := range 4 {
				if err := a.evaluate(true); err != nil {
					return err
				}
				for i, k := range knots {
					exact := least(pieces, c.safe.Rows[k.clause[0]], k.phases)
					if exact == nil {
						empty++
						continue
					}
					above++
					if !math.IsInf(a.best[i], -1) && rat(a.best[i]).Cmp(exact) > 0 {
						v, _ := exact.Float64()
						t.Fatalf("case %d, round %d: bound %v, the row is %v", n, round, a.best[i], v)
					}
				}
				if err := a.step(); err != nil {
					return err
				}
			}
			return c.checkAiming(t, r, p, pieces)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if above > 1000 && empty == 0 {
		t.Errorf("%d sub-problems, %d empty ones: the test misses its cases", above, empty)
	}
}

// around is a weight box with the network's weights at one of its ends.
func (c *phaseCase) around(r *rand.Rand, p bound.Precision, wide bool) bound.Explicit {
	box := c.weightBox(p)
	for k := range box.Lo {
		for i := range box.Lo[k] {
			switch width := 0x1p-6; {
			case wide && r.IntN(2) == 0:
				box.Lo[k][i] = p.RoundLo(box.Lo[k][i] - width)
			case wide:
				box.Hi[k][i] = p.RoundHi(box.Hi[k][i] + width)
			}
		}
	}
	return box
}

// checkHidden: pre-activations are within their bounds.
func (c *phaseCase) checkHidden(t *testing.T, p *phased, pieces []linePiece) {
	t.Helper()
	for _, q := range pieces {
		for l := range p.known.lo {
			for i, f := range q.pre[l] {
				for _, at := range []*big.Rat{q.lo, q.hi} {
					if v := f.at(at); v.Cmp(rat(p.known.lo[l][i])) < 0 || v.Cmp(rat(p.known.hi[l][i])) > 0 {
						x, _ := v.Float64()
						t.Fatalf("neuron %d of layer %d is %v, bounds [%v, %v]", i, l, x, p.known.lo[l][i], p.known.hi[l][i])
					}
				}
			}
		}
	}
}

// checkAiming: where a row is not positive and neurons have their phases, pre-activations are within the
// bounds that assume it; so they are where more phases are assumed later.
func (c *phaseCase) checkAiming(t *testing.T, r *rand.Rand, p *phased, pieces []linePiece) error {
	t.Helper()
	k := &knot{clause: []int{0}, bound: math.Inf(-1), slope: make([]float32, len(p.open))}
	for range 3 {
		q, proved, err := p.aiming(k)
		defer q.release()
		if err != nil {
			return err
		}
		for _, s := range pieces {
			for _, at := range []*big.Rat{s.lo, s.hi} {
				point := s
				point.lo, point.hi = at, at
				if v := least([]linePiece{point}, c.safe.Rows[0], k.phases); v == nil || v.Sign() > 0 {
					continue
				}
				if proved {
					t.Fatalf("a row is proved that is not positive at %v", at)
				}
				c.checkHidden(t, q, []linePiece{point})
			}
		}
		if proved || len(q.open) == 0 {
			return nil
		}
		p, k = q, &knot{clause: k.clause, bound: k.bound, slope: make([]float32, len(q.open)), phases: slices.Clone(k.phases)}
		k.phases = append(k.phases, phaseAt{q.open[r.IntN(len(q.open))], float64(2*r.IntN(2) - 1), 0})
	}
	return nil
}

// TestPhaseVerdicts: what is proved is so, and what is so by a margin is proved, as all phases can be
// tried.
func TestPhaseVerdicts(t *testing.T) {
	proved, tried, refused, missed := 0, 0, 0, 0
	for n := range testscale.Cases(t, 300) {
		r := rand.New(rand.NewPCG(uint64(n), 78))
		c := newPhaseCase(t, r, bound.Precision(n%2), []int{1, 9, 8, 3}[:3+n%2]...)
		c.box.Hi[0] += 3
		pieces := c.pieces(c.box.Lo, c.box.Hi)
		exact := least(pieces, c.safe.Rows[0], nil)
		for _, row := range c.safe.Rows[1:] {
			if v := least(pieces, row, nil); v.Cmp(exact) < 0 {
				exact = v
			}
		}
		if n%4 >= 2 { // one of two rows
			c.safe.Rows = c.safe.Rows[:2]
			c.safe.Any = [][]int{{0}, {1}}
			exact = leastOfMost(pieces, c.safe.Rows[0], c.safe.Rows[1])
		}
		// Where it is decided lies near 0 more often than chance has it.
		v, _ := exact.Float64()
		for i := range c.safe.Rows {
			c.safe.Rows[i].D, c.safe.Rows[i].DHi = []float64{0, -v - 1e-2, -v + 1e-2}[n%3], []float64{0, -v - 1e-2, -v + 1e-2}[n%3]
		}
		exact.Add(exact, rat(c.safe.Rows[0].D))
		task := &Task{Box: c.box, Safe: &c.safe, Most: 1 << 20}
		p, isProved := newPhased(task, c.net), false
		p.batch = 1 + n%3
		if n%8 > 3 { // hidden neurons are refined at once
			p.first = 0
		}
		p.lines = n%7 == 3
		if err := alone(p, c.model, c.weightBox(bound.Precision(n%2)), func() (err error) {
			if p.lines { // by cells
				isProved, err = p.cells(c.model, p.roots())
				return err
			}
			isProved, err = p.tree()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		switch v, _ := exact.Float64(); {
		case isProved && exact.Sign() < 0:
			t.Fatalf("case %d is proved, and its margin is %v", n, v)
		case !isProved && v > 5e-3:
			t.Logf("case %d is not proved after %d sub-problems, and its margin is %v", n, p.tried, v)
			missed++
		case isProved:
			proved++
		default:
			refused++
		}
		if p.tried > 0 && isProved {
			tried++
		}
	}
	if missed > proved/10+1 {
		t.Errorf("%d that are so by a margin are not proved, %d are", missed, proved)
	}
	t.Logf("%d proved, %d of them by phases, %d refused", proved, tried, refused)
	if refused+proved >= 100 && min(proved, tried, refused) == 0 {
		t.Errorf("%d proved, %d of them by phases, %d refused: the test misses its cases", proved, tried, refused)
	}
}

// TestPhaseLimits: sub-problems are as many as allowed, and nothing is proved once it is stopped.
func TestPhaseLimits(t *testing.T) {
	c := newPhaseCase(t, rand.New(rand.NewPCG(3, 79)), bound.Float64, 2, 20, 20, 2)
	for i := range c.box.Lo {
		c.box.Lo[i], c.box.Hi[i] = -5, 5
	}
	task := &Task{Box: c.box, Safe: &c.safe, Most: 10}
	if got, err := task.On(c.model, c.net, c.weightBox(bound.Float64)); err != nil || got.Proved || got.Tried > 10 {
		t.Errorf("%v, proved %v after %d sub-problems", err, got.Proved, got.Tried)
	}
	task = &Task{Box: c.box, Safe: &c.safe, Most: 1 << 20, Stop: func() bool { return true }}
	if got, err := task.On(c.model, c.net, c.weightBox(bound.Float64)); err != nil || got.Proved {
		t.Errorf("%v, proved %v although it was stopped", err, got.Proved)
	}
}

// TestPhaseCancels: where the coefficients of two neurons nearly cancel, what rounding has done to
// them is more than anything that the last steps take off.
func TestPhaseCancels(t *testing.T) {
	for n := range testscale.Cases(t, 100) {
		r := rand.New(rand.NewPCG(uint64(n), 82))
		c := newPhaseCase(t, r, bound.Float32, 1, 2, 1, 2)
		number := func() float64 { return float64(float32(1 + r.Float64())) }
		w, v := number(), number()
		copy(c.weights[0], []float64{w, float64(float32(w * v))})
		copy(c.weights[1], []float64{0, 0})
		copy(c.weights[2], []float64{v, -1})
		copy(c.weights[3], []float64{0})
		c.box.Lo[0], c.box.Hi[0] = 1<<20, 1<<20+1
		p := newPhased(&Task{Box: c.box, Safe: &c.safe}, c.net)
		if err := alone(p, c.model, c.weightBox(bound.Float32), func() error {
			a := newAscent(p, 1, []int{0, 1})
			err := a.evaluate(true)
			for _, q := range c.pieces(c.box.Lo, c.box.Hi) {
				for _, x := range []*big.Rat{q.pre[1][0].at(q.lo), q.pre[1][0].at(q.hi)} {
					if rat(a.best[0]).Cmp(x) > 0 || rat(-a.best[1]).Cmp(x) < 0 {
						t.Fatalf("case %d: %v is not between %v and %v", n, x.FloatString(9), a.best[0], -a.best[1])
					}
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPhaseSets: sets of few clauses are decided by phases, and no other activations.
func TestPhaseSets(t *testing.T) {
	c := newPhaseCase(t, rand.New(rand.NewPCG(6, 81)), bound.Float32, 2, 3, 3)
	either, many := c.safe, c.safe
	either.Any, many.Any = [][]int{{0}, {1}}, slices.Repeat([][]int{{0, 1}}, 7)
	if !Serves(c.net, &c.safe) || !Serves(c.net, &either) || Serves(c.net, &many) {
		t.Error("64 clauses are served, and not 128")
	}
	leaky := slices.Clone(c.net)
	leaky[0].Activation = network.Activation{Kind: network.LeakyReLU, Slope: 0.5}
	if Serves(leaky, &c.safe) {
		t.Error("leaky ReLU is served")
	}
}

// TestTaken: where the neurons' ranges are known better, a part of a tree is dropped only if they have the
// other sign; what has a phase is cut at no more.
func TestTaken(t *testing.T) {
	q := &phased{known: ranges{lo: [][]float64{{1, -2, -1}}, hi: [][]float64{{2, -1, 1}}, phases: []bool{true}}}
	for _, test := range []struct {
		unit       int
		phase      float64
		kept, open int
	}{{0, 1, 1, 1}, {0, -1, 0, 0}, {1, -1, 1, 1}, {1, 1, 0, 0}, {2, 1, 1, 1}, {2, -1, 1, 1}} {
		list := q.taken([]*knot{{phases: []phaseAt{{neuronAt{0, test.unit}, test.phase, 0.5}}}}, &phased{})
		if len(list) != test.kept || test.kept > 0 && len(list[0].phases) != test.open {
			t.Errorf("unit %d with phase %v: %d parts are kept, want %d", test.unit, test.phase, len(list), test.kept)
		}
	}
}

// TestSettle: where neurons range less far than on the whole box, a sub-problem has the phase of each that
// has one sign, once, and none of what is open.
func TestSettle(t *testing.T) {
	root := &phased{open: []neuronAt{{0, 0}, {0, 1}, {0, 2}, {0, 3}}}
	q := &phased{from: &phased{from: root}, known: ranges{lo: [][]float64{{0, -2, -1, 1}}, hi: [][]float64{{2, 0, 1, 2}}, phases: []bool{true}}}
	k := &knot{phases: []phaseAt{{neuronAt{0, 3}, 1, 0.5}}}
	q.settle(k)
	if want := []phaseAt{{neuronAt{0, 3}, 1, 0.5}, {neuronAt{0, 0}, 1, 0}, {neuronAt{0, 1}, -1, 0}}; !slices.Equal(k.phases, want) {
		t.Errorf("%v, want %v", k.phases, want)
	}
}

// alone is phased.on of a search that is alone on the device.
func alone(p *phased, m *bound.Model, weights bound.Explicit, f func() error) error {
	boxes, err := m.Upload([]bound.Explicit{weights})
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	return p.on(m, boxes, nil, f)
}
