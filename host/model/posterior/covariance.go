package posterior

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
)

// Covariance says how the weights and biases of one dense layer, or of one convolution, vary together.
// Its entries e are those of the matrix [W b], one row for each output: e = o (in+1) + j is the weight
// from input j to output o, and j = in the bias of output o. Of a convolution without groups, outputs
// are filters and inputs the taps of its window, in the order (row, column, channel): CovariedShape.
// What is stored is the law itself and nothing that has to be inverted or trusted: exactly one of
//
//   - full: w = mean + Factor z, z of Rank independent standard normal numbers;
//   - rows: the same, but that each output has a z of its own, so that outputs are independent;
//   - kron (docs/theory.md (91)): [W b] = mean + QG (E o Sd) QA', E of independent standard normal
//     numbers, o being the product entry by entry. Of a convolution it is the only one.
//
// Nobody may write to it once a Posterior has it.
type Covariance struct {
	// Rank and Factor are of a full covariance, [out (in+1) x Rank], and of rows, which Apart says.
	Rank   int
	Factor []float64
	Apart  bool
	// QG [out x out], Sd [out x (in+1)], each at least 0, and QA [(in+1) x (in+1)] are of kron.
	QG, Sd, QA []float64
}

// Full reports whether the covariance is given by its factor.
func (c *Covariance) Full() bool { return c.Factor != nil }

// String is the word of the file header: full, rows or kron.
func (c *Covariance) String() string {
	switch {
	case c.Apart:
		return "rows"
	case c.Full():
		return "full"
	}
	return "kron"
}

// Columns numbers the independent normal numbers, by a factor, of those outputs that a row meets: those of output o
// are first[o] to first[o] + Rank - 1, of others first[o] is -1. There are n, at least Rank.
func (c *Covariance) Columns(out int, meets func(o int) bool) (first []int, n int) {
	first = make([]int, out)
	for o := range first {
		switch {
		case !meets(o):
			first[o] = -1
		case c.Apart:
			first[o] = n
			n += c.Rank
		}
	}
	return first, max(n, c.Rank)
}

// CovariedShape returns how many inputs and outputs the matrix [W b] of a layer has that may have a covariance:
// those of a dense layer, and taps and filters of a convolution without groups. It is false for others.
func CovariedShape(m network.Map) (in, out int, ok bool) {
	switch m := m.(type) {
	case network.Dense:
		return m.In, m.Out, true
	case network.Conv:
		return m.Window.Size[0] * m.Window.Size[1] * m.In.Channels, m.Filters, m.Groups == 1
	}
	return 0, 0, false
}

// covariedShape is CovariedShape of a layer that has a covariance.
func (l *Layer) covariedShape() (in, out int) {
	in, out, _ = CovariedShape(l.Map)
	return in, out
}

// Covariances returns, for a posterior of KindCorrelated, the covariance of each layer, nil for those
// whose weights are certain; nil for other kinds. The caller may not write to it.
func (p *Posterior) Covariances() []*Covariance { return p.covariances }

// FromCovariances makes a posterior of KindCorrelated: the layers' shapes, activations and means, and
// a covariance for each layer, nil where the weights are certain. Layers are independent of each
// other. Spreads of layers are dropped. It keeps the slices. Any error is that of Validate.
func FromCovariances(layers []Layer, covariances []*Covariance) (*Posterior, error) {
	p := &Posterior{Kind: KindCorrelated, Layers: means(layers), covariances: covariances}
	return p, p.Validate()
}

// validateCovariances checks lengths and numbers against the shapes of p.
func (p *Posterior) validateCovariances() error {
	all := p.dependent()
	if len(all) != len(p.Layers) {
		return fmt.Errorf("%d covariances for %d layers: give one for each, nil where weights are certain", len(all), len(p.Layers))
	}
	for k, c := range all {
		if c == nil {
			continue
		}
		in, out, is := CovariedShape(p.Layers[k].Map)
		if !is {
			return fmt.Errorf("layer %d: a covariance is for dense layers and convolutions without groups, this is a %s", k, network.Describe(p.Layers[k].Map))
		}
		if _, dense := p.Layers[k].Map.(network.Dense); !dense && c.Full() {
			return fmt.Errorf("layer %d: a full covariance is for dense layers, this is a %s: convolutions have Kronecker covariances", k, network.Describe(p.Layers[k].Map))
		}
		if err := c.validate(in, out); err != nil {
			return fmt.Errorf("layer %d: covariance: %w", k, err)
		}
		// A bias that the file has not is exactly 0, so nothing may move it.
		if bad := c.movesBias(in, out); p.Layers[k].NoBias && bad {
			return fmt.Errorf("layer %d: covariance: the layer has no bias, and the covariance moves it: make these entries 0, or give it a bias", k)
		}
	}
	if p.Kind == KindJoint {
		return p.validateJoint()
	}
	return nil
}

func (c *Covariance) validate(in, out int) error {
	entries := out * (in + 1)
	kron := c.QG != nil || c.Sd != nil || c.QA != nil
	switch {
	case c.Full() == kron:
		return fmt.Errorf("it is neither a factor alone nor QG, sd and QA alone")
	case c.Apart && !c.Full():
		return fmt.Errorf("rows have a factor, and no QG, sd and QA")
	case c.Full() && (c.Rank < 1 || !stacked(len(c.Factor), entries, c.Rank)):
		return fmt.Errorf("a factor of %d numbers in %d columns: the shape needs %d rows", len(c.Factor), c.Rank, entries)
	case kron && (len(c.QG) != out*out || len(c.Sd) != entries || len(c.QA) != (in+1)*(in+1)):
		return fmt.Errorf("QG, sd and QA have %d, %d and %d numbers: the shape needs %d, %d and %d", len(c.QG), len(c.Sd), len(c.QA), out*out, entries, (in+1)*(in+1))
	}
	for _, list := range []struct {
		name   string
		values []float64
		row    int
	}{{"factor", c.Factor, max(1, c.Rank)}, {"QG", c.QG, out}, {"sd", c.Sd, in + 1}, {"QA", c.QA, in + 1}} {
		if bad := finite(list.values, list.row); bad != "" {
			return fmt.Errorf("%s: row %s", list.name, bad)
		}
	}
	for i, sd := range c.Sd {
		if sd < 0 {
			return fmt.Errorf("sd: row %d: entry %d is %v: it must not be negative", i/(in+1), i%(in+1), sd)
		}
	}
	return nil
}

// movesBias reports whether the covariance has anything but 0 for a bias.
func (c *Covariance) movesBias(in, out int) bool {
	if !c.Full() {
		return !zeros(c.QA[in*(in+1):])
	}
	for o := range out {
		if row := (o*(in+1) + in) * c.Rank; !zeros(c.Factor[row : row+c.Rank]) {
			return true
		}
	}
	return false
}

// drawCovariances draws each layer's numbers in order: of a full covariance z, of kron E by rows; of KindJoint one z,
// first. The error is that of ended.
func (p *Posterior) drawCovariances(r *rand.Rand, dst [][]float64, ended func() error) error {
	z := normals(r, p.JointRank())
	for k, l := range p.Layers {
		copy(dst[2*k], l.Weight.Mean)
		copy(dst[2*k+1], l.Bias.Mean)
		if c := p.dependent()[k]; c != nil {
			in, out := l.covariedShape()
			list, err := c.drawn(r, z, in, out, ended)
			if err != nil {
				return err
			}
			eachEntry(in, out, list, func(w *float64, v float64) { *w += v }, dst[2*k], dst[2*k+1])
		}
	}
	return nil
}

// eachEntry tells which parameter of a layer each entry of a list over [W b] is of.
func eachEntry(in, out int, list []float64, to func(w *float64, v float64), weight, bias []float64) {
	for o := range out {
		for j := range in + 1 {
			e := o*(in+1) + j
			if j == in {
				to(&bias[o], list[e])
			} else {
				to(&weight[j*out+o], list[e])
			}
		}
	}
}

// normals are n standard normal numbers, nil for none.
func normals(r *rand.Rand, n int) (z []float64) {
	for range n {
		z = append(z, r.NormFloat64())
	}
	return z
}

// drawn are deviations of [W b], with the z of all layers where it is not nil. The conversions keep the compiler from fusing operations. The error is that
// of ended, which is asked once for each row of QG, since the work grows with the cube of the sides.
func (c *Covariance) drawn(r *rand.Rand, z []float64, in, out int, ended func() error) ([]float64, error) {
	if c.Full() {
		n := len(c.Factor) // numbers that have one z
		if c.Apart {
			n = (in + 1) * c.Rank
		}
		var d []float64
		for part := range slices.Chunk(c.Factor, n) {
			of := z
			if of == nil {
				of = normals(r, c.Rank)
			}
			d = append(d, (&Covariance{Rank: c.Rank, Factor: part}).times(of)...)
		}
		return d, nil
	}
	d := make([]float64, out*(in+1))
	n := in + 1
	noise, turned := make([]float64, len(d)), make([]float64, len(d))
	for e := range noise {
		noise[e] = float64(c.Sd[e] * r.NormFloat64())
	}
	for o := range out { // QG noise
		if err := ended(); err != nil {
			return nil, err
		}
		for i := range out {
			q, to := c.QG[o*out+i], turned[o*n:(o+1)*n]
			for j, v := range noise[i*n : (i+1)*n] {
				to[j] += float64(q * v)
			}
		}
	}
	o := 0
	for ; o+4 <= out; o += 4 { // times QA', four at a time: each sum waits for itself
		if err := ended(); err != nil {
			return nil, err
		}
		t0, t1, t2, t3 := turned[o*n:(o+1)*n], turned[(o+1)*n:(o+2)*n], turned[(o+2)*n:(o+3)*n], turned[(o+3)*n:(o+4)*n]
		for j := range n {
			var a0, a1, a2, a3 float64
			for i, v := range c.QA[j*n : (j+1)*n] {
				a0 += float64(t0[i] * v)
				a1 += float64(t1[i] * v)
				a2 += float64(t2[i] * v)
				a3 += float64(t3[i] * v)
			}
			d[o*n+j], d[(o+1)*n+j], d[(o+2)*n+j], d[(o+3)*n+j] = a0, a1, a2, a3
		}
	}
	for ; o < out; o++ {
		for j := range n {
			for i, v := range c.QA[j*n : (j+1)*n] {
				d[o*n+j] += float64(turned[o*n+i] * v)
			}
		}
	}
	return d, nil
}

// forever is no end of work: see MarginalsUp and DrawUntil.
func forever() error { return nil }

// sdApprox are the standard deviations of single entries. The error is that of ended.
func (c *Covariance) sdApprox(in, out int, ended func() error) ([]float64, error) {
	sd, n := make([]float64, out*(in+1)), in+1
	if c.Full() {
		for e := range sd {
			sum := 0.0
			for _, v := range c.Factor[e*c.Rank : (e+1)*c.Rank] {
				sum += v * v
			}
			sd[e] = math.Sqrt(sum)
		}
		return sd, nil
	}
	const rows = 4 // outputs that share what is read
	turned := make([]float64, rows*n)
	for first := 0; first < out; first += rows {
		clear(turned) // the sums over QG
		few := min(rows, out-first)
		for r := range few {
			for i := range out {
				if err := ended(); err != nil {
					return nil, err
				}
				q, to := c.QG[(first+r)*out+i], turned[r*n:(r+1)*n]
				for j, v := range c.Sd[i*n : (i+1)*n] {
					x := q * v
					to[j] += x * x
				}
			}
		}
		for j := range n {
			var a, b, d, e float64 // each waits for itself
			t0, t1, t2, t3 := turned[:n], turned[n:2*n], turned[2*n:3*n], turned[3*n:]
			for i, q := range c.QA[j*n : (j+1)*n] {
				a += q * q * t0[i]
				b += q * q * t1[i]
				d += q * q * t2[i]
				e += q * q * t3[i]
			}
			sums := [rows]float64{a, b, d, e}
			for r := range few {
				sd[(first+r)*n+j] = math.Sqrt(sums[r])
			}
		}
	}
	return sd, nil
}

// Features is the network below layer k, of which all layers above are a chain, with its means as
// certain weights: its outputs are what feeds layer k, in that order.
func (p *Posterior) Features(k int) *Posterior {
	f := p.AtMean()
	n := f.Layers[k].Inputs()
	one := make([]float64, n*n)
	for j := range n {
		one[j*n+j] = 1
	}
	top := Layer{Layer: network.DenseLayer(n, n, network.Activation{}), NoBias: true}
	top.Sources = f.Layers[k].Sources
	top.Weight = NewParams(one, make([]float64, n*n), ScaleSD)
	top.Bias = NewParams(make([]float64, n), make([]float64, n), ScaleSD)
	f.Layers = append(f.Layers[:k:k], top)
	return f
}

// marginalLeast covers what is lost where products underflow, of numbers up to 2^200.
const marginalLeast = 0x1p-300

// MarginalsUp are upper bounds of the standard deviations of the entries of [W b], in their order; 0 of
// those that nothing moves. Numbers of the covariance are at most 2^200. The error is that of ended, which is asked
// from time to time, as of a Kronecker covariance the work grows with the cube of its sides.
func (c *Covariance) MarginalsUp(in, out int, ended func() error) ([]float64, error) {
	sd, err := c.sdApprox(in, out, ended)
	if err != nil {
		return nil, err
	}
	n := in + 1
	terms := n + out
	if c.Full() {
		terms = c.Rank
	}
	var column, row []bool // of zeros alone
	for j := 0; j < n && !c.Full(); j++ {
		column = append(column, zeros(c.QA[j*n:(j+1)*n]))
	}
	for o := 0; o < out && !c.Full(); o++ {
		row = append(row, zeros(c.QG[o*out:(o+1)*out]))
	}
	for e, v := range sd {
		still := true // of sums of squares, rounded
		if c.Full() {
			still = zeros(c.Factor[e*c.Rank : (e+1)*c.Rank])
		} else {
			still = column[e%n] || row[e/n]
		}
		if !still {
			sd[e] = v*(1+float64(terms+16)*0x1p-51) + marginalLeast
		}
	}
	return sd, nil
}

func zeros(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return v != 0 })
}

// Marginals is a posterior of independent weights, each with the mean of p and a deviation of at least
// that which it has in p, of KindCorrelated, KindJoint or KindSWAG. It is another law than p: what is asked of it may be single
// weights alone. The error is that of ended (MarginalsUp).
func (p *Posterior) Marginals(ended func() error) (*Posterior, error) {
	m := p.AtMean()
	if p.swag != nil {
		for a, g := range m.Params() {
			*g = NewParams(g.Mean, p.swag.sdUp(a), ScaleSD)
		}
	}
	for k, c := range p.dependent() {
		if c == nil {
			continue
		}
		l := &m.Layers[k]
		weight, bias := make([]float64, len(l.Weight.Mean)), make([]float64, len(l.Bias.Mean))
		in, out := l.covariedShape()
		up, err := c.MarginalsUp(in, out, ended)
		if err != nil {
			return nil, err
		}
		eachEntry(in, out, up, func(w *float64, v float64) { *w = v }, weight, bias)
		l.Weight, l.Bias = NewParams(l.Weight.Mean, weight, ScaleSD), NewParams(l.Bias.Mean, bias, ScaleSD)
	}
	return m, nil
}
