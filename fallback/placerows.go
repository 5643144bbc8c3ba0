package fallback

import "psafe/host/bound"

// PlaceRows is defined in bound.PlaceRows.
func (d *Device[T]) PlaceRows(a bound.PlaceRows) error {
	units := a.Positions * a.Channels
	t := placeRows[T]{a: a, d: d}
	t.sLo, t.sHi = d.interval(a.S)
	t.cLo, t.cHi = d.interval(a.C)
	t.wLo, t.wHi = d.interval(a.W)
	t.bLo, t.bHi = d.interval(a.B)
	t.taps = d.places(a.Taps, -1, a.In, "PlaceRows.Taps")
	t.unit = d.places(a.Unit, 0, units, "PlaceRows.Unit")
	if a.Other != nil {
		t.other = d.places(a.Other, 0, units, "PlaceRows.Other")
	}
	for _, s := range [][]T{t.sLo, t.sHi} {
		if err := d.parallel(len(s), 1<<16, func(from, to int) { clear(s[from:to]) }); err != nil {
			return err
		}
	}
	return d.parallel(a.P*a.R, rowTile, func(from, to int) {
		for i := from; i < to; i++ {
			t.row(i/a.R, i%a.R)
		}
	})
}

type placeRows[T bound.Real] struct {
	a                  bound.PlaceRows
	d                  *Device[T]
	sLo, sHi, cLo, cHi []T
	wLo, wHi, bLo, bHi []T
	taps, unit, other  []int32
}

// row writes row r of item p over zeros.
func (t *placeRows[T]) row(p, r int) {
	k, channels, box, c := t.a.K, t.a.Channels, p/t.a.PerBox, p*t.a.R+r
	u := int(t.unit[r])
	if t.a.Each {
		u = int(t.unit[c])
	}
	uTaps, uo := t.taps[u/channels*k:][:k], u%channels
	if t.other == nil {
		t.place(p, r, uTaps, nil, uo, false)
		t.constant(c, box*channels+uo, -1)
		return
	}
	v := int(t.other[c])
	vTaps, vo := t.taps[v/channels*k:][:k], v%channels
	if uo != vo { // no weight is the same
		t.place(p, r, uTaps, nil, uo, false)
		t.place(p, r, vTaps, nil, vo, true)
		t.constant(c, box*channels+uo, box*channels+vo)
		return
	}
	t.place(p, r, uTaps, vTaps, uo, false)
	t.place(p, r, vTaps, uTaps, vo, true)
	t.cLo[c] = 0
	if t.cHi != nil {
		t.cHi[c] = 0
	}
}

// place adds the weights of channel o to the inputs under taps, or subtracts them, but for
// those that meet the same input in the place same, where they cancel.
func (t *placeRows[T]) place(p, r int, taps, same []int32, o int, second bool) {
	w := p/t.a.PerBox*t.a.K*t.a.Channels + o
	for k, j := range taps {
		if j < 0 || same != nil && same[k] == j {
			continue
		}
		lo, hi := t.ends(t.wLo, t.wHi, w+k*t.a.Channels, second)
		at := (p*t.a.In+int(j))*t.a.R + r
		t.sLo[at] = t.meet(t.sLo[at], lo, t.a.Squares)
		if t.sHi != nil {
			t.sHi[at] = t.meet(t.sHi[at], hi, true)
		}
	}
}

// constant writes the bias at u, minus that at v, -1 for none.
func (t *placeRows[T]) constant(c, u, v int) {
	lo, hi := t.ends(t.bLo, t.bHi, u, false)
	if v >= 0 {
		vLo, vHi := t.ends(t.bLo, t.bHi, v, true)
		lo, hi = t.meet(lo, vLo, t.a.Squares), t.meet(hi, vHi, true)
	}
	t.cLo[c] = lo
	if t.cHi != nil {
		t.cHi[c] = hi
	}
}

// ends returns what a number between lo[i] and hi[i] adds to a lower and to an upper end, as part
// of the second sum if second says so.
func (t *placeRows[T]) ends(lo, hi []T, i int, second bool) (T, T) {
	switch {
	case t.a.Squares:
		return hi[i], hi[i]
	case second:
		return -hi[i], -lo[i]
	}
	return lo[i], hi[i]
}

// meet is sum + x, rounded up or down, but exact where there was nothing.
func (t *placeRows[T]) meet(sum, x T, up bool) T {
	s := sum + x
	switch {
	case sum == 0:
		return s
	case up:
		return t.d.upper(t.d.up(s))
	}
	return t.d.lower(t.d.down(s))
}
