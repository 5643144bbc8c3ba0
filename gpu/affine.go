package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("affine", "affinewide", "affineshared", "affinetiles", "affineblocks", "affinesums")

// Affine is defined in bound.Affine.
func (d *Device) Affine(a bound.Affine) error { return d.affine(d.affineKernel(a), a) }

// affineKernel chooses by what is shared: a weight box by several items, or
// nothing, and then by the number of outputs. All give the same bits.
func (d *Device) affineKernel(a bound.Affine) string {
	switch lanes := d.shape.Lanes; {
	case d.inStages(a.Items*a.Out, blocks(a.In)):
		return "affineblocks"
	case d.tiles(a.PerBox, a.Out, a.In*a.Out, a.Inputs*a.In):
		return "affinetiles"
	case a.PerBox >= 3:
		return "affineshared"
	case lanes > 1 && a.Out > 3*lanes:
		return "affinewide"
	}
	return "affine"
}

// affineTasks is the number of tasks of a kernel of affineKernel.
func (d *Device) affineTasks(kernel string, a bound.Affine) int {
	lanes, tile := d.shape.Lanes, kernels.Tile{To: 1, Ti: 1}
	switch kernel {
	case "affinetiles":
		return a.Boxes() * up(a.PerBox, kernels.Side) * up(a.Out, kernels.Side)
	case "affineshared":
		tile = kernels.AffineShared(lanes)
	case "affinewide":
		tile = kernels.AffineWide(lanes)
	}
	return a.Boxes() * up(a.PerBox, tile.Ti) * up(a.Out, tile.To*lanes)
}

func (d *Device) affine(kernel string, a bound.Affine) error {
	on := d.arrays(a)
	w := work{
		d.moved(2*a.Boxes()*(a.In+1)*a.Out + 2*a.Inputs*a.In + 3*a.Items*a.Out),
		4 * int64(a.Items) * int64(a.In) * int64(a.Out),
	}
	if kernel == "affineblocks" {
		b := blocks(a.In)
		n := a.Items * b * a.Out
		return d.parts(on, []part{{"sumLo", n}, {"sumHi", n}, {"sumMag", n}}, func(on arrays) error {
			if err := d.launch(kernel, n, w, on, a.NonNeg, a.PerBox, a.Inputs, a.In, a.Out, b); err != nil {
				return err
			}
			return d.launch("affinesums", a.Items*a.Out, work{d.moved(3*n + 5*a.Items*a.Out), 3 * int64(n)}, on,
				a.Push.Rel, a.Push.Abs, a.MagRound.Rel, a.MagRound.Abs, a.PerBox, a.Out, b)
		})
	}
	return d.launch(kernel, d.affineTasks(kernel, a), w, on, a.Push.Rel, a.Push.Abs,
		a.MagRound.Rel, a.MagRound.Abs, a.NonNeg, a.Items, a.PerBox, a.Inputs, a.In, a.Out)
}
