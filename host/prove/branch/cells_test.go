package branch

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestCellGraphs: in parts of the box, and in parts of those, no bound of a neuron or a row is above an exact value
// at a point there, through convolutions, joins and pools, whatever slopes came from the whole.
func TestCellGraphs(t *testing.T) {
	narrower, met := 0, 0
	for n := range testscale.Cases(t, 150) {
		r := rand.New(rand.NewPCG(uint64(n), 178))
		c := newGraphCase(t, r, bound.Precision(n%2), 0)
		var weights bound.Explicit
		for _, w := range c.weights {
			weights.Lo, weights.Hi = append(weights.Lo, w), append(weights.Hi, w)
		}
		p := newPhased(&Task{Box: c.box, Safe: &c.safe}, c.net)
		p.lines, p.most = true, 2+2*r.IntN(8)
		if err := alone(p, c.model, weights, func() error {
			knots := p.roots()
			for range 3 {
				if _, err := p.raise(knots, 1+r.IntN(3)); err != nil {
					return err
				}
				axis, err := p.axis(knots)
				if err != nil || axis < 0 {
					return err
				}
				half, other := p.task.Box.Halves(axis)
				if r.IntN(2) == 0 {
					half = other
				}
				in, err := c.model.UploadInputs([]property.Box{half})
				if err != nil {
					return err
				}
				defer c.model.ReleaseInputs(in)
				q := p.part(half, in)
				defer q.release()
				p.release()
				if err := q.hidden(); err != nil {
					return err
				}
				narrower += len(p.open) - len(q.open)
				if err := noneLeftOut(t, q); err != nil {
					return err
				}
				knots = q.taken(knots, p)
				if _, err := q.raise(knots, 2); err != nil {
					return err
				}
				there := *c
				there.box, there.points = half, nil
				for n := range 8 {
					there.points = append(there.points, there.at(r, n, nil))
				}
				there.inRanges(t, q, there.points)
				for _, k := range knots {
					for _, x := range there.points {
						exact := x.row(&c.safe, unit(k.clause[0], len(c.safe.Rows)))
						if met++; !math.IsInf(k.bound, -1) && rat(k.bound).Cmp(exact) > 0 {
							t.Fatalf("case %d: bound %v, row %d is %v", n, k.bound, k.clause[0], exact.FloatString(9))
						}
					}
				}
				p = q
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if met >= 500 && narrower == 0 {
		t.Errorf("no neuron of %d points has one sign in a part alone: the test misses its cases", met)
	}
}

// newCells is a case of one input that takes some parts to prove.
func newCells(t *testing.T) *phaseCase {
	c := newPhaseCase(t, rand.New(rand.NewPCG(3, 180)), bound.Float64, 1, 40, 40, 2)
	c.box.Hi[0] += 3
	exact, _ := least(c.pieces(c.box.Lo, c.box.Hi), c.safe.Rows[0], nil).Float64()
	c.safe.Rows[0].D, c.safe.Rows[0].DHi = 0.01-exact, 0.01-exact
	return c
}

// byCells proves the case on a model in up to so many parts.
func (c *phaseCase) byCells(m *bound.Model, most int, count func(int)) (proved bool, tried int, err error) {
	p := newPhased(&Task{Box: c.box, Safe: &c.safe, Most: most, Count: count}, c.net)
	p.lines = true
	err = alone(p, m, c.weightBox(bound.Float64), func() (err error) {
		proved, err = p.cells(m, p.roots())
		return err
	})
	return proved, p.tried, err
}

// TestCellMemory: of parts that are proved nothing is left on the device while others are looked at.
func TestCellMemory(t *testing.T) {
	c, dev := newCells(t), &counted{Device: fallback.New(bound.Float64)}
	m, err := bound.NewModel(dev, c.post, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	var there []int
	if proved, _, err := c.byCells(m, 1<<10, func(int) { there = append(there, dev.numbers) }); err != nil || !proved || len(there) < 6 {
		t.Fatalf("%v, proved %v in %d parts", err, proved, len(there))
	}
	for n, numbers := range there {
		if inputs := 4 * n; numbers > there[0]+inputs {
			t.Errorf("before part %d the device holds %d numbers, before the first %d", n, numbers, there[0])
		}
	}
}

// TestCellLimits: parts are as many as allowed.
func TestCellLimits(t *testing.T) {
	c := newCells(t)
	_, all, err := c.byCells(c.model, 1<<10, nil)
	if err != nil {
		t.Fatal(err)
	}
	for most := range all + 1 {
		if proved, tried, err := c.byCells(c.model, most, nil); err != nil || proved != (most == all) || tried > most {
			t.Errorf("%v, proved %v in %d parts of %d", err, proved, tried, most)
		}
	}
}

// TestCellFaults: parts go on, or not, if a device has been wrong about the whole once, so that a recheck may say so.
func TestCellFaults(t *testing.T) {
	c := newPhaseCase(t, rand.New(rand.NewPCG(3, 181)), bound.Float64, 2, 6, 6, 2)
	c.box.Hi[0] += 3
	for at := range testscale.Cases(t, 60) {
		m, err := bound.NewModel(&wrongOnce{Device: fallback.New(bound.Float64), left: at}, c.post, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.byCells(m, 8, nil); err != nil {
			t.Error(err)
		}
		m.Release()
	}
}

// wrongOnce is a device that reads wrong numbers once, after so many others.
type wrongOnce struct {
	bound.Device
	left int
}

func (w *wrongOnce) Read(dst []float64, src bound.Array) error {
	err := w.Device.Read(dst, src)
	if w.left--; w.left == -1 {
		for i := range dst {
			dst[i] = -1e6
		}
	}
	return err
}

// counted is a device that knows how many numbers it holds.
type counted struct {
	bound.Device
	numbers int
}

func (c *counted) NewArray(n int) (bound.Array, error) {
	c.numbers += n
	return c.Device.NewArray(n)
}

func (c *counted) Release(a bound.Array) {
	if a != nil {
		c.numbers -= a.Len()
	}
	c.Device.Release(a)
}

// noneLeftOut: rows were taken down of every open neuron of layers with weights, so that what one says is known.
func noneLeftOut(t *testing.T, p *phased) error {
	t.Helper()
	cut := false
	for k, l := range p.net[:len(p.net)-1] {
		var units, rows []int
		for i := range p.known.lo[k] {
			if cut && l.Biases() > 0 && p.known.open(k, i) {
				units, rows = append(units, i), append(rows, l.Outputs()+i)
			}
		}
		if cut = cut || p.known.phases[k]; len(units) == 0 {
			continue
		}
		a := newAscent(p, k, append(units, rows...))
		if err := a.evaluate(false); err != nil {
			return err
		}
		for u, i := range units {
			lo, hi := p.known.lo[k][i], p.known.hi[k][i]
			if almost := 1e-3 * (hi - lo); a.best[u] > lo+almost || -a.best[len(units)+u] < hi-almost {
				t.Fatalf("neuron %d of layer %d is in [%v, %v], its rows say in [%v, %v]", i, k, lo, hi, a.best[u], -a.best[len(units)+u])
			}
		}
	}
	return nil
}

// unit are factors of row i alone.
func unit(i, n int) []float64 {
	theta := make([]float64, n)
	theta[i] = 1
	return theta
}
