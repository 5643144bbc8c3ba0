package grid

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/internal/testkit/sumtest"
)

// TestWalk: the sum over few, wide bins is at least E Phi(X), which is integrated, and near it for
// many.
func TestWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(75, 1))
	var points []struct{ z, mass float64 } // of the midpoint rule
	const step = 0.03
	for z := -7.5 + step/2; z < 7.5; z += step {
		points = append(points, struct{ z, mass float64 }{z, step * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)})
	}
	for trial := range 60 {
		axes := 1 + trial%2
		c := &chance{}
		f := &chanceForm{perSd: 1}
		for j := range axes {
			b, a := -0.02-r.Float64(), 0.02+r.Float64()
			axis := chanceAxis{mean: r.NormFloat64(), before: b, after: a, reach: max(a, -b), kink: a - b}
			for range j + 1 {
				axis.row = append(axis.row, math.Abs(r.NormFloat64()))
			}
			if trial%3 == 0 {
				axis.row[j] *= 0.05 // the second weight is nearly a multiple of the first
			}
			c.axes = append(c.axes, axis)
			f.row, f.bins = append(f.row, r.NormFloat64()), append(f.bins, nil)
		}
		for j := range axes {
			steep := math.Abs(f.row[j])
			for i := j; i < axes; i++ {
				steep += c.axes[i].reach * c.axes[i].row[j]
			}
			f.steep, f.steepSquared = append(f.steep, steep), append(f.steepSquared, steep*steep)
		}
		number := 2 * r.NormFloat64()
		if trial%5 == 0 {
			number -= 5
		}
		var e [2]float64
		var integral func(j int, x float64) float64
		integral = func(j int, x float64) float64 {
			if j == axes {
				return math.Erfc(-x/math.Sqrt2) / 2
			}
			sum := 0.0
			for _, p := range points {
				e[j] = p.z
				y := c.axes[j].mean
				for i, k := range c.axes[j].row {
					y += k * e[i]
				}
				sum += p.mass * integral(j+1, x-f.row[j]*p.z-min(y*c.axes[j].before, y*c.axes[j].after))
			}
			return sum
		}
		want := integral(0, number)
		for k, bins := range standardBins() {
			for j := range f.bins {
				f.bins[j] = bins
			}
			w := walk{c: c, f: f, slope: slopes()}
			for j := range c.axes {
				w.z[0][j] = c.axes[j].mean
			}
			w.axis(0, 1, number, 0, 0, 0)
			if w.sum < want*(1-3e-4)-1e-8 || k > 9 && w.sum > 1.1*want+0.01 {
				t.Errorf("trial %d, %d bins: %v, want %v", trial, len(bins.mass), w.sum, want)
			}
		}
	}
}

// TestPhiTables: the tables are suprema over their cells and, first, over all below.
func TestPhiTables(t *testing.T) {
	curve := func(x float64) float64 { return max(0, -x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)/2) }
	for x := -10.0; x < 9; x += 0.0011 {
		p, q := gauss.PhiUp(x), slopes().curve[phiAt(x)]
		if want := math.Erfc(-x/math.Sqrt2) / 2; p < want || p > want+0.004 {
			t.Fatalf("Phi(%v) is %v, the table has %v", x, want, p)
		}
		if want := curve(x); q < want*(1-1e-12) || q > want+0.004 {
			t.Fatalf("the curve at %v is %v, the table has %v", x, want, q)
		}
	}
}

// TestBins: the masses of bins add up to 1, their means to 0, and their variances, with those of
// the means, to 1.
func TestBins(t *testing.T) {
	for _, b := range standardBins() {
		mass, mean, square := 0.0, 0.0, 0.0
		for k, p := range b.mass {
			mass, mean, square = mass+p, mean+p*b.mean[k], square+p*(b.mean[k]*b.mean[k]+b.variance[k])
		}
		if mass < 1-2e-13 || mass > 1+1e-12 || math.Abs(mean) > 1e-9 || square < 1-1e-10 || square > 1+1e-8 {
			t.Errorf("%d bins: %v, %v, %v", len(b.mass), mass, mean, square)
		}
	}
}

// TestChanceOutside: what is in no bin counts.
func TestChanceOutside(t *testing.T) {
	p := point{x: []float64{1, 1}, beside: make([]arith.Interval, 2), before: []arith.Interval{arith.Exactly(-0.01), arith.Exactly(-0.02)}, after: []arith.Interval{arith.Exactly(0.01), arith.Exactly(0.02)}}
	c := newSum(t, sumtest.OneNeuron(sumtest.Activations[0], []float64{0, 0}, []float64{1, 1}, 0, 1, 1)).chance(&p, 0, false)
	if q, least := c.above(c.most), 2*gauss.TailUp(chanceReach); c.unknown || q < least || q > 10*least {
		t.Errorf("%v, at least %v lies outside", q, least)
	}
}

// TestTilt: the bound of E e^(h D) against the D of mean 0 that makes it largest, and the slopes of
// log Phi.
func TestTilt(t *testing.T) {
	for _, h := range []float64{0.5, 2, 8} {
		for _, r := range []float64{0.01, 0.3, 0.6} {
			for _, v := range []float64{0.01 * r * r, 0.3 * r * r, r * r} {
				p := v / (r*r + v) // D is r or -v/r
				want := p*math.Exp(h*r) + (1-p)*math.Exp(-h*v/r)
				if got := tiltUp(h, v, r); got < want || got > 1+3*(want-1)+3e-10 {
					t.Errorf("h %v, r %v, v %v: %v, want %v", h, r, v, got, want)
				}
			}
		}
	}
	if got := tiltUp(math.Inf(1), 0, 0); !math.IsInf(got, 1) {
		t.Errorf("an unknown slope gives %v", got)
	}
	for x := -8.9; x < 8; x += 0.0013 {
		want := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) / (math.Erfc(-x/math.Sqrt2) / 2)
		if got := slopes().hazard[phiAt(x)]; got < want*(1-1e-12) || got > want+0.04*(1+want) {
			t.Fatalf("the slope of log Phi at %v is %v, the table has %v", x, want, got)
		}
	}
	if !math.IsInf(slopes().hazard[phiAt(-20)], 1) {
		t.Error("a slope is said below all")
	}
}
