package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("mergetranspose", "mergerows", "mergeblocks", "mergesums")

// MergeRows is defined in bound.MergeRows.
func (d *Device) MergeRows(a bound.MergeRows) error {
	wLo, wHi := d.interval(a.W, a.Items*a.In*a.Rows, "MergeRows.W")
	bLo, bHi := d.interval(a.B, a.Items*a.Rows, "MergeRows.B")
	weightLo, weightHi := d.interval(a.Weight, a.Boxes()*a.In*a.Out, "MergeRows.Weight")
	biasLo, biasHi := d.interval(a.Bias, a.Boxes()*a.Out, "MergeRows.Bias")
	n := a.Inputs * a.Rows * a.Out
	cLo, cHi := d.interval(a.C, n, "MergeRows.C")
	dLo, dHi := d.interval(a.D, a.Inputs*a.Rows, "MergeRows.D")
	round := d.array(a.Round, a.Inputs*a.Rows, "MergeRows.Round")
	ctLo, err := d.newArray(n)
	if err != nil {
		return d.fail("mergerows", err)
	}
	defer d.Release(ctLo)
	ctHi, err := d.newArray(n)
	if err != nil {
		return d.fail("mergerows", err)
	}
	defer d.Release(ctHi)
	if err := d.launch("mergetranspose", n, work{d.moved(4 * n), 0}, ctLo, ctHi, cLo, cHi, a.Rows, a.Out); err != nil {
		return err
	}
	results := a.Items * (a.In + 1) * a.Rows
	w := work{
		d.moved(2*results + 2*a.Boxes()*(a.In+1)*a.Out + 2*n),
		6 * int64(results) * int64(a.Out),
	}
	if b := blocks(a.Out); d.inStages(results, b) {
		return d.parts([]int{results * b, results * b, results * b}, func(parts []*array) error {
			lo, hi, mag := parts[0], parts[1], parts[2]
			err := d.launch("mergeblocks", lo.n, w, lo, hi, mag, weightLo, weightHi, biasLo, biasHi, ctLo, ctHi,
				a.PerBox, a.Inputs, a.In, a.Out, a.Rows, b)
			if err != nil {
				return err
			}
			return d.launch("mergesums", results, work{d.moved(3*lo.n + 2*results), 3 * int64(lo.n)}, wLo, wHi, bLo, bHi, lo, hi, mag,
				dLo, dHi, round, a.Abs, a.Inputs, a.In, a.Rows, b)
		})
	}
	tasks := a.Items * up(a.In+1, kernels.MergeInputs) * up(a.Rows, d.shape.Lanes)
	return d.launch("mergerows", tasks, w, wLo, wHi, bLo, bHi, weightLo, weightHi, biasLo, biasHi, ctLo, ctHi,
		dLo, dHi, round, a.Abs, a.PerBox, a.Inputs, a.In, a.Out, a.Rows)
}
