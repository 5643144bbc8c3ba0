package bound

import "psafe/host/model/posterior"

// InputLines bound rows of a network from below by functions that are affine in its input: for every
// x of the box of item p, and every network of the weight box,
//
//	row r (x) >= A x + c,   c = Lo - min over the device's input box of A x
//
// in real arithmetic, A being any numbers in [ALo, AHi], for which the row loses at most
// max(A - ALo, AHi - A) |x_k| more in each coordinate k. Where no input is negative A is ALo. It loses
// Loose max(|ALo|, |AHi|) |x_k| more, too.
//
// Concretize subtracts everything that rounding and relaxation may have cost from the constant, for
// all x of the box at once, and its bound is at most the least value of what is left
// (docs/theory.md, section 5.3). So the least value of A x over the same box may be taken off again.
// One cost is not paid for all x: where the network's input feeds several layers, and the last of them,
// coefficients are added up, and Concretize pays for that at the least value alone. That is Loose.
type InputLines struct {
	Items, Rows, In int
	// Lo are the rows' lower bounds, [Items x Rows], -Inf where unknown.
	Lo []float64
	// ALo and AHi are coefficients, [Items x In x Rows]. AHi is ALo where they are numbers.
	ALo, AHi []float64
	// Loose is 0 where coefficients of the input come from one layer.
	Loose float64
}

// Certain is a network whose weights are certain, on a device. It belongs to the Model that made it.
type Certain struct {
	model *Model
	mean  *Boxes
}

// NewCertain copies the means of a posterior, which are all that there is of it, enclosed in
// intervals.
func (m *Model) NewCertain(post *posterior.Posterior) (*Certain, error) {
	boxes, err := m.Upload([]Explicit{m.meansOf(post)})
	if err != nil {
		return nil, err
	}
	return &Certain{m, boxes}, nil
}

// Release gives the memory back.
func (c *Certain) Release() { c.model.ReleaseBoxes(c.mean) }

// Lines bounds rows, a set for each input box, by LBP: hidden layers as Propagate bounds them.
func (c *Certain) Lines(in *Inputs, rows *Rows) (*InputLines, error) {
	m, items := c.model, in.count
	if rows.count != items {
		panic("bound: Lines: rows for another number of inputs")
	}
	p := &pass{Model: m, layers: m.layers, scratch: scratch{owner: m.dev}, query: Query{
		Propagation: LBP, Boxes: c.mean, Inputs: in, Rows: rows, Batch: Batch{Items: items, PerBox: items, Inputs: items},
	}}
	defer p.free()
	last := len(p.layers) - 1
	for k := range last {
		if err := p.hiddenLayer(k); err != nil {
			return nil, err
		}
	}
	return p.lines(p.merged(last, p.mergeRows(last), form{}), last)
}

// lines takes rows over what feeds layer k down to the input.
func (p *pass) lines(f *flight, k int) (*InputLines, error) {
	items := p.query.Batch.Items
	out := &InputLines{Items: items, Rows: f.rows(), In: p.width()}
	if p.forks > 1 {
		out.Loose = p.dev.Precision().gamma(p.forks)
	}
	f.outputs = func(l int, s Interval) {
		if l >= 0 {
			return
		}
		if out.ALo, out.AHi, _ = p.readEnds(s); out.AHi == nil { // an error is the pass's
			out.AHi = out.ALo
		}
	}
	bound := p.backSubstitute(k, f)
	if out.ALo == nil { // nothing depends on the input
		out.ALo = make([]float64, items*out.In*out.Rows)
		out.AHi = out.ALo
	}
	var err error
	out.Lo, err = p.read(bound)
	return out, err
}
