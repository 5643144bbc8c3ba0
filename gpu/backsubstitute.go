package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("backsubstitute", "backtiles", "backblocks", "backsums")

// BackSubstitute is defined in bound.BackSubstitute.
func (d *Device) BackSubstitute(a bound.BackSubstitute) error {
	if d.inStages(a.P*a.R*a.In, blocks(a.Out)) {
		return d.backSubstitute("backblocks", a)
	}
	if d.tiles(a.PerBox*a.R, a.In, a.In*a.Out, a.Out*a.R) {
		return d.backSubstitute("backtiles", a)
	}
	return d.backSubstitute("backsubstitute", a)
}

func (d *Device) backSubstitute(kernel string, a bound.BackSubstitute) error {
	boxes := up(a.P, a.PerBox)
	sLo := d.array(a.S.Lo, a.P*a.In*a.R, "BackSubstitute.S.Lo")
	sHi := d.optional(a.S.Hi, a.P*a.In*a.R, "BackSubstitute.S.Hi")
	c := d.array(a.C, a.P*a.R, "BackSubstitute.C")
	rows := d.array(a.A, a.P*a.Out*a.R, "BackSubstitute.A")
	cIn := d.array(a.CIn, a.P*a.R, "BackSubstitute.CIn")
	wLo, wHi := d.interval(a.W, boxes*a.In*a.Out, "BackSubstitute.W")
	bLo, bHi := d.interval(a.B, boxes*a.Out, "BackSubstitute.B")
	tile := kernels.BackTile(d.shape.Lanes)
	tasks := boxes * up(a.PerBox*up(a.R, d.shape.Lanes), tile.Tr) * (up(a.In, tile.Tj) + 1)
	if kernel == "backtiles" {
		tasks = boxes * up(a.PerBox*a.R, kernels.Side) * up(a.In, kernels.Side)
	}
	both := 1
	if sHi != nil {
		both = 2
	}
	w := work{
		d.moved(2*boxes*(a.In+1)*a.Out + a.P*a.Out*a.R + both*a.P*a.In*a.R),
		2 * int64(both) * int64(a.P) * int64(a.R) * int64(a.In) * int64(a.Out),
	}
	if kernel == "backblocks" {
		b, results := blocks(a.Out), a.P*(a.In+1)*a.R
		return d.parts([]int{results * b, results * b * (both - 1)}, func(parts []*array) error {
			lo, hi := parts[0], parts[1]
			err := d.launch(kernel, lo.n, w, lo, hi, rows, wLo, wHi, bLo, bHi, sHi != nil, a.PerBox, a.R, a.In, a.Out, b)
			if err != nil {
				return err
			}
			return d.launch("backsums", results, work{d.moved(both * (lo.n + results)), int64(both) * int64(lo.n)}, sLo, sHi, c, lo, hi, cIn,
				sHi != nil, a.R, a.In, b)
		})
	}
	return d.launch(kernel, tasks, w, sLo, sHi, c, rows, cIn, wLo, wHi, bLo, bHi,
		sHi != nil, a.P, a.PerBox, a.R, a.In, a.Out)
}
