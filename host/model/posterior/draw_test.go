package posterior

import (
	"math"
	"slices"
	"sync"
	"testing"
)

// draws gives n weight vectors, each joined to one list.
func draws(p *Posterior, seed uint64, n int) [][]float64 {
	list := make([][]float64, n)
	w := p.NewWeights()
	for i := range list {
		p.Draw(seed, i, w)
		list[i] = slices.Concat(w...)
	}
	return list
}

// checkNormal demands that an average, in units of its standard error, is what
// chance allows: with these seeds it always is, with a wrong law far from it.
func checkNormal(t *testing.T, what string, z float64) {
	t.Helper()
	if !(math.Abs(z) < 4.5) {
		t.Errorf("%s is %.1f standard errors off", what, z)
	}
}

// covariance compares all second moments around mean with want.
func covariance(t *testing.T, w [][]float64, mean []float64, want func(a, b int) float64) {
	t.Helper()
	n := float64(len(w))
	for a := range mean {
		sum := 0.0
		for _, v := range w {
			sum += v[a] - mean[a]
		}
		if sd := math.Sqrt(want(a, a)); sd > 0 {
			checkNormal(t, "mean", sum/(sd*math.Sqrt(n)))
		} else if sum != 0 {
			t.Errorf("weight %d does not vary, but its draws do", a)
		}
		for b := range a + 1 {
			got := 0.0
			for _, v := range w {
				got += (v[a] - mean[a]) * (v[b] - mean[b])
			}
			if scale := math.Sqrt((want(a, a)*want(b, b) + want(a, b)*want(a, b)) / n); scale > 0 {
				checkNormal(t, "covariance", (got/n-want(a, b))/scale)
			}
		}
	}
}

func TestDrawGaussian(t *testing.T) {
	const n = 4000
	for _, scale := range []Scale{ScaleSD, ScaleVariance, ScaleSoftplus} {
		p := random(scale)
		p.Layers[1].Bias.SdLo[1], p.Layers[1].Bias.SdHi[1] = 0, 0
		var mean, sd []float64
		for _, g := range p.Params() {
			mean, sd = append(mean, g.Mean...), append(sd, g.SdHi...)
		}
		w := draws(p, 7, n)
		covariance(t, w, mean, func(a, b int) float64 {
			if a != b {
				return 0
			}
			return sd[a] * sd[a]
		})
		// The shape of the law: how often a draw is within k standard deviations;
		// and draws do not depend on those before.
		for _, k := range []float64{0.5, 1, 2, 3} {
			inside, of := 0.0, 0.0
			for _, v := range w {
				for a := range v {
					if sd[a] > 0 {
						of++
						if math.Abs(v[a]-mean[a]) < k*sd[a] {
							inside++
						}
					}
				}
			}
			q := math.Erf(k / math.Sqrt2)
			checkNormal(t, "share inside", (inside-of*q)/math.Sqrt(of*q*(1-q)))
		}
		lag := 0.0
		for i := range n - 1 {
			lag += (w[i][0] - mean[0]) * (w[i+1][0] - mean[0]) / (sd[0] * sd[0])
		}
		checkNormal(t, "covariance with the draw before", lag/math.Sqrt(n-1))
	}
}

func TestDrawSamples(t *testing.T) {
	p := someSamples(t)
	s := p.Finite()
	hits := make([]float64, s.N())
	const n = 20000
	w := p.NewWeights()
	for i := range n {
		p.Draw(3, i, w)
		k := slices.Index(s.Stack[0], w[0][0]) / arraySizes[0]
		for a := range w {
			if !slices.Equal(w[a], s.Weights(k)[a]) {
				t.Fatalf("draw %d is no sample", i)
			}
		}
		hits[k]++
	}
	for k, h := range hits {
		q := float64(s.Counts[k]) / float64(s.Total())
		checkNormal(t, "frequency", (h-n*q)/math.Sqrt(n*q*(1-q)))
	}
}

func TestDrawSWAG(t *testing.T) {
	for _, scale := range []Scale{ScaleSD, ScaleVariance} {
		p := someSWAG(t, scale)
		s := p.SWAG()
		var mean, sd []float64
		columns := make([][]float64, s.Rank)
		for a, g := range p.Params() {
			mean, sd = append(mean, g.Mean...), append(sd, s.Sd[a]...)
			for k := range columns {
				columns[k] = append(columns[k], s.Deviation[a][k*arraySizes[a]:(k+1)*arraySizes[a]]...)
			}
		}
		far := 0
		want := func(a, b int) float64 {
			c := 0.0
			for _, col := range columns {
				c += col[a] * col[b] / 4 // 2(K-1)
			}
			if a == b {
				c += sd[a] * sd[a] / 2
			}
			return c
		}
		covariance(t, draws(p, 11, 4000), mean, want)
		// The test would be empty if hardly any pair were correlated.
		for a := range mean {
			for b := range a {
				if math.Abs(want(a, b)) > 0.2*math.Sqrt(want(a, a)*want(b, b)) {
					far++
				}
			}
		}
		if far < 50 {
			t.Errorf("only %d correlated pairs", far)
		}
	}
}

func TestDrawDropout(t *testing.T) {
	p := someDropout(t)
	const n = 5000
	kept := make([][]float64, 2)
	both := 0.0 // of the first two inputs of layer 1
	w := p.NewWeights()
	for i := range n {
		p.Draw(5, i, w)
		for k, l := range p.Layers {
			rate := p.Dropout()[k]
			if kept[k] == nil {
				kept[k] = make([]float64, l.Inputs())
			}
			for j := range l.Inputs() {
				row := w[2*k][j*l.Outputs() : (j+1)*l.Outputs()]
				if row[0] != 0 {
					kept[k][j]++
				}
				for o, v := range row {
					want := l.Weight.Mean[j*l.Outputs()+o] / (1 - rate)
					if row[0] == 0 {
						want = 0
					}
					if v != want {
						t.Fatalf("draw %d, layer %d, input %d, output %d: %v, want %v", i, k, j, o, v, want)
					}
				}
			}
			if !slices.Equal(w[2*k+1], l.Bias.Mean) {
				t.Fatalf("draw %d changes biases", i)
			}
		}
		if w[2][0] != 0 && w[2][2] != 0 {
			both++
		}
	}
	for k, list := range kept {
		q := 1 - p.Dropout()[k]
		for _, c := range list {
			checkNormal(t, "keep rate", (c-n*q)/math.Sqrt(n*q*(1-q)))
		}
	}
	q := 0.3 * 0.3
	checkNormal(t, "rate of keeping two", (both-n*q)/math.Sqrt(n*q*(1-q)))
}

// A rate of 0 drops nothing and changes nothing.
func TestDrawDropoutZero(t *testing.T) {
	p := must(t, someDropout(t), nil)
	p.dropout[0] = 0
	w := p.NewWeights()
	for i := range 100 {
		if p.Draw(0, i, w); !slices.Equal(w[0], p.Layers[0].Weight.Mean) {
			t.Fatalf("draw %d differs", i)
		}
	}
}

// Draw i is the same in any order and in any goroutine, and other numbers and
// seeds give other draws.
func TestDrawOrder(t *testing.T) {
	all := others(t)
	all[KindGaussian] = random(ScaleSoftplus)
	for kind, p := range all {
		const n = 64
		want := draws(p, 9, n)
		var wg sync.WaitGroup
		for first := range 4 {
			wg.Go(func() {
				w := p.NewWeights()
				for k := range n {
					i := (n - 1 - k + 7*first) % n
					p.Draw(9, i, w)
					if !slices.Equal(slices.Concat(w...), want[i]) {
						t.Errorf("%v: draw %d depends on what was drawn before", kind, i)
					}
				}
			})
		}
		wg.Wait()
		if kind == KindFinite || kind == KindDropout {
			continue // have few values
		}
		other := draws(p, 10, n)
		for i := range n {
			if slices.Equal(want[i], other[i]) || i > 0 && slices.Equal(want[i], want[i-1]) {
				t.Errorf("%v: draw %d comes again", kind, i)
			}
		}
	}
}

// The draws of a seed are part of what a record reproduces: other Go releases
// must give the same ones.
func TestDrawGolden(t *testing.T) {
	all := others(t)
	all[KindGaussian] = random(ScaleSD)
	for kind, want := range map[Kind]float64{
		KindGaussian: -46.787443682915374,
		KindFinite:   -176.3697047631134,
		KindSWAG:     -87.33281839211159,
		KindDropout:  -25.121008057953787,
	} {
		sum := 0.0
		for _, w := range draws(all[kind], 1, 4) {
			for e, v := range w {
				sum += float64(v * float64(e+1))
			}
		}
		if sum != want {
			t.Errorf("%v: %v, want %v", kind, sum, want)
		}
	}
}

func TestDrawPanics(t *testing.T) {
	p := someDropout(t)
	for name, f := range map[string]func(){
		"negative":   func() { p.Draw(0, -1, p.NewWeights()) },
		"few lists":  func() { p.Draw(0, 0, p.NewWeights()[:3]) },
		"short list": func() { w := p.NewWeights(); w[1] = w[1][:3]; p.Draw(0, 0, w) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
