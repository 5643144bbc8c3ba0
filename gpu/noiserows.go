package gpu

import (
	"fmt"
	"math"

	"psafe/host/bound"
)

// The operations of concentration LBP, one launch each.

// SquareRows is defined in bound.SquareRows.
func (d *Device) SquareRows(a bound.SquareRows) error {
	square, v := d.array(a.Square, a.N, "SquareRows.Square"), d.array(a.A, a.N, "SquareRows.A")
	if a.N > math.MaxInt32 {
		return fmt.Errorf("squarerows: %d coefficients are more than a kernel counts: a network this wide needs fewer inputs at a time", a.N)
	}
	return d.launch("squarerows", d.runs(a.N), work{d.moved(2 * a.N), int64(a.N)}, square, v, a.N)
}

// NoiseRows is defined in bound.NoiseRows.
func (d *Device) NoiseRows(a bound.NoiseRows) error {
	mean, variance := d.array(a.Mean, a.P*a.R, "NoiseRows.Mean"), d.array(a.Var, a.P*a.R, "NoiseRows.Var")
	meanIn := d.optional(a.MeanIn, a.P*a.Cols, "NoiseRows.MeanIn")
	varIn := d.optional(a.VarIn, a.P*a.Cols, "NoiseRows.VarIn")
	s, c := d.array(a.S, a.P*a.In*a.R, "NoiseRows.S"), d.array(a.C, a.P*a.R, "NoiseRows.C")
	radius, maxSq := d.array(a.Radius, a.Inputs*a.In, "NoiseRows.Radius"), d.array(a.MaxSq, a.Inputs*a.In, "NoiseRows.MaxSq")
	// A root is counted as one operation.
	w := work{d.moved(a.P*a.In*a.R + 5*a.P*a.R), 5 * int64(a.P) * int64(a.In) * int64(a.R)}
	return d.launch("noiserows", a.P*up(a.R, d.shape.Lanes), w, mean, variance, meanIn, varIn, s, c, radius, maxSq, meanIn != nil,
		a.Round.Delta, a.Round.MeanRel, a.Round.VarRel, a.Round.Abs, a.R, a.Cols, a.In, a.Inputs)
}

// Widen is defined in bound.Widen.
func (d *Device) Widen(a bound.Widen) error {
	lo, hi := d.array(a.Lower, a.N, "Widen.Lower"), d.optional(a.Upper, a.N, "Widen.Upper")
	mag := d.optional(a.Mag, a.N, "Widen.Mag")
	mean, variance := d.array(a.Mean, a.N, "Widen.Mean"), d.array(a.Var, a.N, "Widen.Var")
	return d.launch("widen", d.runs(a.N), work{d.moved(8 * a.N), 0}, lo, hi, mag, mean, variance, a.Quantile, hi != nil, mag != nil, a.N)
}

// Vary is defined in bound.Vary.
func (d *Device) Vary(a bound.Vary) error {
	radius, radiusSq := d.array(a.Radius, a.N, "Vary.Radius"), d.array(a.RadiusSq, a.N, "Vary.RadiusSq")
	maxSq := d.array(a.MaxSq, a.N, "Vary.MaxSq")
	zLo, zHi := d.interval(a.Z, a.N, "Vary.Z")
	mean, variance := d.array(a.Mean, a.N, "Vary.Mean"), d.array(a.Var, a.N, "Vary.Var")
	return d.launch("vary", d.runs(a.N), work{d.moved(7 * a.N), 0}, radius, radiusSq, maxSq, zLo, zHi, mean, variance,
		a.Quantile, a.Lipschitz, a.N)
}
