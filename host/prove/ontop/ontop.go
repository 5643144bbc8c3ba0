// Package ontop bounds rows of networks whose last layer alone is random, by normal weights of any
// covariance (docs/theory.md (93)). What feeds the last layer is then a fixed function of the
// input, between affine functions of it, so that nothing fails but the row itself. Or of one with
// dropout, in any layers (Masked).
package ontop

import (
	"encoding/binary"
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
	"psafe/host/read/property"
)

// Top is the random last layer of a posterior: [W b] of n inputs. What is known of rows of it is kept.
type Top struct {
	n, out int
	layer  *posterior.Layer
	// covariance is nil where the weights are independent.
	covariance *posterior.Covariance
	// Ended, which may be set, says why work has to stop: then nothing is known of a row.
	Ended covary.Ended

	mutex sync.Mutex
	rows  map[string]*Row
}

// New takes the last layer of a posterior. The error is that of posterior.OnTop.
func New(post *posterior.Posterior) (*Top, error) {
	if err := post.OnTop(); err != nil {
		return nil, err
	}
	last := len(post.Layers) - 1
	t := &Top{layer: &post.Layers[last], rows: map[string]*Row{}, Ended: func() error { return nil }}
	t.n, t.out = t.layer.Inputs(), t.layer.Outputs()
	if c := post.Covariances(); c != nil {
		t.covariance = c[last]
	}
	return t, nil
}

// Row holds what a row C [W b] of the last layer is: normal numbers over its inputs and 1, of which the
// means are mean and constant. Everything that TailUp says grows with their covariance in the order of
// Loewner, so that it is said of an upper bound.
type Row struct {
	*covary.Row
	n        int
	mean     []arith.Interval
	constant arith.Interval
	// idle, if it is not nil, says which inputs the row does not meet.
	idle []bool
}

// mostKept is how many numbers of rows are kept: 256 MiB.
const mostKept = 1 << 25

// Row prepares a row of a property, and keeps it. It is nil where numbers are out of range, or where it had to
// stop (Ended): then nothing is known.
func (t *Top) Row(row *property.Row) *Row {
	key := make([]byte, 0, 16*(len(row.CLo)+1))
	for _, list := range [][]float64{row.CLo, row.CHi, {row.D, row.DHi}} {
		for _, v := range list {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
		}
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	r, known := t.rows[string(key)]
	if !known {
		if len(t.rows)*(t.n+1)*(t.n+1) > mostKept {
			clear(t.rows)
		}
		var err error
		if r, err = t.newRow(row); err != nil {
			return nil // and is asked for again when there is time
		}
		t.rows[string(key)] = r
	}
	return r
}

// newRow is Row; the error is that of Ended.
func (t *Top) newRow(row *property.Row) (*Row, error) {
	if err := t.Ended(); err != nil {
		return nil, err
	}
	for _, list := range [][]float64{row.CLo, row.CHi, {row.D}, t.layer.Weight.Mean, t.layer.Bias.Mean} {
		if !covary.InRange(list) {
			return nil, nil
		}
	}
	r := &Row{n: t.n, mean: make([]arith.Interval, t.n)}
	product := func(weights func(o int) float64, more float64) arith.Interval {
		var lo, hi arith.Sum
		lo.Plus(more)
		hi.Plus(more)
		for o := range t.out {
			w := weights(o)
			lo.Add(arith.LeastProduct(row.CLo[o], row.CHi[o], w, w))
			hi.Add(arith.MostProduct(row.CLo[o], row.CHi[o], w, w))
		}
		return arith.Of(lo.Lo(), hi.Hi())
	}
	for j := range t.n {
		r.mean[j] = product(func(o int) float64 { return t.layer.Weight.Mean[j*t.out+o] }, 0)
	}
	r.constant = product(func(o int) float64 { return t.layer.Bias.Mean[o] }, row.D)
	var err error
	if r.Row, err = covary.New(row.CLo, row.CHi, t.layer, t.covariance, t.Ended); r.Row == nil {
		return nil, err
	}
	return r, nil
}
