package property

import (
	"fmt"
	"math"
	"slices"
)

// Witness is a box that surely contains a point of the i-th region of the real T,
// close to x: in each coordinate the float64 nearest to x[j] in the inner interval
// or, where that is empty, the whole of [T[i].Lo[j], T[i].Hi[j]]. A property that
// fails on all of a witness fails somewhere on T; nothing is asked of x, and NaN
// is allowed. It is the zero Box if the task does not know that the region has a
// point: then nothing can be shown to fail there. Where T is a ball the point is drawn into it.
//
// It panics if there is no region i or x has not as many coordinates.
func (t *Task) Witness(i int, x []float64) Box {
	outer := t.T[i]
	if len(x) != len(outer.Lo) {
		panic(fmt.Sprintf("property: Witness: a point of %d coordinates for a box of %d", len(x), len(outer.Lo)))
	}
	if len(t.Inner) == 0 || t.Inner[i].Lo == nil {
		return Box{}
	}
	inner := t.Inner[i]
	w := Box{Lo: make([]float64, len(x)), Hi: make([]float64, len(x))}
	for j, v := range x {
		lo, hi := inner.Lo[j], inner.Hi[j]
		switch {
		case !(lo <= hi):
			w.Lo[j], w.Hi[j] = outer.Lo[j], outer.Hi[j]
			continue
		case v > hi:
			v = hi
		case !(v >= lo):
			v = lo
		}
		w.Lo[j], w.Hi[j] = v, v
	}
	if t.Ball != nil {
		return t.Ball.witness(w, inner)
	}
	return w
}

// witness moves a witness of the box around the ball into it: the zero Box where no point is found that
// is surely in both. Of an input that does not move the real value is in the witness's interval; of
// another one a float64 in it has to be known.
func (b *Ball) witness(w, inner Box) Box {
	for j := range w.Lo {
		if w.Lo[j] != w.Hi[j] && b.RadiusHi[j] != 0 {
			return Box{}
		}
	}
	x := slices.Clone(w.Lo)
	if !b.pullIn(x, inner) {
		return Box{}
	}
	for j, v := range x {
		if b.RadiusHi[j] != 0 {
			w.Lo[j], w.Hi[j] = v, v
		}
	}
	return w
}

// checkInner is the part of Check on Inner; the boxes of T have been checked.
func (t *Task) checkInner(inputs int) error {
	if len(t.Inner) != 0 && len(t.Inner) != len(t.T) {
		return fmt.Errorf("has %d inner boxes for %d boxes; give one for each or none", len(t.Inner), len(t.T))
	}
	for b, inner := range t.Inner {
		if inner.Lo == nil && inner.Hi == nil {
			continue
		}
		if len(inner.Lo) != inputs || len(inner.Hi) != inputs {
			return fmt.Errorf("inner box %d has %d coordinates, the network has %d inputs; give one pair for each", b, len(inner.Lo), inputs)
		}
		for j, lo := range inner.Lo {
			hi, outer := inner.Hi[j], t.T[b]
			empty := lo > hi && !math.IsInf(lo, 0) && !math.IsInf(hi, 0)
			if !empty && !(outer.Lo[j] <= lo && lo <= hi && hi <= outer.Hi[j]) {
				return fmt.Errorf("inner box %d: coordinate %d: from %v to %v is not inside of %v to %v; mend its ends", b, j, lo, hi, outer.Lo[j], outer.Hi[j])
			}
		}
	}
	return nil
}
