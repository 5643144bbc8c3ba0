package gpu

import "psafe/host/bound"

var _ = wraps("placerows")

// PlaceRows is defined in bound.PlaceRows.
func (d *Device) PlaceRows(a bound.PlaceRows) error {
	boxes, n := up(a.P, a.PerBox), a.P*a.In*a.R
	sLo, sHi := d.array(a.S.Lo, n, "PlaceRows.S.Lo"), d.optional(a.S.Hi, n, "PlaceRows.S.Hi")
	cLo, cHi := d.array(a.C.Lo, a.P*a.R, "PlaceRows.C.Lo"), d.optional(a.C.Hi, a.P*a.R, "PlaceRows.C.Hi")
	wLo, wHi := d.interval(a.W, boxes*a.K*a.Channels, "PlaceRows.W")
	bLo, bHi := d.interval(a.B, boxes*a.Channels, "PlaceRows.B")
	taps, unit := d.array(a.Taps, a.Positions*a.K, "PlaceRows.Taps"), d.array(a.Unit, a.R, "PlaceRows.Unit")
	other := d.optional(a.Other, a.P*a.R, "PlaceRows.Other")
	if a.Squares && (a.S.Hi != nil || a.C.Hi != nil) {
		panic("gpu: PlaceRows: Squares have no S.Hi and no C.Hi")
	}
	// Tasks that own few inputs are many, and each looks at all taps of its rows. On GPUs they are to
	// be many, and none is to fill thousands of inputs.
	span := max(64, 4*a.K)
	if d.shape.Lanes == 1 {
		span = max(64, a.K/4)
	}
	tasks := a.P * up(a.In, span) * up(a.R, d.shape.Lanes)
	ends := 1
	if sHi != nil {
		ends = 2
	}
	w := work{d.moved(ends * (n + a.P*a.R*a.K)), 2 * int64(a.P) * int64(a.R) * int64(a.K)}
	return d.launch("placerows", tasks, w, sLo, sHi, cLo, cHi, wLo, wHi, bLo, bHi, taps, unit, other,
		sHi != nil, cHi != nil, other != nil, a.Squares, a.PerBox, a.R, a.In, a.K, a.Channels, span)
}
