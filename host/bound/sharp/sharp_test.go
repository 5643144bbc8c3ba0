package sharp

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testscale"
	"psafe/internal/vector"
)

// exact holds what docs/theory.md, section 3.5, says of one row of an item, in 300 bits.
type exact struct {
	post  *posterior.Posterior
	first int
	d     *Rows
	r     *Reach
	row   int
}

func exactly(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

func times(list ...*big.Float) *big.Float {
	p := exactly(1)
	for _, x := range list {
		p.Mul(p, x)
	}
	return p
}

func plus(list ...*big.Float) *big.Float {
	s := exactly(0)
	for _, x := range list {
		s.Add(s, x)
	}
	return s
}

func root(x *big.Float) *big.Float { return new(big.Float).SetPrec(300).Sqrt(x) }

// overPi is 2/pi.
var overPi, _ = new(big.Float).SetPrec(300).SetString("0.636619772367581343075535053490057448137838582961825794990669376")

// square of the row's coefficient of pre-activation i of layer l.
func (x *exact) square(l, i int) *big.Float {
	switch {
	case l < x.d.Top:
		a := exactly(x.d.A[l][i*x.d.Rows+x.row])
		return times(a, a)
	case x.d.Squares != nil:
		return exactly(x.d.Squares[i*x.d.Rows+x.row])
	case i == x.row%x.post.Layers[l].Outputs():
		return exactly(1)
	}
	return exactly(0)
}

// spread is s_j^2 of layer l.
func (x *exact) spread(l, j int) *big.Float {
	s, out := exactly(0), x.post.Layers[l].Outputs()
	for i := range out {
		sd := exactly(x.post.Layers[l].Weight.SdHi[j*out+i])
		s.Add(s, times(x.square(l, i), sd, sd))
	}
	return s
}

func (x *exact) plain(l int) (mean, variance *big.Float) {
	mean, variance = exactly(0), exactly(0)
	for j := range x.post.Layers[l].Inputs() {
		s := x.spread(l, j)
		mean.Add(mean, times(root(s), exactly(x.r.Radius[l][j])))
		variance.Add(variance, times(s, exactly(x.r.MaxSq[l][j])))
	}
	for i, b := range x.post.Layers[l].Bias.SdHi {
		variance.Add(variance, times(x.square(l, i), exactly(b), exactly(b)))
	}
	return times(root(overPi), mean), variance
}

// below sums over the weights from input k of layer l-1 to what varies.
func (x *exact) below(l, k int) (means, deviations, largest *big.Float) {
	means, deviations, largest = exactly(0), exactly(0), exactly(0)
	out := x.post.Layers[l-1].Outputs()
	for j := range out {
		if x.r.Still[l][j] {
			continue
		}
		m, sd, s := exactly(x.post.Layers[l-1].Weight.Mean[k*out+j]), exactly(x.post.Layers[l-1].Weight.SdHi[k*out+j]), x.spread(l, j)
		means.Add(means, times(s, m, m))
		deviations.Add(deviations, times(s, sd, sd))
		if v := times(s, sd, sd); v.Cmp(largest) > 0 {
			largest = v
		}
	}
	return means, deviations, largest
}

func (x *exact) through(l int) (mean, moved *big.Float) {
	mean, moved = exactly(0), exactly(0)
	for k := range x.post.Layers[l-1].Inputs() {
		radius := exactly(x.r.Radius[l-1][k])
		m, v, most := x.below(l, k)
		mean.Add(mean, times(radius, root(plus(m, v))))
		moved.Add(moved, times(radius, radius, most))
	}
	return times(root(overPi), mean), root(times(overPi, moved))
}

func (x *exact) overInputs(above bool) (mean, moved *big.Float) {
	mean, moved = exactly(0), exactly(0)
	for k := range x.post.Layers[0].Inputs() {
		radius, own := exactly(x.r.Radius[0][k]), exactly(0)
		m, v, most := exactly(0), exactly(0), exactly(0)
		if x.first == 0 {
			own = x.spread(0, k)
		}
		if above {
			m, v, most = x.below(1, k)
		}
		lo := x.d.Lo[k*x.d.Rows+x.row]
		a := exactly(math.Abs(lo))
		if x.d.Hi != nil {
			hi := x.d.Hi[k*x.d.Rows+x.row]
			a = exactly(max(lo, -hi, 0))
		}
		less := own
		if m.Cmp(own) < 0 {
			less = m
		}
		q := plus(times(a, a), times(overPi, plus(own, m, v)), times(plus(exactly(1), times(exactly(-1), overPi)), less))
		mean.Add(mean, times(radius, plus(root(q), times(exactly(-1), a))))
		moved.Add(moved, times(radius, radius, most))
	}
	return mean, root(times(overPi, moved))
}

func (x *exact) noise() (mean, variance []float64) {
	moved := exactly(0)
	for l := x.d.Top; l >= x.first; l-- {
		m, v := x.plain(l)
		r := plus(root(v), moved)
		v, moved = times(r, r), exactly(0)
		var other, move *big.Float
		switch {
		case l == 0:
			m = exactly(0)
		case l == 1:
			alone, _ := x.overInputs(false)
			m = plus(m, alone)
			other, move = x.overInputs(true)
		default:
			other, move = x.through(l)
		}
		if other != nil && plus(other, move).Cmp(m) < 0 {
			m, moved = other, move
		}
		a, _ := m.Float64()
		b, _ := v.Float64()
		mean, variance = append(mean, a), append(variance, b)
	}
	return mean, variance
}

// TestSharpNoise: what the host says of rows of random networks is what the formulas say, rounded
// up by little.
func TestSharpNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 3))
	some := func(n int, f func() float64) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = f()
		}
		return v
	}
	for c := range testscale.Cases(t, 300) {
		sizes := [][]int{{3, 2, 2}, {2, 3, 2, 2}, {4, 2, 3, 2, 1}}[c%3]
		first := r.IntN(len(sizes) - 1)
		post := &posterior.Posterior{Scale: posterior.ScaleSD}
		deviation := []float64{0.01, 1, 100}[r.IntN(3)]
		for k := range len(sizes) - 1 {
			draw := func(n int) posterior.Params {
				sd := func() float64 { return deviation * r.ExpFloat64() * float64(r.IntN(3)) }
				if k < first {
					sd = func() float64 { return 0 }
				}
				return posterior.NewParams(some(n, r.NormFloat64), some(n, sd), posterior.ScaleSD)
			}
			post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(sizes[k], sizes[k+1], network.Activation{}), Weight: draw(sizes[k] * sizes[k+1]), Bias: draw(sizes[k+1])})
		}
		post.Layers[first].Bias = posterior.NewParams(some(sizes[first+1], r.NormFloat64), some(sizes[first+1], func() float64 { return 0.1 }), posterior.ScaleSD)
		var looks atomic.Int64
		most, stop := int64(math.MaxInt64), errors.New("enough")
		s := New(post, func() error {
			if looks.Add(1) > most {
				return stop
			}
			return nil
		})
		const items = 2
		d := &Rows{Top: len(sizes) - 2, Rows: 3}
		if units := r.IntN(2) == 0 && len(sizes) > 3; units {
			d.Top--
			d.Rows = 2 * sizes[d.Top+1]
		} else {
			d.Squares = some(items*sizes[d.Top+1]*d.Rows, r.ExpFloat64)
		}
		if d.Top < max(1, first) {
			continue
		}
		reached := &Reach{}
		for l := range d.Top + 1 {
			d.A = append(d.A, some(items*sizes[l+1]*d.Rows, r.NormFloat64))
			reached.Radius = append(reached.Radius, some(items*sizes[l], func() float64 { return r.ExpFloat64() * float64(r.IntN(4)) }))
			reached.MaxSq = append(reached.MaxSq, some(items*sizes[l], r.ExpFloat64))
			still := make([]bool, items*sizes[l])
			for j := range still {
				still[j] = r.IntN(4) == 0
			}
			reached.Still = append(reached.Still, still)
		}
		d.Lo = some(items*sizes[0]*d.Rows, r.NormFloat64)
		if r.IntN(2) == 0 {
			d.Hi = make([]float64, len(d.Lo))
			for j, lo := range d.Lo {
				d.Hi[j] = lo + r.ExpFloat64()*float64(r.IntN(2))
			}
			for range items {
				d.NonNeg = append(d.NonNeg, r.IntN(3) == 0)
			}
		}
		other := otherRows(d, r.IntN(70))
		if s.first != first {
			t.Fatalf("noise from layer %d on, it is from %d", s.first, first)
		}
		for item := range items {
			looks.Store(0)
			// Rows of another list beside them change nothing.
			all, err := s.Noise([]*Rows{other, d}, reached, item)
			if err != nil {
				t.Fatal(err)
			}
			mean, variance := all[1].Mean, all[1].Variance
			// Wherever the work has to stop, there is nothing, and it stops at once.
			for r := range other.Rows {
				for l, m := range all[0].Mean {
					if at := r % d.Rows; !d.units() && (m[r] != mean[l][d.Rows-1] || all[0].Variance[l][r] != variance[l][d.Rows-1]) || d.units() && m[at] != mean[l][at] {
						t.Fatalf("case %d item %d: row %d of the other list has another noise than where it is from", c, item, r)
					}
				}
			}
			looked := looks.Swap(0)
			most = r.Int64N(looked)
			parts := partsOf([]*Rows{other, d}, make([]Noise, 2))
			if n, err := s.Noise([]*Rows{other, d}, reached, item); n != nil || err != stop || looks.Load() > most+int64(4*len(sizes)*len(parts)) {
				t.Errorf("stopped after %d of %d looks: %v, %v and %d more", most, looked, n, err, looks.Load()-most)
			}
			if most = math.MaxInt64; looked < int64(len(mean)) {
				t.Errorf("%d looks for %d layers", looked, len(mean))
			}
			for row := range d.Rows {
				x := &exact{post: post, first: first, d: d.item(item, sizes), r: reached.item(item, sizes), row: row}
				m, v := x.noise()
				for l := range m {
					for _, k := range []struct {
						what      string
						got, want float64
					}{{"mean", mean[l][row], m[l]}, {"variance", variance[l][row], v[l]}} {
						if k.got < k.want || k.got > k.want*(1+1e-9)+1e-9 {
							t.Fatalf("case %d item %d row %d: %s of the noise %d from the top is %v, exactly %v", c, item, row, k.what, l, k.got, k.want)
						}
					}
				}
			}
		}
	}
}

// otherRows are so many rows of the same layer as d, or as many as d has of units: copies of its last.
func otherRows(d *Rows, rows int) *Rows {
	if d.units() {
		return d
	}
	copied := func(list []float64) []float64 {
		var all []float64
		for at := d.Rows - 1; at < len(list); at += d.Rows {
			all = append(all, slices.Repeat(list[at:at+1], rows)...)
		}
		return all
	}
	other := &Rows{Top: d.Top, Rows: rows, Squares: append([]float64{}, copied(d.Squares)...), Lo: copied(d.Lo), NonNeg: d.NonNeg}
	if d.Hi != nil {
		other.Hi = copied(d.Hi)
	}
	for _, a := range d.A {
		other.A = append(other.A, copied(a))
	}
	return other
}

// item is one of several.
func (d *Rows) item(p int, sizes []int) *Rows {
	part := func(list []float64, n int) []float64 {
		if list == nil {
			return nil
		}
		return list[p*n : (p+1)*n]
	}
	one := &Rows{Top: d.Top, Rows: d.Rows, Squares: part(d.Squares, sizes[d.Top+1]*d.Rows), Lo: part(d.Lo, sizes[0]*d.Rows), Hi: part(d.Hi, sizes[0]*d.Rows)}
	if d.Hi != nil && d.NonNeg[p] {
		one.Hi = nil // the other end says nothing where no input is negative
	}
	for l, a := range d.A {
		one.A = append(one.A, part(a, sizes[l+1]*d.Rows))
	}
	return one
}

func (r *Reach) item(p int, sizes []int) *Reach {
	one := &Reach{}
	for l := range r.Radius {
		n := sizes[l]
		one.Radius, one.MaxSq, one.Still = append(one.Radius, r.Radius[l][p*n:(p+1)*n]), append(one.MaxSq, r.MaxSq[l][p*n:(p+1)*n]), append(one.Still, r.Still[l][p*n:(p+1)*n])
	}
	return one
}

// TestSharperRefuses: what has no proof is left as it is.
func TestSharperRefuses(t *testing.T) {
	netOf := func(weight float64, act network.Activation, chain bool) *posterior.Posterior {
		one := posterior.NewParams([]float64{weight}, []float64{1}, posterior.ScaleSD)
		post := &posterior.Posterior{Scale: posterior.ScaleSD}
		for _, a := range []network.Activation{act, {}} {
			post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(1, 1, a), Weight: one, Bias: one})
		}
		if !chain {
			post.Layers[1].Layer = network.DenseLayer(2, 1, network.Activation{})
			post.Layers[1].Sources = []int{0, -1}
			post.Layers[1].Weight = posterior.NewParams([]float64{weight, weight}, []float64{1, 1}, posterior.ScaleSD)
		}
		return post
	}
	for _, c := range []struct {
		weight float64
		act    network.Activation
		chain  bool
		serves bool
	}{
		{1, network.Activation{Kind: network.ReLU}, true, true}, {1, network.Activation{Kind: network.Sigmoid}, true, true},
		{1, network.Activation{Kind: network.ReLU}, false, false}, {0x1p60, network.Activation{Kind: network.ReLU}, true, false},
	} {
		if s := New(netOf(c.weight, c.act, c.chain), func() error { return nil }); (s != nil) != c.serves {
			t.Errorf("%+v: %v", c, s)
		}
	}
}

// TestSharpLoops: many sums at a time, with whatever vectors, have the numbers of one at a time.
func TestSharpLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	some := func(n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = r.ExpFloat64() * float64(r.IntN(4))
		}
		return list
	}
	for range testscale.Cases(t, 2000) {
		n, lists, rows := 1+r.IntN(20), 1+r.IntN(9), rowsBeside*(1+r.IntN(3))
		weights, deviations, x, pick := some(lists*n), some(n), some(n*rows), r.Perm(n)[:r.IntN(n+1)]
		want, largest, twice := make([]float64, lists*rows), make([]float64, rows), make([]float64, rows)
		for k := range rows {
			for _, p := range pick {
				for l := range lists {
					want[l*rows+k] += float64(weights[l*n+p] * x[p*rows+k])
				}
				v := float64(deviations[p] * x[p*rows+k])
				twice[k], largest[k] = twice[k]+v, max(largest[k], v)
			}
		}
		half := &linear{means: some(rows), deviations: some(rows), rows: rows}
		if rows%(2*rowsBeside) == 0 && r.IntN(2) == 0 {
			half.rows = rows / 2
		}
		a, own, before, grow := some(rows), some(rows), some(rows), 1+0x1p-40
		ranges := slices.Clone(before)
		for k := range ranges {
			own, p, v := own[k], half.means[k%half.rows], half.deviations[k%half.rows]
			q := float64(a[k]*a[k]) + float64(twoOverPi*(own+p+v)) + float64(restOverPi*min(own, p))
			up := float64(math.Sqrt(float64(q*grow)+Tiny)*(1+0x1p-50)) - a[k]
			ranges[k] += float64(math.Nextafter(up, 9) * 0.7)
		}
		for v := vector.None; v <= vector.Here(); v++ {
			got, both, mean := some(lists*rows), &linear{some(rows), some(rows), some(rows), rows}, slices.Clone(before)
			weighRows(got, weights, pick, x, rows, v)
			weighTwice(both, weights[:n], deviations, pick, x, v)
			(&part{Network: &Network{grow: grow, vectors: v}}).addRanges(mean, a, own, half, 0.7)
			for what, pair := range map[string][2][]float64{
				"sums": {got, want}, "sums again": {both.means, want[:rows]}, "other sums": {both.deviations, twice},
				"largest": {both.largest, largest}, "ranges": {mean, ranges},
			} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Fatalf("%v, %d weights, %d rows: %s %v, want %v", v, n, rows, what, pair[0], pair[1])
				}
			}
		}
	}
}
