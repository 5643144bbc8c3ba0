package bound

import (
	"context"
	"math"

	"psafe/internal/fault"
)

// Noise of layers whose weights depend on each other (docs/theory.md (92a)): the host computes it, from
// the coefficients of rows that a device has computed.

// Depend sets which layers have weights that depend on each other, nil being none; what NewDeviations was
// told of them are their marginals. Nothing is sharpened that rests on independence.
func (c *Deviations) Depend(layers []Dependent) { c.dependent, c.sharper = layers, nil }

// dependsOn is layer k, if its weights depend on each other.
func (c *Deviations) dependsOn(k int) Dependent {
	if c.dependent == nil {
		return nil
	}
	return c.dependent[k]
}

// over is layer k on the box of each item.
func (p *clbpPass) over(k int) []NoiseOver {
	var list []NoiseOver
	for _, z := range p.feds(k) {
		list = append(list, p.dependsOn(k).Over(z))
	}
	return list
}

// fed are the bounds of what feeds layer k.
func (p *clbpPass) fed(k int) Interval {
	z, _, _ := p.input(k)
	return z
}

// dependentUnits is Unit of every output of layer k and item.
func (p *clbpPass) dependentUnits(k int) (variance, varies Array) {
	list, out := p.over(k), p.layers[k].out
	if list == nil {
		return nil, nil
	}
	v, r := make([]float64, len(list)*out), make([]float64, len(list)*out)
	p.err = fault.OnCores(context.Background(), len(v), func(at int) {
		v[at], r[at] = list[at/out].Unit(at % out)
	})
	return p.written(v), p.written(r)
}

// written is an array of numbers, rounded up.
func (p *clbpPass) written(list []float64) Array {
	for i, v := range list {
		list[i] = p.dev.Precision().RoundHi(v)
	}
	return p.holding(list)
}

// dependentRows adds the noise of layer l to that of rows with coefficients in [lo, hi] over its
// pre-activations, [Items x out x rows].
func (p *clbpPass) dependentRows(l int, lo, hi []float64, rows int) {
	out, items := p.layers[l].out, p.pass.query.Batch.Items
	list, before := p.over(l), p.before(l, rows)
	if list == nil {
		return
	}
	mean, variance := make([]float64, items*rows), make([]float64, items*rows)
	if before.mean != nil {
		var err error
		if mean, variance, err = p.readPair(before.mean, before.variance); err != nil {
			return
		}
		mean, variance = repeated(mean, before.cols, rows), repeated(variance, before.cols, rows)
	}
	cLo := byRows(lo, items, out, rows)
	cHi := cLo
	if len(lo) > 0 && &lo[0] != &hi[0] { // no numbers, but intervals
		cHi = byRows(hi, items, out, rows)
	}
	p.err = fault.OnCores(context.Background(), items*rows, func(at int) {
		m, v := list[at/rows].Row(cLo[at*out:(at+1)*out], cHi[at*out:(at+1)*out])
		mean[at], variance[at] = sumUp(mean[at], m), sumUp(variance[at], v)
	})
	p.put(l, before, noiseArrays{mean: p.written(mean), variance: p.written(variance), cols: rows})
}

// byRows are lists [Items x out x rows] as [Items x rows x out], in blocks that stay in a cache.
func byRows(list []float64, items, out, rows int) []float64 {
	const block = 32
	to := make([]float64, len(list))
	for i := range items {
		from, to := list[i*out*rows:(i+1)*out*rows], to[i*out*rows:(i+1)*out*rows]
		for o0 := 0; o0 < out; o0 += block {
			for r0 := 0; r0 < rows; r0 += block {
				for o := o0; o < min(o0+block, out); o++ {
					for r := r0; r < min(r0+block, rows); r++ {
						to[r*out+o] = from[o*rows+r]
					}
				}
			}
		}
	}
	return to
}

// dependentDifferences is the noise of differences of two units of layer d.layer, other minus unit, each of
// which is a row with two coefficients.
func (p *clbpPass) dependentDifferences(d *difference) noiseArrays {
	k, items := d.layer, p.pass.query.Batch.Items
	list, out := p.over(k), p.layers[k].out
	unit, other, err := p.readPair(d.unit, d.other)
	if err != nil || list == nil {
		return noiseArrays{}
	}
	mean, variance := make([]float64, items*d.n), make([]float64, items*d.n)
	p.err = fault.OnCores(context.Background(), len(mean), func(at int) {
		a := make([]float64, out)
		a[int(unit[at%d.n])]--
		a[int(other[at])]++
		mean[at], variance[at] = list[at/d.n].Row(a, a)
	})
	return noiseArrays{mean: p.written(mean), variance: p.written(variance), cols: d.n, kept: true}
}

// propertyRows are the property's rows over the outputs of the last layer, [Items x out x rows].
func (p *clbpPass) propertyRows() (lo, hi []float64, err error) {
	c, out, rows := p.query.Rows.c, p.layers[len(p.layers)-1].out, p.query.Rows.rows
	if lo, hi, err = p.readPair(c.Lo, c.Hi); err != nil {
		return nil, nil, err
	}
	turned := func(list []float64) []float64 { // [Items x rows x out]
		to := make([]float64, len(list))
		for at, v := range list {
			i, r, o := at/(rows*out), at/out%rows, at%out
			to[(i*out+o)*rows+r] = v
		}
		return to
	}
	return turned(lo), turned(hi), nil
}

// repeated are lists of cols numbers, each made one of rows by repetition.
func repeated(list []float64, cols, rows int) []float64 {
	if cols == rows {
		return list
	}
	all := make([]float64, 0, len(list)/cols*rows)
	for at := 0; at < len(list); at += cols {
		for r := range rows {
			all = append(all, list[at+r%cols])
		}
	}
	return all
}

func sumUp(a, b float64) float64 {
	if b == 0 {
		return a
	}
	return math.Nextafter(a+b, math.Inf(1))
}

// feds are the boxes of what feeds layer k, by item.
func (p *clbpPass) feds(k int) []Fed {
	z, n, items := p.fed(k), p.layers[k].in, p.pass.query.Batch.Items
	lo, hi, err := p.readPair(z.Lo, z.Hi)
	if err != nil {
		return nil
	}
	radius, err := p.read(p.joinRadius(k))
	if err != nil {
		return nil
	}
	list := make([]Fed, items)
	for i := range list {
		at := func(list []float64) []float64 { return list[i*n : (i+1)*n] }
		list[i] = Fed{at(lo), at(hi), at(radius)}
	}
	return list
}
