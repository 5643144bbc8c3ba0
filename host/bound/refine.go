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
		over, below, next := p.throughSplits(l, r, splitLists{slope: more.Slope[l]}, a.Lo, c)
		p.release(over)
		a, c = below, next
	}
	bound := p.splitBound(r, a, c)
	p.observe("margin.refined", k, bound)
	p.margins.Refined, err = p.read(bound)
	return err
}

// splitLists are the slopes, phases and multipliers of SplitRows for one layer, [Items x units x
// rows]; without phases the last two are nil.
type splitLists struct{ slope, phase, beta []float64 }

// splitRows takes r rows of coefficients s of the outputs of layer l and constants c to its
// pre-activations; all arrays are the caller's to release.
func (p *pass) splitRows(l, r int, by splitLists, s, c Array) (a, next Array) {
	lay, h, items := &p.layers[l], &p.hidden[l], p.query.Batch.Items
	n := items * lay.out * r
	slope, phase := p.array(n), p.array(n)
	beta := phase
	p.do(func() error { return p.dev.Write(slope, by.slope) })
	if by.phase == nil {
		p.do(func() error { return p.dev.Write(phase, make([]float64, n)) })
	} else {
		beta = p.array(n)
		p.do(func() error { return p.dev.Write(phase, by.phase) })
		p.do(func() error { return p.dev.Write(beta, by.beta) })
	}
	a, next = p.array(n), p.array(items*r)
	p.do(func() error {
		return p.dev.Do(SplitRows{
			A: a, C: next, S: s, CIn: c, Slope: slope, Phase: phase, Beta: beta,
			Z: h.z, Hi: h.hi, Mag: h.mag, P: items, N: lay.out, R: r,
			Charge: lay.charge(p.dev.Precision()), Round: p.dev.Precision().rowsRounding(lay.out, lay.before, lay.joins()),
		})
	})
	p.release(slope, phase)
	if by.phase != nil {
		p.release(beta)
	}
	return a, next
}

// throughSplits takes r rows of coefficients a of the outputs of layer l of a chain and constants c,
// which it releases, to its inputs; over are the coefficients of the pre-activations, the caller's to
// release.
func (p *pass) throughSplits(l, r int, by splitLists, a, c Array) (over Array, below Interval, next Array) {
	lay, items := &p.layers[l], p.query.Batch.Items
	over, constant := p.splitRows(l, r, by, a, c)
	p.release(a, c)
	// Only the network's inputs may be negative, and then both ends of coefficients are wanted.
	below, next = Interval{Lo: p.array(items * lay.in * r)}, p.array(items*r)
	if l == 0 && !p.query.Inputs.nonNeg {
		below.Hi = p.array(items * lay.in * r)
	}
	p.do(func() error {
		return p.dev.Do(BackSubstitute{
			S: below, C: next, A: over, CIn: constant, W: p.query.Boxes.w[l], B: p.query.Boxes.b[l],
			PerBox: p.query.Batch.PerBox, P: items, R: r, In: lay.in, Out: lay.out,
		})
	})
	p.release(constant)
	return over, below, next
}

// splitBound bounds r rows that have arrived at the network's inputs with coefficients a and
// constants c.
func (p *pass) splitBound(r int, a Interval, c Array) Array {
	items := p.query.Batch.Items
	bound := p.array(items * r)
	p.do(func() error {
		return p.dev.Do(Concretize{
			Bound: bound, S: a, C: c, X: p.query.Inputs.x, NonNeg: p.query.Inputs.nonNeg, P: items, R: r,
			In: p.layers[0].in, Inputs: items, Round: p.dev.Precision().concretizeRounding(p.layers[0].in, p.before, 0),
		})
	})
	return bound
}

// refines reports what CanRefine says of the network.
func (m *Model) refines() bool {
	for k := range m.layers[:len(m.layers)-1] {
		if !cutsAtZero(m.layers[k].facts) {
			return false
		}
	}
	return m.chain
}
