package chernoff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/prove/probability"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// TestDeepStatements: what is said of the neurons of a third hidden layer fails no more often than it and what it rests on
// may, and is near what is drawn.
func TestDeepStatements(t *testing.T) {
	draws := 2000
	if testscale.Deep(t) {
		draws = 50000
	}
	const tau = 0.004
	r, near, all := rand.New(rand.NewPCG(34, 8)), 0, 0
	for i := range testscale.Cases(t, 20) {
		post, task := pointCase(r, 0, 2, 5, 5, 4, 2)
		p, err := newChain(post).newPoint(t.Context(), task.T[0], tau)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			continue
		}
		if got, want := len(p.stated.Statements), events*4; got != want {
			t.Fatalf("%d statements of the third layer, want %d", got, want)
		}
		if got, want := p.budget, events*9*tau; math.Abs(got-want) > 1e-12 {
			t.Errorf("all statements fail with %v, want %v", got, want)
		}
		third := p.hidden[2]
		fails := make([][events]int, third.out)
		far := make([][events]float64, third.out) // the furthest on each side
		for o := range far {
			far[o] = [events]float64{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
		}
		weights := post.NewWeights()
		for d := range draws {
			post.Draw(37, d, weights)
			z := hidden(hidden(task.T[0].Lo, weights[0], weights[1]), weights[2], weights[3])
			for o, n := range p.rects[2] {
				mean, v := third.bias[o], third.biasHi[o]
				for j, x := range z {
					at := j*third.out + o
					mean += third.mean[at] * x
					v += third.squareHi[at] * x * x
				}
				for k, failed := range []bool{mean < n.meanLo-1e-9, mean > n.meanHi+1e-9, v < n.varLo-1e-9, v > n.varHi+1e-9} {
					if failed {
						fails[o][k]++
					}
				}
				far[o] = [events]float64{min(far[o][0], mean), max(far[o][1], mean), min(far[o][2], v), max(far[o][3], v)}
			}
		}
		const below = events * 5 * tau // statements of the second layer
		for o, list := range fails {
			for k, n := range list {
				if probability.ClopperPearsonDown(n, draws, sure) > tau+below {
					t.Errorf("case %d, neuron %d: statement %d fails %d times of %d, tau is %v", i, o, k, n, draws, tau)
				}
			}
			all++
			if n := p.rects[2][o]; n.meanHi-n.meanLo < 4*(far[o][1]-far[o][0])+1e-9 {
				near++
			}
		}
	}
	if all > 20 && near < all/2 {
		t.Errorf("the means of %d neurons of %d are near what is drawn", near, all)
	}
}

// hidden are the outputs of a hidden layer.
func hidden(z, weights, biases []float64) []float64 {
	next := slices.Clone(biases)
	for j, x := range z {
		for o := range next {
			next[o] += weights[j*len(next)+o] * x
		}
	}
	for o, y := range next {
		next[o] = max(0, y)
	}
	return next
}

// TestDeepPlanes: what hidden layers of sure weights pass on is neither lost nor counted twice: with noise in the last
// layers alone, the tail of a row is that of one with fewer layers.
func TestDeepPlanes(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 9))
	for range testscale.Cases(t, 6) {
		flat := provetest.Noisy(r, 0.3, false, 2, 6, 5, 2)
		deep := provetest.Noisy(r, 0.3, false, 2, 2, 6, 5, 2)
		first := &deep.Layers[0] // the identity of what is positive
		for j := range first.Weight.Mean {
			first.Weight.Mean[j] = float64(1 - min(1, j%3))
		}
		for j := range first.Bias.Mean {
			first.Bias.Mean[j] = 0
		}
		clear(first.Weight.SdLo)
		clear(first.Weight.SdHi)
		clear(first.Bias.SdLo)
		clear(first.Bias.SdHi)
		copy(deep.Layers[1:], flat.Layers)
		_, task := pointCase(r, 0, 2, 6, 5, 2)
		for j, x := range task.T[0].Lo {
			task.T[0].Lo[j] = math.Abs(x)
			task.T[0].Hi[j] = math.Abs(x)
		}
		var logs [2]float64
		for i, c := range []*chain{newChain(flat), newChain(deep)} {
			p, err := c.newPoint(t.Context(), task.T[0], 1e-4)
			if err != nil || p == nil {
				t.Fatal(i, p, err, c.hidden[0].at(task.T[0].Lo))
			}
			row := c.head(&task.S.Rows[0])
			_, variance := row.momentsApprox(p.meansApprox())
			h := 0.4 / math.Sqrt(variance)
			al, b := row.exponent(h, h*h/2)
			o := p.outlineApprox(len(c.hidden)-1, lows(al), b, rounds)
			if o.planes == nil {
				t.Fatal("no planes")
			}
			logs[i] = p.tailUp(row, h, whole(h, o.planes))
		}
		// Rects of the last hidden layer rest on other statements, so that planes differ a little.
		if math.Abs(logs[0]-logs[1]) > 0.05*(1+math.Abs(logs[0])) {
			t.Errorf("a tail of e^%v with two hidden layers, of e^%v where a sure one is below them", logs[0], logs[1])
		}
	}
}
