package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("mergetranspose", "mergerows", "mergeblocks", "mergesums")

// MergeRows is defined in bound.MergeRows.
func (d *Device) MergeRows(a bound.MergeRows) error {
	n, results := a.Inputs*a.Rows*a.Out, a.Items*(a.In+1)*a.Rows
	return d.parts(d.arrays(a), []part{{"ctLo", n}, {"ctHi", n}}, func(on arrays) error {
		if err := d.launch("mergetranspose", n, work{d.moved(4 * n), 0}, on, a.Rows, a.Out); err != nil {
			return err
		}
		w := work{d.moved(2*results + 2*a.Boxes()*(a.In+1)*a.Out + 2*n), 6 * int64(results) * int64(a.Out)}
		if b := blocks(a.Out); d.inStages(results, b) {
			n := results * b
			return d.parts(on, []part{{"sumLo", n}, {"sumHi", n}, {"sumMag", n}}, func(on arrays) error {
				if err := d.launch("mergeblocks", n, w, on, a.PerBox, a.Inputs, a.In, a.Out, a.Rows, b); err != nil {
					return err
				}
				return d.launch("mergesums", results, work{d.moved(3*n + 2*results), 3 * int64(n)}, on, a.Abs, a.Inputs, a.In, a.Rows, b)
			})
		}
		tasks := a.Items * up(a.In+1, kernels.MergeInputs) * up(a.Rows, d.shape.Lanes)
		return d.launch("mergerows", tasks, w, on, a.Abs, a.PerBox, a.Inputs, a.In, a.Out, a.Rows)
	})
}
