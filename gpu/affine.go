package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

// The operations of bound.Device, one launch each. What they compute is defined
// there; how they are cut into tasks is said at the top of kernels/<name>.cl.

// up is a/b rounded up.
func up(a, b int) int { return (a + b - 1) / b }

// moved counts the bytes of n numbers.
func (d *Device) moved(n int) int64 { return int64(n) * int64(d.precision.Bytes()) }

// DrawBox is defined in bound.DrawBox.
func (d *Device) DrawBox(a bound.DrawBox) error {
	lo, hi := d.interval(a.Box, a.Boxes*a.N, "DrawBox.Box")
	cLo, cHi := d.interval(a.Centre, a.N, "DrawBox.Centre")
	unit := d.array(a.Unit, a.N, "DrawBox.Unit")
	gamma := d.array(a.Gamma, a.Boxes, "DrawBox.Gamma")
	tasks := a.Boxes * up(a.N, kernels.DrawRun(d.shape.Lanes))
	w := work{d.moved(2*a.Boxes*a.N + 3*a.N + a.Boxes), 6 * int64(a.Boxes) * int64(a.N)}
	return d.launch("drawbox", tasks, w, lo, hi, cLo, cHi, unit, gamma, a.N, a.Sampled, a.Seed, a.First, a.Stream)
}

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
	tasks := a.Items * up(a.In+1, kernels.MergeInputs) * up(a.Rows, d.shape.Lanes)
	w := work{
		d.moved(2*a.Items*(a.In+1)*a.Rows + 2*a.Boxes()*(a.In+1)*a.Out + 2*n),
		6 * int64(a.Items) * int64(a.In+1) * int64(a.Rows) * int64(a.Out),
	}
	return d.launch("mergerows", tasks, w, wLo, wHi, bLo, bHi, weightLo, weightHi, biasLo, biasHi, ctLo, ctHi,
		dLo, dHi, round, a.Abs, a.PerBox, a.Inputs, a.In, a.Out, a.Rows)
}

// Affine is defined in bound.Affine.
func (d *Device) Affine(a bound.Affine) error { return d.affine(d.affineKernel(a), a) }

// affineKernel chooses by what is shared: a weight box by several items, or
// nothing, and then by the number of outputs. All give the same bits.
func (d *Device) affineKernel(a bound.Affine) string {
	switch lanes := d.shape.Lanes; {
	case d.tiles(a.PerBox, a.Out):
		return "affinetiles"
	case a.PerBox >= 3:
		return "affineshared"
	case lanes > 1 && a.Out > 3*lanes:
		return "affinewide"
	}
	return "affine"
}

// tiles says whether a product that shares a x b results among the items of one
// weight box goes to the kernels with tiles in local memory. Those are for GPUs, and
// a tile takes as long whether it is full or not: where less than half of the
// tiles' places are results, as with many boxes and few items or rows of each, or
// with the few outputs of a last layer, the register tiles do less in vain: they
// round up to 8 one way only, and coalesce there too.
func (d *Device) tiles(a, b int) bool {
	const side = kernels.Side
	return d.shape.Lanes == 1 && 2*a*b >= up(a, side)*side*up(b, side)*side
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
	lo, hi := d.interval(a.Pre, a.Items*a.Out, "Affine.Pre")
	mag := d.array(a.Mag, a.Items*a.Out, "Affine.Mag")
	wLo, wHi := d.interval(a.W, a.Boxes()*a.In*a.Out, "Affine.W")
	bLo, bHi := d.interval(a.B, a.Boxes()*a.Out, "Affine.B")
	zLo, zHi := d.interval(a.Z, a.Inputs*a.In, "Affine.Z")
	w := work{
		d.moved(2*a.Boxes()*(a.In+1)*a.Out + 2*a.Inputs*a.In + 3*a.Items*a.Out),
		4 * int64(a.Items) * int64(a.In) * int64(a.Out),
	}
	return d.launch(kernel, d.affineTasks(kernel, a), w, lo, hi, mag, wLo, wHi, bLo, bHi, zLo, zHi, a.Push.Rel, a.Push.Abs,
		a.MagRound.Rel, a.MagRound.Abs, a.NonNeg, a.Items, a.PerBox, a.Inputs, a.In, a.Out)
}

// Activate is defined in bound.Activate.
func (d *Device) Activate(a bound.Activate) error {
	zLo, zHi := d.interval(a.Z, a.N, "Activate.Z")
	lo, hi := d.interval(a.Pre, a.N, "Activate.Pre")
	return d.launch("activate", d.runs(a.N), work{d.moved(4 * a.N), 0}, zLo, zHi, lo, hi,
		int(a.Activation.Kind), a.Activation.SlopeLo, a.Activation.SlopeHi, a.N)
}

// runs is the number of tasks of an elementwise kernel.
func (d *Device) runs(n int) int { return up(n, d.shape.Lanes*d.shape.Run) }

// Relax is defined in bound.Relax.
func (d *Device) Relax(a bound.Relax) error {
	aLo, bLo := d.array(a.Lo.A, a.N, "Relax.Lo.A"), d.array(a.Lo.B, a.N, "Relax.Lo.B")
	aHi, bHi := d.array(a.Hi.A, a.N, "Relax.Hi.A"), d.array(a.Hi.B, a.N, "Relax.Hi.B")
	e := d.array(a.Err, a.N, "Relax.Err")
	lo, hi := d.interval(a.Pre, a.N, "Relax.Pre")
	mag := d.array(a.Mag, a.N, "Relax.Mag")
	return d.launch("relax", d.runs(a.N), work{d.moved(8 * a.N), 0}, aLo, bLo, aHi, bHi, e, lo, hi, mag,
		int(a.Kind), a.SlopeLo, a.SlopeHi, a.Charge.G1, a.Charge.G2, a.N)
}

// RelaxRows is defined in bound.RelaxRows.
func (d *Device) RelaxRows(a bound.RelaxRows) error {
	rows, boxes, n := a.Rows(), up(a.P, a.PerBox), a.P*a.N
	outA, outC := d.array(a.A, n*rows, "RelaxRows.A"), d.array(a.C, a.P*rows, "RelaxRows.C")
	sLo := d.array(a.S.Lo, boxes*a.N*a.Cols, "RelaxRows.S.Lo")
	var sHi, cHi *array
	if !a.NonNeg || a.Mirrored {
		sHi = d.array(a.S.Hi, boxes*a.N*a.Cols, "RelaxRows.S.Hi")
	}
	cLo := d.array(a.CIn.Lo, boxes*a.Cols, "RelaxRows.CIn.Lo")
	if a.Mirrored {
		cHi = d.array(a.CIn.Hi, boxes*a.Cols, "RelaxRows.CIn.Hi")
	}
	zLo, zHi := d.interval(a.Z, n, "RelaxRows.Z")
	aLo, bLo := d.array(a.Lo.A, n, "RelaxRows.Lo.A"), d.array(a.Lo.B, n, "RelaxRows.Lo.B")
	aHi, bHi := d.array(a.Hi.A, n, "RelaxRows.Hi.A"), d.array(a.Hi.B, n, "RelaxRows.Hi.B")
	e, mag := d.array(a.Err, n, "RelaxRows.Err"), d.array(a.Mag, n, "RelaxRows.Mag")
	tasks := a.P * up(a.Cols, d.shape.Lanes) * (rows / a.Cols)
	w := work{d.moved(n*rows + 2*boxes*a.N*a.Cols + 8*n), 5 * int64(n) * int64(rows)}
	return d.launch("relaxrows", tasks, w, outA, outC, sLo, sHi, cLo, cHi, zLo, zHi, aLo, bLo, aHi, bHi, e, mag,
		a.Round.Rel, a.Round.Chord, a.Round.Under, a.Round.Abs, a.Mirrored, a.NonNeg, a.PerBox, a.Cols, a.N)
}

// BackSubstitute is defined in bound.BackSubstitute.
func (d *Device) BackSubstitute(a bound.BackSubstitute) error {
	if d.tiles(a.PerBox*a.R, a.In) {
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
	return d.launch(kernel, tasks, w, sLo, sHi, c, rows, cIn, wLo, wHi, bLo, bHi,
		sHi != nil, a.P, a.PerBox, a.R, a.In, a.Out)
}

// Concretize is defined in bound.Concretize.
func (d *Device) Concretize(a bound.Concretize) error {
	bnd := d.array(a.Bound, a.P*a.R, "Concretize.Bound")
	sLo := d.array(a.S.Lo, a.P*a.In*a.R, "Concretize.S.Lo")
	var sHi *array
	if !a.NonNeg {
		sHi = d.array(a.S.Hi, a.P*a.In*a.R, "Concretize.S.Hi")
	}
	c := d.array(a.C, a.P*a.R, "Concretize.C")
	xLo, xHi := d.interval(a.X, a.Inputs*a.In, "Concretize.X")
	both := 2
	if a.NonNeg {
		both = 1
	}
	w := work{d.moved(both*a.P*a.In*a.R + 2*a.P*a.R), 4 * int64(a.P) * int64(a.In) * int64(a.R)}
	return d.launch("concretize", a.P*up(a.R, d.shape.Lanes), w, bnd, sLo, sHi, c, xLo, xHi,
		a.Round.Rel, a.Round.Under, a.Round.Abs, a.NonNeg, a.R, a.In, a.Inputs)
}

// Intersect is defined in bound.Intersect.
func (d *Device) Intersect(a bound.Intersect) error {
	lo, hi := d.interval(a.Pre, a.P*a.N, "Intersect.Pre")
	bnd := d.array(a.Bound, a.P*2*a.N, "Intersect.Bound")
	return d.launch("intersect", a.P*d.runs(a.N), work{d.moved(6 * a.P * a.N), 0}, lo, hi, bnd, a.N)
}
