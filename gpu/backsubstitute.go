package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("backsubstitute", "backtiles", "backblocks", "backsums", "backlive", "backends")

// BackSubstitute is defined in bound.BackSubstitute.
func (d *Device) BackSubstitute(a bound.BackSubstitute) error {
	if d.inStages(a.P*a.R*a.In, blocks(a.Out)) {
		return d.backSubstitute("backblocks", a)
	}
	if d.tiles(a.PerBox*a.R, a.In, a.In*a.Out, a.Out*a.R) {
		return d.backSubstitute("backtiles", a)
	}
	if d.shape.Lanes > 1 && a.R > d.shape.Lanes && a.S.Hi != nil && a.W.Lo != a.W.Hi {
		return d.backSubstitute("backends", a)
	}
	return d.backSubstitute("backsubstitute", a)
}

func (d *Device) backSubstitute(kernel string, a bound.BackSubstitute) error {
	on, boxes := d.arrays(a), up(a.P, a.PerBox)
	tile := kernels.BackTile(d.shape.Lanes)
	tasks := boxes * up(a.PerBox*up(a.R, d.shape.Lanes), tile.Tr) * (up(a.In, tile.Tj) + 1)
	if kernel == "backtiles" {
		tasks = boxes * up(a.PerBox*a.R, kernels.Side) * up(a.In, kernels.Side)
	}
	wantHi, both := a.S.Hi != nil, 1
	if wantHi {
		both = 2
	}
	w := work{
		d.moved(2*boxes*(a.In+1)*a.Out + a.P*a.Out*a.R + both*a.P*a.In*a.R),
		2 * int64(both) * int64(a.P) * int64(a.R) * int64(a.In) * int64(a.Out),
	}
	if kernel == "backblocks" {
		b, results := blocks(a.Out), a.P*(a.In+1)*a.R
		n := results * b
		return d.parts(on, []part{{"sumLo", n}, {"sumHi", n * (both - 1)}}, func(on arrays) error {
			if err := d.launch(kernel, n, w, on, wantHi, a.PerBox, a.R, a.In, a.Out, b); err != nil {
				return err
			}
			return d.launch("backsums", results, work{d.moved(both * (n + results)), int64(both) * int64(n)}, on, wantHi, a.R, a.In, b)
		})
	}
	if kernel == "backends" {
		tiles, weights := up(a.R, d.shape.Lanes), boxes*a.In
		n, pairs := weights+a.P*tiles, a.P*up(tiles, 2)
		return d.parts(on, []part{{"live", n * (blocks(a.Out) + 1)}}, func(on arrays) error {
			read := work{d.moved(2*weights*a.Out + a.P*a.Out*a.R), 0}
			if err := d.launch("backlive", n, read, on, weights, a.R, a.Out); err != nil {
				return err
			}
			run := runOf(pairs * a.In)
			return d.launch(kernel, pairs*up(a.In, run), w, on, weights, a.PerBox, run, a.R, a.In, a.Out)
		})
	}
	return d.launch(kernel, tasks, w, on, wantHi, a.P, a.PerBox, a.R, a.In, a.Out)
}
