package gpu

import "psafe/host/bound"

var _ = wraps("placerows")

// PlaceRows is defined in bound.PlaceRows.
func (d *Device) PlaceRows(a bound.PlaceRows) error {
	// Tasks that own few inputs are many, and each looks at all taps of its rows. On GPUs they are to
	// be many, and none is to fill thousands of inputs.
	span := max(64, 4*a.K)
	if d.shape.Lanes == 1 {
		span = max(64, a.K/4)
	}
	tasks := a.P * up(a.In, span) * up(a.R, d.shape.Lanes)
	ends := 1
	if a.S.Hi != nil {
		ends = 2
	}
	w := work{d.moved(ends * a.P * a.R * (a.In + a.K)), 2 * int64(a.P) * int64(a.R) * int64(a.K)}
	return d.launch("placerows", tasks, w, d.arrays(a),
		a.S.Hi != nil, a.C.Hi != nil, a.Other != nil, a.Each, a.Squares, a.PerBox, a.R, a.In, a.K, a.Channels, span)
}
