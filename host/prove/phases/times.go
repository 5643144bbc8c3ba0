package phases

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"psafe/host/bound/sharp"
)

// weights are a matrix, [inputs x outputs], and it turned.
type weights struct {
	blas64.General
	turned []float64
}

func newWeights(in, out int) weights { return weights{matrix(in, out), make([]float64, in*out)} }

// turn is to be called when all numbers are set. It takes a cache line of inputs at a time.
func (w *weights) turn() {
	const line = 8
	for from := 0; from < w.Rows; from += line {
		for i := range w.Cols {
			for j := from; j < min(from+line, w.Rows); j++ {
				w.turned[i*w.Rows+j] = w.Data[j*w.Cols+i]
			}
		}
	}
}

// gonumSums is how many sums gonum's products of rows have on amd64, each of every so many-th term; the terms
// that are too many are in the first. Of results of gonumBlocks blocks or more, of gonumBlock rows and columns, it
// adds up sums of so many terms.
const gonumSums, gonumBlock, gonumBlocks = 4, 64, 4

// times is a b, or a times b turned: in lanes, where there are some, several times as fast as gonum and with the
// bits that it gives there.
func (d *descent) times(a blas64.General, turned bool, b weights) blas64.General {
	if !turned {
		c := d.matrix(a.Rows, b.Cols)
		if !sharp.WeighLanes(c.Data, a.Data, d.pick(a, 0, a.Cols, 0, 1), b.Data, b.Cols) {
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b.General, 0, c)
		}
		return c
	}
	c, terms := d.zeros(a.Rows, b.Rows), a.Cols
	blocks := func(n int) int { return (n + gonumBlock - 1) / gonumBlock }
	if blocks(a.Rows)*blocks(b.Rows) >= gonumBlocks {
		terms = gonumBlock
	}
	for from := 0; from < a.Cols; from += terms {
		for k := range d.parts {
			d.parts[k] = slices.Grow(d.parts[k][:0], len(c.Data))[:len(c.Data)]
			if !sharp.WeighLanes(d.parts[k], a.Data, d.pick(a, from, min(from+terms, a.Cols), k, gonumSums), b.turned, b.Rows) {
				blas64.Gemm(blas.NoTrans, blas.Trans, 1, a, b.General, 0, c)
				return c
			}
		}
		p, q, r, s := d.parts[0], d.parts[1][:len(c.Data)], d.parts[2][:len(c.Data)], d.parts[3][:len(c.Data)]
		for at, x := range p {
			c.Data[at] += (q[at] + s[at]) + (x + r[at])
		}
	}
	return c
}

// pick lists the terms of a sum from one on up to another, those of the k-th of so many sums, that are not 0 in
// all rows of a: 0 changes no sum.
func (d *descent) pick(a blas64.General, from, to, k, sums int) []int {
	d.picked = d.picked[:0]
	for i := from; i < to; i++ {
		of := (i - from) % sums
		if i-from >= (to-from)/sums*sums {
			of = 0
		}
		for at := i; of == k && at < len(a.Data); at += a.Cols {
			if a.Data[at] != 0 {
				d.picked = append(d.picked, i)
				break
			}
		}
	}
	return d.picked
}
