package bound

import (
	"fmt"

	"psafe/host/read/property"
)

// Refinement are more rows for the items of a Job, each with lower slopes of its own: what is proved
// of the hidden layers serves them too. The network is one of CanRefine's.
type Refinement struct {
	// Rows are those of each item. They may be fewer than R, the most that an item has.
	Rows [][]property.Row
	// Slope are the lower slopes of the neurons of each hidden layer, [Items x units x R], numbers of
	// the device's precision in [0, 1]; any others count as 0 (SplitRows).
	Slope [][]float64
}

// refine bounds the rows that query.Refine asks for, given all bounds so far.
func (p *pass) refine(k int) error {
	if p.query.Refine == nil {
		return nil
	}
	more, items := p.query.Refine(&p.margins), p.query.Batch.Items
	if more == nil {
		return nil
	}
	if len(more.Rows) != items || p.query.Batch.Inputs != items || len(more.Slope) != k || !p.refines() {
		panic(fmt.Sprintf("bound: Refine: rows of %d items and slopes of %d layers for batch %+v and %d layers, of a network that may be refined: %v",
			len(more.Rows), len(more.Slope), p.query.Batch, k, p.refines()))
	}
	rows, err := p.UploadRows(more.Rows)
	if err != nil {
		return err
	}
	defer p.ReleaseRows(rows)
	of := p.query.Rows
	p.query.Rows = rows
	m := p.mergeRows(k)
	p.query.Rows = of
	r := rows.rows
	// What feeds the last layer is never negative: the lower ends of coefficients are the least.
	a, c := Interval{Lo: m.w.Lo}, m.b.Lo
	for l := k - 1; l >= 0; l-- {
		a, c = p.refineThrough(l, r, more.Slope[l], a.Lo, c)
	}
	bound := p.array(items * r)
	p.do(func() error {
		return p.dev.Concretize(Concretize{
			Bound: bound, S: a, C: c, X: p.query.Inputs.x, NonNeg: p.query.Inputs.nonNeg, P: items, R: r,
			In: p.layers[0].in, Inputs: items, Round: p.dev.Precision().concretizeRounding(p.layers[0].in, p.before, 0),
		})
	})
	p.observe("margin.refined", k, bound)
	p.margins.Refined, err = p.read(bound)
	return err
}

// refineThrough takes r rows of coefficients a of the outputs of layer l and constants c to its
// inputs, with these lower slopes.
func (p *pass) refineThrough(l, r int, slopes []float64, a, c Array) (Interval, Array) {
	lay, h, items := &p.layers[l], &p.hidden[l], p.query.Batch.Items
	slope, none := p.array(items*lay.out*r), p.filled(0, items*lay.out*r)
	p.do(func() error { return p.dev.Write(slope, slopes) })
	over, constant := p.array(items*lay.out*r), p.array(items*r)
	p.do(func() error {
		return p.dev.SplitRows(SplitRows{
			A: over, C: constant, S: a, CIn: c, Slope: slope, Phase: none, Beta: none,
			Z: h.z, Hi: h.hi, Mag: h.mag, P: items, N: lay.out, R: r,
			Charge: lay.charge(p.dev.Precision()), Round: p.dev.Precision().rowsRounding(lay.out, lay.before, 0),
		})
	})
	p.release(slope, a, c)
	below, next := Interval{Lo: p.array(items * lay.in * r)}, p.array(items*r)
	if l == 0 && !p.query.Inputs.nonNeg { // both ends of coefficients are wanted
		below.Hi = p.array(items * lay.in * r)
	}
	p.do(func() error {
		return p.dev.BackSubstitute(BackSubstitute{
			S: below, C: next, A: over, CIn: constant, W: p.query.Boxes.w[l], B: p.query.Boxes.b[l],
			PerBox: p.query.Batch.PerBox, P: items, R: r, In: lay.in, Out: lay.out,
		})
	})
	p.release(over, constant)
	return below, next
}

// refines says what CanRefine says of the network.
func (m *Model) refines() bool {
	for k := range m.layers[:len(m.layers)-1] {
		if !cutsAtZero(m.layers[k].facts) {
			return false
		}
	}
	return m.chain
}
