package lockstep

import "psafe/host/bound"

// Each operation: the arrays of either device in place of the pairs. A new operation
// has its method here, or Device does not compile.

var _ bound.Device = (*Device)(nil)

func (d *Device) DrawBox(a bound.DrawBox) error {
	return both(d, a, func(a bound.DrawBox, s side) bound.DrawBox {
		a.Box, a.Centre, a.Unit, a.Gamma = s.interval(a.Box), s.interval(a.Centre), s.array(a.Unit), s.array(a.Gamma)
		return a
	}, [2]func(bound.DrawBox) error{d.a.DrawBox, d.b.DrawBox})
}

func (d *Device) MergeRows(a bound.MergeRows) error {
	return both(d, a, func(a bound.MergeRows, s side) bound.MergeRows {
		a.W, a.B, a.Weight, a.Bias = s.interval(a.W), s.interval(a.B), s.interval(a.Weight), s.interval(a.Bias)
		a.C, a.D, a.Round = s.interval(a.C), s.interval(a.D), s.array(a.Round)
		return a
	}, [2]func(bound.MergeRows) error{d.a.MergeRows, d.b.MergeRows})
}

func (d *Device) Affine(a bound.Affine) error {
	return both(d, a, func(a bound.Affine, s side) bound.Affine {
		a.Pre, a.Mag, a.W, a.B, a.Z = s.interval(a.Pre), s.array(a.Mag), s.interval(a.W), s.interval(a.B), s.interval(a.Z)
		return a
	}, [2]func(bound.Affine) error{d.a.Affine, d.b.Affine})
}

func (d *Device) Activate(a bound.Activate) error {
	return both(d, a, func(a bound.Activate, s side) bound.Activate {
		a.Z, a.Pre = s.interval(a.Z), s.interval(a.Pre)
		return a
	}, [2]func(bound.Activate) error{d.a.Activate, d.b.Activate})
}

func (d *Device) Relax(a bound.Relax) error {
	return both(d, a, func(a bound.Relax, s side) bound.Relax {
		a.Lo, a.Hi, a.Err, a.Pre, a.Mag = s.line(a.Lo), s.line(a.Hi), s.array(a.Err), s.interval(a.Pre), s.array(a.Mag)
		a.Upper = s.interval(a.Upper)
		return a
	}, [2]func(bound.Relax) error{d.a.Relax, d.b.Relax})
}

func (d *Device) RelaxRows(a bound.RelaxRows) error {
	return both(d, a, func(a bound.RelaxRows, s side) bound.RelaxRows {
		a.A, a.C, a.S, a.CIn, a.Z = s.array(a.A), s.array(a.C), s.interval(a.S), s.interval(a.CIn), s.interval(a.Z)
		a.Lo, a.Hi, a.Err, a.Mag = s.line(a.Lo), s.line(a.Hi), s.array(a.Err), s.array(a.Mag)
		return a
	}, [2]func(bound.RelaxRows) error{d.a.RelaxRows, d.b.RelaxRows})
}

func (d *Device) BackSubstitute(a bound.BackSubstitute) error {
	return both(d, a, func(a bound.BackSubstitute, s side) bound.BackSubstitute {
		a.S, a.C, a.A, a.CIn, a.W, a.B = s.interval(a.S), s.array(a.C), s.array(a.A), s.array(a.CIn), s.interval(a.W), s.interval(a.B)
		return a
	}, [2]func(bound.BackSubstitute) error{d.a.BackSubstitute, d.b.BackSubstitute})
}

func (d *Device) Concretize(a bound.Concretize) error {
	return both(d, a, func(a bound.Concretize, s side) bound.Concretize {
		a.Bound, a.S, a.C, a.X = s.array(a.Bound), s.interval(a.S), s.array(a.C), s.interval(a.X)
		return a
	}, [2]func(bound.Concretize) error{d.a.Concretize, d.b.Concretize})
}

func (d *Device) Intersect(a bound.Intersect) error {
	return both(d, a, func(a bound.Intersect, s side) bound.Intersect {
		a.Pre, a.Bound = s.interval(a.Pre), s.array(a.Bound)
		return a
	}, [2]func(bound.Intersect) error{d.a.Intersect, d.b.Intersect})
}

func (d *Device) SquareRows(a bound.SquareRows) error {
	return both(d, a, func(a bound.SquareRows, s side) bound.SquareRows {
		a.Square, a.A = s.array(a.Square), s.array(a.A)
		return a
	}, [2]func(bound.SquareRows) error{d.a.SquareRows, d.b.SquareRows})
}

func (d *Device) NoiseRows(a bound.NoiseRows) error {
	return both(d, a, func(a bound.NoiseRows, s side) bound.NoiseRows {
		a.Mean, a.Var, a.MeanIn, a.VarIn = s.array(a.Mean), s.array(a.Var), s.array(a.MeanIn), s.array(a.VarIn)
		a.S, a.C, a.Radius, a.MaxSq = s.array(a.S), s.array(a.C), s.array(a.Radius), s.array(a.MaxSq)
		return a
	}, [2]func(bound.NoiseRows) error{d.a.NoiseRows, d.b.NoiseRows})
}

func (d *Device) Widen(a bound.Widen) error {
	return both(d, a, func(a bound.Widen, s side) bound.Widen {
		a.Lower, a.Upper, a.Mag = s.array(a.Lower), s.array(a.Upper), s.array(a.Mag)
		a.Mean, a.Var = s.array(a.Mean), s.array(a.Var)
		return a
	}, [2]func(bound.Widen) error{d.a.Widen, d.b.Widen})
}

func (d *Device) Vary(a bound.Vary) error {
	return both(d, a, func(a bound.Vary, s side) bound.Vary {
		a.Radius, a.RadiusSq, a.MaxSq = s.array(a.Radius), s.array(a.RadiusSq), s.array(a.MaxSq)
		a.Z, a.Mean, a.Var = s.interval(a.Z), s.array(a.Mean), s.array(a.Var)
		return a
	}, [2]func(bound.Vary) error{d.a.Vary, d.b.Vary})
}

func (d *Device) PoolStar(a bound.PoolStar) error {
	return both(d, a, func(a bound.PoolStar, s side) bound.PoolStar {
		a.Slot, a.Unit, a.Pre, a.Members = s.array(a.Slot), s.array(a.Unit), s.interval(a.Pre), s.array(a.Members)
		return a
	}, [2]func(bound.PoolStar) error{d.a.PoolStar, d.b.PoolStar})
}

func (d *Device) PoolLines(a bound.PoolLines) error {
	return both(d, a, func(a bound.PoolLines, s side) bound.PoolLines {
		a.Lower, a.Upper, a.Err, a.V, a.Above = s.line(a.Lower), s.line(a.Upper), s.array(a.Err), s.interval(a.V), s.interval(a.Above)
		a.Star = s.interval(a.Star)
		a.MagOut, a.RadiusOut, a.Pre, a.Mag, a.Radius = s.array(a.MagOut), s.array(a.RadiusOut), s.interval(a.Pre), s.array(a.Mag), s.array(a.Radius)
		a.Members, a.Slot, a.Lead = s.array(a.Members), s.array(a.Slot), s.array(a.Lead)
		return a
	}, [2]func(bound.PoolLines) error{d.a.PoolLines, d.b.PoolLines})
}

func (d *Device) Gather(a bound.Gather) error {
	return both(d, a, func(a bound.Gather, s side) bound.Gather {
		a.Out, a.In, a.Index = s.array(a.Out), s.array(a.In), s.array(a.Index)
		return a
	}, [2]func(bound.Gather) error{d.a.Gather, d.b.Gather})
}

func (d *Device) GatherSum(a bound.GatherSum) error {
	return both(d, a, func(a bound.GatherSum, s side) bound.GatherSum {
		a.Out, a.In, a.Start, a.Entry = s.array(a.Out), s.array(a.In), s.array(a.Start), s.array(a.Entry)
		a.Slot, a.Select = s.array(a.Slot), s.array(a.Select)
		return a
	}, [2]func(bound.GatherSum) error{d.a.GatherSum, d.b.GatherSum})
}

func (d *Device) PlaceRows(a bound.PlaceRows) error {
	return both(d, a, func(a bound.PlaceRows, s side) bound.PlaceRows {
		a.S, a.C, a.W, a.B = s.interval(a.S), s.interval(a.C), s.interval(a.W), s.interval(a.B)
		a.Taps, a.Unit, a.Other = s.array(a.Taps), s.array(a.Unit), s.array(a.Other)
		return a
	}, [2]func(bound.PlaceRows) error{d.a.PlaceRows, d.b.PlaceRows})
}

func (d *Device) PairNoise(a bound.PairNoise) error {
	return both(d, a, func(a bound.PairNoise, s side) bound.PairNoise {
		a.Sum, a.SumIn, a.V, a.Z = s.array(a.Sum), s.array(a.SumIn), s.array(a.V), s.interval(a.Z)
		a.Taps, a.Unit, a.Other = s.array(a.Taps), s.array(a.Unit), s.array(a.Other)
		return a
	}, [2]func(bound.PairNoise) error{d.a.PairNoise, d.b.PairNoise})
}

func (d *Device) SharedVar(a bound.SharedVar) error {
	return both(d, a, func(a bound.SharedVar, s side) bound.SharedVar {
		a.Var, a.VarIn, a.G, a.A = s.array(a.Var), s.array(a.VarIn), s.interval(a.G), s.array(a.A)
		a.V, a.VB, a.MaxSq = s.array(a.V), s.array(a.VB), s.array(a.MaxSq)
		return a
	}, [2]func(bound.SharedVar) error{d.a.SharedVar, d.b.SharedVar})
}

func (d *Device) ShareBox(a bound.ShareBox) error {
	return both(d, a, func(a bound.ShareBox, s side) bound.ShareBox {
		a.W, a.C, a.CIn, a.G, a.A = s.array(a.W), s.array(a.C), s.array(a.CIn), s.interval(a.G), s.array(a.A)
		a.Weight, a.Bias, a.MaxSq = s.interval(a.Weight), s.interval(a.Bias), s.array(a.MaxSq)
		return a
	}, [2]func(bound.ShareBox) error{d.a.ShareBox, d.b.ShareBox})
}

func (d *Device) ShareRows(a bound.ShareRows) error {
	return both(d, a, func(a bound.ShareRows, s side) bound.ShareRows {
		a.S, a.A, a.W = s.array(a.S), s.array(a.A), s.array(a.W)
		return a
	}, [2]func(bound.ShareRows) error{d.a.ShareRows, d.b.ShareRows})
}

func (d *Device) SplitRows(a bound.SplitRows) error {
	return both(d, a, func(a bound.SplitRows, s side) bound.SplitRows {
		a.A, a.C, a.S, a.CIn, a.Z = s.array(a.A), s.array(a.C), s.array(a.S), s.array(a.CIn), s.interval(a.Z)
		a.Slope, a.Phase, a.Beta = s.array(a.Slope), s.array(a.Phase), s.array(a.Beta)
		a.Hi, a.Mag = s.line(a.Hi), s.array(a.Mag)
		return a
	}, [2]func(bound.SplitRows) error{d.a.SplitRows, d.b.SplitRows})
}
