package ontop

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// exact is the covariance of a row of the last layer in rational numbers.
func exact(post *posterior.Posterior, c []float64) [][]*big.Rat {
	last := len(post.Layers) - 1
	var cov *posterior.Covariance
	if all := post.Covariances(); all != nil {
		cov = all[last]
	}
	return sumtest.RowCovariance(&post.Layers[last], cov, c)
}

// randomCell is a cell of in inputs, of which it knows what it says: slopes, and intervals that hold the
// lines' ends.
func randomCell(r *rand.Rand, n, in int, width float64) *Cell {
	c := &Cell{radius: make([]float64, in), lo: make([]float64, n), hi: make([]float64, n)}
	for k := range c.radius {
		c.radius[k] = width * r.Float64()
	}
	for j := range n {
		slope := make([]float64, in)
		moves := 0.0
		for k := range slope {
			slope[k] = r.NormFloat64()
			moves += math.Abs(slope[k]) * c.radius[k]
		}
		at, gap := r.NormFloat64(), width*r.Float64()
		c.lower, c.upper = append(c.lower, line{at, slope}), append(c.upper, line{at + gap, slope})
		c.lo[j], c.hi[j] = at-moves*r.Float64(), at+gap+moves*r.Float64()
	}
	return c
}

// TestRow: the covariance of a row, and what is said of its form over a cell, enclose the exact ones; at a
// point both are tight, and the tail is that of the normal distribution.
func TestRow(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 11))
	for i := range testscale.Cases(t, 300) {
		n, out := 1+r.IntN(4), 1+r.IntN(3)
		post := sumtest.RandomOnTop(r, network.Activation{Kind: network.ReLU}, math.Exp2(float64(r.IntN(12)-8)), 2, n, out)
		top, err := New(post)
		if err != nil {
			continue // nothing of it is random, or nothing normal
		}
		row := property.Row{CLo: make([]float64, out), D: r.NormFloat64()}
		for o := range row.CLo {
			row.CLo[o] = r.NormFloat64()
		}
		row.CHi, row.DHi = row.CLo, row.D
		k, known := exact(post, row.CLo), top.Row(&row)
		cell := randomCell(r, n, 2, float64(i%2))
		f := known.form(cell)
		v := known.varianceOf(f)
		above := func(hi float64, x *big.Rat) bool { return new(big.Rat).SetFloat64(hi).Cmp(x) >= 0 }
		for j := range n + 1 {
			if m := known.Marginal[j]; !above(m*m*(1+0x1p-50), k[j][j]) {
				t.Fatalf("%d: marginal %v, exactly %v", i, m, k[j][j].FloatString(20))
			}
		}
		// Points of the cell between its lines, and in its intervals.
		for range 30 {
			p := append(make([]float64, n), 1)
			d := []float64{cell.radius[0] * (2*r.Float64() - 1), cell.radius[1] * (2*r.Float64() - 1)}
			inside := true
			for j := range n {
				p[j] = f.at[j] + f.slope[j][0]*d[0] + f.slope[j][1]*d[1] + f.half[j]*float64(r.IntN(3)-1)*0.999999
				inside = inside && p[j] >= cell.lo[j] && p[j] <= cell.hi[j]
			}
			if exactly := sumtest.Form(k, p); inside && (!above(v.Hi, exactly) || new(big.Rat).SetFloat64(v.Lo).Cmp(exactly) > 0) {
				t.Fatalf("%d %s: variance %v at a point, bounds %v", i, post.Describe(), exactly.FloatString(20), v)
			}
		}
		if i%2 > 0 {
			continue
		}
		p := append(append([]float64(nil), f.at...), 1)
		variance, _ := sumtest.Form(k, p).Float64()
		if v.Hi > variance*(1+1e-8)+1e-100 || v.Lo < variance*(1-1e-8)-1e-100 { // terms of both signs cancel
			t.Errorf("%d %s: variance %v at the point, bounds %v", i, post.Describe(), variance, v)
		}
		mean := row.D
		for o, c := range row.CLo {
			l := &post.Layers[1]
			mean += c * l.Bias.Mean[o]
			for j := range n {
				mean += c * l.Weight.Mean[j*out+o] * p[j]
			}
		}
		z := mean / math.Sqrt(variance)
		tail, met := known.TailUp(cell, false), known.TailUp(cell, true)
		if z > 1e-6 && z < 30 && (tail < gauss.TailDown(z*(1+1e-12)) || tail > gauss.TailUp(z*(1-1e-6))) || z < -1e-6 && tail != 1 {
			t.Errorf("%d: tail %v at z = %v, want %v", i, tail, z, gauss.TailUp(z))
		}
		law := known.Law(cell)
		for k := 1; k < len(law.Above); k += 21 {
			if below := gauss.TailDown(law.Step * float64(k) / math.Sqrt(variance) * (1 + 1e-9)); law.Above[k] < below || law.Above[k] > below*(1+1e-6)+1e-15 || math.Abs(law.Top-mean) > 1e-9*(1+math.Abs(mean)) {
				t.Errorf("%d: %v deviations below %v: %v, it is %v below %v", i, law.Step*float64(k)/math.Sqrt(variance), law.Top, law.Above[k], below, mean)
			}
		}
		if z < -1e-6 && z > -30 && (met < 1-gauss.TailUp(-z*(1-1e-12)) || met > 1-gauss.TailDown(-z*(1+1e-6))+1e-12) {
			t.Errorf("%d: tail %v at a point at z = %v, want %v", i, met, z, 1-gauss.TailUp(-z))
		}
	}
}

// TestMean: the mean of the row's least value over a cell, drawn, is not below what is said of it.
func TestMean(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 12))
	for i := range testscale.Cases(t, 60) {
		n, out := 1+r.IntN(3), 1+r.IntN(2)
		post := sumtest.RandomOnTop(r, network.Activation{Kind: network.ReLU}, 0.3, 2, n, out)
		top, err := New(post)
		if err != nil {
			continue
		}
		row := property.Row{CLo: make([]float64, out), D: 1, DHi: 1}
		for o := range row.CLo {
			row.CLo[o] = r.NormFloat64()
		}
		row.CHi = row.CLo
		known := top.Row(&row)
		f := known.form(randomCell(r, n, 2, 1))
		const draws = 2000
		w, sum, square := post.NewWeights(), 0.0, 0.0
		for d := range draws {
			post.Draw(uint64(i), d, w)
			least := row.D
			for o, c := range row.CLo {
				least += c * w[3][o]
			}
			along := make([]float64, 2)
			for j := range n {
				a := 0.0
				for o, c := range row.CLo {
					a += c * w[2][j*out+o]
				}
				least += a*f.at[j] - math.Abs(a)*f.half[j]
				along[0], along[1] = along[0]+a*f.slope[j][0], along[1]+a*f.slope[j][1]
			}
			least -= math.Abs(along[0])*f.radius[0] + math.Abs(along[1])*f.radius[1]
			sum, square = sum+least, square+least*least
		}
		mean := sum / draws
		err2 := 5 * math.Sqrt((square/draws-mean*mean)/draws)
		if got := known.meanDown(f); got > mean+err2 || got < mean-err2-1e-9 {
			t.Errorf("%d %s: mean %v, drawn %v +- %v", i, post.Describe(), got, mean, err2)
		}
		if got, want := known.meanDown(f), meanOf(post, &row, f); got > want+1e-12*(1+math.Abs(want)) || got < want-1e-9*(1+math.Abs(want)) {
			t.Errorf("%d %s: mean %v, by the formula %v", i, post.Describe(), got, want)
		}
	}
}

// meanOf is (93) from the exact covariance, with E|A| = sd sqrt(2/pi) exp(-m^2/2sd^2) + m erf(m/(sd sqrt 2)).
func meanOf(post *posterior.Posterior, row *property.Row, f *form) float64 {
	l, k, n, out := &post.Layers[1], exact(post, row.CLo), len(f.at), len(row.CLo)
	mean := row.D
	coefficients := make([]float64, n)
	for o, c := range row.CLo {
		mean += c * l.Bias.Mean[o]
		for j := range n {
			coefficients[j] += c * l.Weight.Mean[j*out+o]
		}
	}
	size := func(of []float64) float64 { // E |sum_j A_j of_j|
		m := 0.0
		for j, a := range coefficients {
			m += a * of[j]
		}
		variance, _ := sumtest.Form(k, append(of, 0)).Float64()
		if variance == 0 {
			return math.Abs(m)
		}
		z := m / math.Sqrt(variance)
		return math.Sqrt(variance*2/math.Pi)*math.Exp(-z*z/2) + m*math.Erf(z/math.Sqrt2)
	}
	for j, a := range coefficients {
		unit := make([]float64, n)
		unit[j] = 1
		mean += a*f.at[j] - f.half[j]*size(unit)
	}
	for i, radius := range f.radius {
		slopes := make([]float64, n)
		for j := range slopes {
			slopes[j] = f.slope[j][i]
		}
		mean -= radius * size(slopes)
	}
	return mean
}

// TestCell: the lines of a cell are at or below the least that a device's coefficients leave, in rational
// numbers, at points of boxes whose ends the device has rounded.
func TestCell(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 15))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range testscale.Cases(t, 300) {
		const n, in = 2, 2
		l := &bound.InputLines{Items: 1, Rows: 2 * n, In: in, Loose: float64(i%2) * 0x1p-20}
		var box property.Box
		for range in {
			lo := r.NormFloat64()
			box.Lo, box.Hi = append(box.Lo, lo), append(box.Hi, lo+r.Float64()*float64(r.IntN(3)))
		}
		for range 2 * n {
			l.Lo = append(l.Lo, r.NormFloat64())
		}
		for range in * 2 * n {
			a := r.NormFloat64()
			l.ALo, l.AHi = append(l.ALo, a), append(l.AHi, a+r.Float64()*float64(r.IntN(2))*1e-3)
		}
		cell := NewCell(l, 0, n, box, bound.Float32)
		for range 8 {
			var x [in]float64
			for k := range x {
				x[k] = []float64{box.Lo[k], box.Hi[k], property.Middle(box.Lo[k], box.Hi[k])}[r.IntN(3)]
			}
			for row := range 2 * n {
				know, is, sign := rat(l.Lo[row]), new(big.Rat), rat(1)
				line := cell.lower
				if row >= n {
					line, sign = cell.upper, rat(-1)
				}
				is.Add(is, rat(line[row%n].at))
				for k, v := range x {
					e := k*2*n + row
					least := func(x float64) *big.Rat {
						a, b := new(big.Rat).Mul(rat(l.ALo[e]), rat(x)), new(big.Rat).Mul(rat(l.AHi[e]), rat(x))
						if a.Cmp(b) < 0 {
							return a
						}
						return b
					}
					least1, least2 := least(bound.Float32.RoundLo(box.Lo[k])), least(bound.Float32.RoundHi(box.Hi[k]))
					if least1.Cmp(least2) > 0 {
						least1 = least2
					}
					know.Add(know, least(v)).Sub(know, least1)
					loose := rat(l.Loose * max(math.Abs(l.ALo[e]), math.Abs(l.AHi[e])) * (1 - 0x1p-50))
					know.Sub(know, loose.Mul(loose, rat(math.Abs(v))))
					from := new(big.Rat).Sub(rat(v), rat(property.Middle(box.Lo[k], box.Hi[k])))
					is.Add(is, from.Mul(from, rat(line[row%n].slope[k])))
				}
				if is.Mul(is, sign).Cmp(know) > 0 {
					t.Fatalf("%d: row %d is at least %v at %v, the line there %v", i, row, know.FloatString(20), x, is.FloatString(20))
				}
			}
		}
	}
}
