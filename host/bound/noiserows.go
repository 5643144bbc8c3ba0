package bound

import "psafe/host/arith"

// NoiseRows adds the noise of one layer to rows, docs/theory.md (11) and (12):
//
//	s_j          = S[p][j][r] + Round.Delta, at least the variance of row r's coefficient of z_j
//	Mean[p][r]  >= MeanIn[p][r % Cols] + sqrt(2/pi) sum_j sqrt(s_j) Radius[x][j]
//	Var[p][r]   >= VarIn[p][r % Cols] + sum_j s_j MaxSq[x][j] + C[p][r]
//
// with x = p % Inputs. Inputs whose Radius and MaxSq are 0 add nothing, whatever S is of them. S and C
// are what BackSubstitute makes of squared rows and of the variances of weights and biases, rounded to
// nearest: Round pays for that. All numbers are >= 0; any other that is not finite makes the result +Inf.
//
// Radius bounds |z_j(x) - z_j(centre)|, MaxSq bounds z_j(x)^2 over T.
type NoiseRows struct {
	Mean, Var      Array // out [P x R]
	MeanIn, VarIn  Array // [P x Cols], nil for 0
	S              Array // [P x In x R]
	C              Array // [P x R]
	Radius, MaxSq  Array // [Inputs x In]
	P, R, Cols, In int
	Inputs         int
	Round          NoiseRounding
}

// Arrays implements Operation.
func (a NoiseRows) Arrays(l *Arrays) {
	item, input, row, column := Dim{"item", a.P}, Dim{"input", a.In}, Dim{"row", a.R}, Dim{"row before", a.Cols}
	l.Out("mean", a.Mean, item, row)
	l.Out("var", a.Var, item, row)
	l.InIf(a.MeanIn != nil, "meanIn", a.MeanIn, item, column)
	l.InIf(a.MeanIn != nil, "varIn", a.VarIn, item, column)
	l.In("s", a.S, item, input, row)
	l.In("c", a.C, item, row)
	l.In("radius", a.Radius, Dim{"input box", a.Inputs}, input)
	l.In("maxSq", a.MaxSq, Dim{"input box", a.Inputs}, input)
}

// NoiseRounding holds the constants of NoiseRows.
type NoiseRounding struct {
	// Delta covers products that underflow in S.
	Delta float64
	// MeanRel is sqrt(2/pi) times an inflation, VarRel an inflation, for the
	// rounding of S, of C and of the sums.
	MeanRel, VarRel float64
	// Abs covers what is left of underflow.
	Abs float64
}

// NoiseRounding returns the constants of NoiseRows for rows of in inputs whose S is
// a sum over out neurons.
//
// With g = g_(roundings(out)+8): the exact sum for S is at most (S + Delta)(1 + g),
// as each term of S meets roundings(out) roundings and a product of two numbers may
// lose eta/2 to underflow, out times; C meets two more, and down of eta, which Abs
// covers. The root of 1 + g is below 1 + g. A term of Mean and Var then meets a sum
// of Delta, a product, and roundings(in).
func (p Precision) NoiseRounding(in, out int) NoiseRounding {
	return p.noiseRounding(in, roundings(out), out)
}

// noiseRounding is NoiseRounding where each number of S, and of C, is a sum of at most out products, which
// meet at most below roundings.
func (p Precision) noiseRounding(in, below, out int) NoiseRounding {
	inflate := p.inflateFor(roundings(in)+4, 2*in)
	rel := inflate.Rel * (1 + p.gamma(below+8)) * (1 + 0x1p-50)
	return NoiseRounding{
		Delta:   p.RoundHi(float64(2*out+8) * p.Eta()),
		MeanRel: p.RoundHi(rel * arith.Sqrt2OverPiUp * (1 + 0x1p-50)),
		VarRel:  p.RoundHi(rel),
		Abs:     p.RoundHi(float64(8*(in+out)+64) * p.Eta()),
	}
}
