package branch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// drawnAt are the pre-activations of a drawn network at x, what its own noise adds to them in each
// layer, and the values of the hidden layers.
func (c *noisyCase) drawnAt(weights [][]float64, x []float64) (pre, noise, z [][]float64) {
	for k := range c.post.Layers {
		l := &c.post.Layers[k]
		zeta, own := make([]float64, l.Outputs()), make([]float64, l.Outputs())
		for i := range zeta {
			zeta[i], own[i] = weights[2*k+1][i], weights[2*k+1][i]-l.Bias.Mean[i]
			for j, v := range x {
				w := weights[2*k][j*l.Outputs()+i]
				zeta[i] += w * v
				own[i] += (w - l.Weight.Mean[j*l.Outputs()+i]) * v
			}
		}
		x = make([]float64, len(zeta))
		for i, v := range zeta {
			x[i] = max(v, 0)
		}
		pre, noise, z = append(pre, zeta), append(noise, own), append(z, x)
	}
	return pre, noise, z
}

// points are the corners of the box, its centre, and some more.
func (c *noisyCase) points(r *rand.Rand) (list [][]float64) {
	n := len(c.box.Lo)
	for corner := range 1 << n {
		x := make([]float64, n)
		for j := range x {
			if x[j] = c.box.Lo[j]; corner>>j&1 == 1 {
				x[j] = c.box.Hi[j]
			}
		}
		list = append(list, x)
	}
	for range 6 {
		x := make([]float64, n)
		for j := range x {
			x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*r.Float64()
		}
		list = append(list, x)
	}
	return append(list, reachCentre(c.box))
}

func reachCentre(b property.Box) []float64 {
	x := make([]float64, len(b.Lo))
	for j := range x {
		x[j] = min(max(b.Lo[j]/2+b.Hi[j]/2, b.Lo[j]), b.Hi[j])
	}
	return x
}

// draw draws a network.
func (c *noisyCase) draw(r *rand.Rand) [][]float64 {
	var list [][]float64
	for k := range c.post.Layers {
		for _, g := range []*posterior.Params{&c.post.Layers[k].Weight, &c.post.Layers[k].Bias} {
			w := make([]float64, len(g.Mean))
			for j := range w {
				w[j] = g.Mean[j] + g.SdHi[j]*r.NormFloat64()
			}
			list = append(list, w)
		}
	}
	return list
}

// TestConfinedDraws: drawn networks whose noise is as small as kappa says have their
// pre-activations in the bounds, at every point, and the rows that are proved; and noise and radii,
// given those of the layers below, are larger no more often than tau says.
func TestConfinedDraws(t *testing.T) {
	const tau, draws = 0.05, 400
	proved, unsafe, kept := 0, 0, 0
	for n := range testscale.Cases(t, 300) {
		r := rand.New(rand.NewPCG(uint64(n), 202))
		sizes := [][]int{{2, 3, 3, 2}, {2, 4, 2}, {3, 3, 3, 3, 2}}[n%3]
		c := newNoisyCase(t, r, bound.Precision(n%2), tau, []float64{0.02, 0.1, 0.3}[r.IntN(3)], sizes...)
		c.safe.Rows[0].D += float64(n % 4)
		c.on(t, func(p *phased) error {
			isProved, err := p.tree()
			if err != nil && err != errStopped {
				return err
			}
			if isProved {
				proved++
			}
			u, k := c.checkDraws(t, r, fmt.Sprintf("case %d", n), p, isProved, tau, draws)
			unsafe, kept = unsafe+u, kept+k
			return nil
		})
	}
	t.Logf("%d proved; %d draws on the event, %d draws unsafe", proved, kept, unsafe)
	if proved < 3 || unsafe < 100 || kept < 100 {
		t.Errorf("%d proved; %d draws on the event, %d draws unsafe: the test misses its cases", proved, kept, unsafe)
	}
}

// checkDraws is TestConfinedDraws for one case: how many draws are unsafe, and how many on the event.
func (c *noisyCase) checkDraws(t *testing.T, r *rand.Rand, name string, p *phased, proved bool, tau float64, draws int) (unsafe, kept int) {
	t.Helper()
	layers := len(c.post.Layers)
	in := ReachOf(c.box)
	var kappas [][]float64
	var reaches []Reach
	for k := range layers - 1 {
		kappas = append(kappas, c.noise.units(k, &in))
		in = c.noise.OutputsUp(k, &in, p.known.lo[k], p.known.hi[k])
		reaches = append(reaches, in)
	}
	rows := c.noise.rows(c.safe.Rows, &in)
	points := c.points(r)
	over := map[string]int{} // how often a bound fails, by what it is
	given := make([]int, layers)
	for range draws {
		weights := c.draw(r)
		fails := map[string]int{} // the layer of each
		least := math.Inf(1)
		_, _, atCentre := c.drawnAt(weights, points[len(points)-1])
		for _, x := range points {
			pre, noise, z := c.drawnAt(weights, x)
			for k := range layers - 1 {
				for i, v := range noise[k] {
					switch {
					case v > kappas[k][i]:
						fails[fmt.Sprintf("noise of neuron %d of layer %d from above", i, k)] = k
					case -v > kappas[k][i]:
						fails[fmt.Sprintf("noise of neuron %d of layer %d from below", i, k)] = k
					}
					if math.Abs(z[k][i]-atCentre[k][i]) > reaches[k].radius[i]+1e-12 {
						fails[fmt.Sprintf("radius of neuron %d of layer %d", i, k)] = k
					}
				}
			}
			for at, row := range c.safe.Rows {
				by, value := 0.0, row.D
				for i, w := range row.CLo {
					by, value = by+w*noise[layers-1][i], value+w*pre[layers-1][i]
				}
				if -by > rows[at] {
					fails[fmt.Sprintf("noise of row %d", at)] = layers - 1
				}
				least = min(least, value)
			}
			lowest := layers
			for _, k := range fails {
				lowest = min(lowest, k)
			}
			for k := range min(lowest, layers-1) {
				for i, v := range pre[k] {
					const rounding = 1e-9
					if v < p.known.lo[k][i]-rounding || v > p.known.hi[k][i]+rounding {
						t.Fatalf("%s: neuron %d of layer %d is %v, bounds [%v, %v]", name, i, k, v, p.known.lo[k][i], p.known.hi[k][i])
					}
				}
			}
		}
		lowest := layers
		for _, k := range fails {
			lowest = min(lowest, k)
		}
		for k := range min(lowest+1, layers) {
			given[k]++
		}
		for what, k := range fails {
			if k == lowest {
				over[what]++
			}
		}
		if least < 0 {
			unsafe++
		}
		if lowest == layers {
			if kept++; proved && least < -1e-9 {
				t.Fatalf("%s: proved, and a network with as little noise has a row of %v", name, least)
			}
		}
	}
	for what, n := range over {
		// Six standard deviations of a count that has a mean of at most tau draws.
		if mean := tau * float64(draws); float64(n) > mean+6*math.Sqrt(mean) {
			t.Errorf("%s: %s is larger in %d of %d draws (%v), at most %v may be", name, what, n, draws, given, mean)
		}
	}
	return unsafe, kept
}
