package sums

import (
	"fmt"
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Large neurons split off (doc.go): draws in which one neuron has a very
// negative term fail at many points of a grid at once. They are counted once for each box of T
// and row, in the place of once for each point.

// Large holds what a record splits off for one box of T and one row: that for some neuron a_i < 0
// and -a_i t_i(x) > tau, at a point x that may be anywhere.
type Large struct {
	At    []float64 `json:"at"`
	Above float64   `json:"above"` // tau
}

// LargeFits returns what does not fit of what is split off, nil where nothing is, for so many boxes
// of T, rows and inputs.
func LargeFits(large [][]*Large, boxes, rows, inputs int) error {
	if len(large) != boxes {
		return fmt.Errorf("proof: large: there are %d lists, T has %d boxes", len(large), boxes)
	}
	for b, list := range large {
		if len(list) != rows {
			return fmt.Errorf("proof: large: box %d has %d entries, there are %d mixtures", b, len(list), rows)
		}
		for r, l := range list {
			if l == nil {
				continue
			}
			if len(l.At) != inputs {
				return fmt.Errorf("proof: large: entry %d of box %d has %d coordinates, the network has %d inputs", r, b, len(l.At), inputs)
			}
			for j, x := range l.At {
				if !arith.Exactly(x).Finite() {
					return fmt.Errorf("proof: large: entry %d of box %d is at %v in axis %d", r, b, x, j)
				}
			}
			if !(l.Above > 0 && l.Above <= math.MaxFloat64) {
				return fmt.Errorf("proof: large: entry %d of box %d is above %v, which is no number > 0", r, b, l.Above)
			}
		}
	}
	return nil
}

// largeUp is an upper bound of the probability that there is a large neuron: the sum over all of
// them.
func (n *Network) largeUp(l *Large, row *property.Row) float64 {
	total := 0.
	for i := range n.hidden.Outputs() {
		total = arith.SumUp(total, largeTermUp(n.weightOf(i, row), n.preactivation(i, l.At), l.Above))
	}
	return total
}

// narrowBins are the edges of narrow bins of a standard normal Z, and upper bounds of their masses:
// each costs a point of one function for each neuron, but only once for a box.
var narrowBins = sync.OnceValue(func() *struct{ z, mass []float64 } {
	const step = 1. / 1024
	b := &struct{ z, mass []float64 }{z: []float64{-binReach}}
	for z := -float64(binReach); z < binReach; z += step {
		b.z, b.mass = append(b.z, z+step), append(b.mass, betweenUp(z, z+step))
	}
	return b
})

// largeTermUp is an upper bound of Prob(a < 0 and -a t > tau), of independent a and t: in each bin
// of a, that of t > tau/|a| for the greatest |a|.
func largeTermUp(a, t normalVar, tau float64) float64 {
	if !a.mean.Finite() || !a.sd.Finite() || !t.mean.Finite() || !t.sd.Finite() {
		return 1
	}
	table, b := normalTable(), narrowBins()
	z, mass, total := b.z, b.mass, table.lost
	if a.sd.Hi == 0 {
		z, mass, total = []float64{0, 0}, []float64{1}, 0
	}
	for k, m := range mass {
		x := a.bin(z[k], z[k+1])
		if x.Lo >= 0 {
			break
		}
		beyond := arith.Exactly(tau).Over(arith.Exactly(-x.Lo)).Minus(t.mean).Over(t.sd)
		p := table.belowUp(-beyond.Lo)
		if p == table.belowUp(-tableReach) { // and all further bins have less
			total = arith.SumUp(total, p)
			break
		}
		total = arith.SumUp(total, arith.ProductUp(m, p))
	}
	return min(1, total)
}
