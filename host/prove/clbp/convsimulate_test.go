package clbp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// watched holds what one propagation said of one cell.
type watched struct {
	margins *bound.CLBPMargins
	// arrays are the observed arrays by name and layer, of the last time that they were seen.
	arrays map[string][]float64
	events float64
}

func (w *watched) of(what string, layer int) []float64 {
	return w.arrays[fmt.Sprintf("%s %d", what, layer)]
}

// watch propagates one task with one tau, and rows of a depth, about all of T or about any one point of it.
func watch(t *testing.T, p bound.Precision, post *posterior.Posterior, task *property.Task, tau float64, depth int, pointwise bool) *watched {
	t.Helper()
	e, err := engine.NewOfDepth(fallback.New(p), nil, post, 8, depth)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, c := method{e: e, pointwise: pointwise}, &cell{task: task, box: task.T[0], fail: 1}
	dev, err := of(m.e).deviationsOn(e.Model)
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.upload(e.Model, task.T[:1], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Model.ReleaseNoisy(in)
	rows, err := e.Model.UploadRows([][]property.Row{task.S.Rows})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Model.ReleaseRows(rows)
	w := &watched{arrays: map[string][]float64{}}
	w.margins, err = dev.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: Quantiles(m.e, p, tau), Observe: func(what string, layer int, a bound.Array) error {
		v := make([]float64, a.Len())
		w.arrays[fmt.Sprintf("%s %d", what, layer)] = v
		return e.Device.Read(v, a)
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.events = m.budgetUp(c, w.margins, 0, tau) / tau
	return w
}

// events counts how often what is bounded fails, in draws of networks.
type events struct {
	draws  int
	counts map[string][]int
	any    int
}

// fail counts an event of a draw and says so.
func (e *events) fail(what string, layer, i, n int) bool {
	key := fmt.Sprintf("%s of layer %d", what, layer)
	if e.counts[key] == nil {
		e.counts[key] = make([]int, n)
	}
	e.counts[key][i]++
	return true
}

// count evaluates the hidden bounds of a drawn network at points, the first of which is the
// centre of T, layer by layer: what is bounded is each event together with all bounds of the
// layers before, so no more is counted once something failed. Only lower bounds of stars count
// below a max pool; the differences to the star count in place of the others'.
func (e *events) count(net network.Network, w *watched, pres, outs [][][]float64) (failed bool) {
	for k := range net[:len(net)-1] {
		lo, hi, radius := w.of("pre.lo", k), w.of("pre.hi", k), w.of("radius", k)
		if _, pool := net[k].Map.(network.MaxPool); lo == nil || pool {
			continue
		}
		stars := starsOf(net, w, k)
		for i := range lo {
			var low, high, varied bool
			for _, pre := range pres {
				low, high = low || pre[k][i] < lo[i]-1e-12, high || pre[k][i] > hi[i]+1e-12
			}
			if radius != nil {
				for _, out := range outs[1:] {
					varied = varied || math.Abs(out[k][i]-outs[0][k][i]) > radius[i]+1e-12
				}
			}
			if low && (stars == nil || stars[i]) {
				failed = e.fail("lower bound", k, i, len(lo))
			}
			if high {
				failed = e.fail("upper bound", k, i, len(lo))
			}
			// A radius is at most the width of the interval, which holds if both ends do.
			if varied && !low && !high {
				failed = e.fail("radius", k, i, len(lo))
			}
		}
		for l := range net {
			if slices.Contains(net.Feed(l), k) {
				failed = e.differences(net, w, l, pres) || failed
			}
		}
		if failed {
			return true
		}
	}
	return false
}

// starsOf returns which units of a layer are stars of a pool, nil if something else than pools uses
// the layer.
func starsOf(net network.Network, w *watched, k int) map[int]bool {
	var stars map[int]bool
	for l := range net {
		if !slices.Contains(net.Feed(l), k) {
			continue
		}
		star := w.of("pool.star", l)
		if _, pool := net[l].Map.(network.MaxPool); !pool || star == nil {
			return nil
		}
		if stars == nil {
			stars = map[int]bool{}
		}
		for _, u := range star {
			stars[int(u)] = true
		}
	}
	return stars
}

// differences counts the failures of (24) at max pool k.
func (e *events) differences(net network.Network, w *watched, k int, pres [][][]float64) (failed bool) {
	m, pool := net[k].Map.(network.MaxPool)
	star, d := w.of("pool.star", k), w.of("pool.lead", k)
	if !pool || star == nil || d == nil {
		return false
	}
	y, members := net.Feed(k)[0], m.Members()
	window := len(members) / m.Outputs()
	for at, u := range members {
		s := int(star[at/window])
		if u < 0 || int(u) == s {
			continue
		}
		for _, pre := range pres {
			if pre[y][s]-pre[y][u] < d[at]-1e-12 {
				failed = e.fail("difference", k, at, len(members))
				break
			}
		}
	}
	return failed
}

// most is an upper limit of a count of what has probability p: five standard deviations and a
// little above its mean.
func (e *events) most(p float64) float64 {
	n := float64(e.draws)
	return n*p + 5*math.Sqrt(n*p) + 5
}

// TestConvolutionEvents draws networks and counts: no hidden bound fails more often than tau
// (radii: tau/64), nor any of them more often than what is paid for all; no row falls short of
// its bound more often than (13) and (13b) allow where none of them fails; and the noise of
// each level has no lower mean and no larger variance than was said.
func TestConvolutionEvents(t *testing.T) {
	draws := testscale.Cases(t, 12000)
	for _, n := range convtest.Tiny() {
		for _, c := range []struct{ factor, eps, tau float64 }{{.5, 0x1p-6, 0.01}, {1, 0, 0.01}, {2, 0x1p-6, 0.01}, {1, 0, 0.001}} {
			t.Run(fmt.Sprintf("%s/sdx%v/eps%v/tau%v", n.Name, c.factor, c.eps, c.tau), func(t *testing.T) {
				t.Parallel()
				post := n.Posterior(c.factor)
				seed := map[string]uint64{"tinyA": 14, "tinyB": 40, "tinyC": 46, "tinyD": 52}[n.Name]
				x := convtest.Picture(seed, n.Image)
				class := 0
				for i, y := range post.LogitsApprox(x) {
					if y > post.LogitsApprox(x)[class] {
						class = i
					}
				}
				task := convtest.KeepsClass(post, x, c.eps, class)
				drawNetworks(t, post, &task, c.tau, 0, draws)
			})
		}
	}
}

// TestRandomConvolutionEvents is TestConvolutionEvents for random networks. Every other one has an image
// that is large enough for rows over windows.
func TestRandomConvolutionEvents(t *testing.T) {
	for i := range testscale.Cases(t, 150/testscale.By(t, 2)) {
		r := rand.New(rand.NewPCG(51, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: math.Exp(-3 + 2*r.Float64()), Outputs: 1 + r.IntN(2), Side: 4 * (i % 2)})
		task := randomTask(r, post)
		drawNetworks(t, post, &task, 0.02, i/2%3, 2000)
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
}

// TestGraphEvents is TestConvolutionEvents for random networks of all kinds of maps, and of pools,
// forks and orders anywhere, and looks for networks of weight boxes below their bounds too.
func TestGraphEvents(t *testing.T) {
	acts := []network.Activation{{Kind: network.ReLU}, {Kind: network.ReLU}, {Kind: network.LeakyReLU, Slope: 0.25}, {Kind: network.Tanh}, {Kind: network.Softplus}, {Kind: network.ELU, Slope: 0.7}}
	for i := range testscale.Cases(t, 100) {
		r := rand.New(rand.NewPCG(77, uint64(i)))
		post := provetest.Graph(r, acts[:r.IntN(len(acts)+1)]...)
		spread := math.Exp(-4 + 4*r.Float64())
		for k := range post.Layers {
			for _, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
				sd, quiet := make([]float64, len(g.Mean)), r.IntN(5) == 0
				for e := range sd {
					if !quiet {
						sd[e] = spread * g.SdHi[e]
					}
				}
				*g = posterior.NewParams(g.Mean, sd, posterior.ScaleSD)
			}
		}
		task := randomTask(r, post)
		drawNetworks(t, post, &task, []float64{0.3, 0.1, 0.02}[r.IntN(3)], i%3, 1000)
		gamma := []float64{0, 0.375, 1, 3}[i%4]
		fallsBelow(t, r, post, &task, gamma, allMargins(t, post, &task, gamma), 20)
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
}

func drawNetworks(t *testing.T, post *posterior.Posterior, task *property.Task, tau float64, depth, draws int) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 3))
	w := watch(t, bound.Float64, post, task, tau, depth, false)
	net, path := post.Network(), convtest.NewPath(post)
	points := pointsOf(r, task.T[0])
	e := &events{draws: draws, counts: map[string][]int{}}
	least := make([][]float64, len(task.S.Rows)) // of draws without a failed event
	top := &topNoise{layer: &post.Layers[len(post.Layers)-1], rows: task.S.Rows}
	var pres, outs [][][]float64
	for range draws {
		path.Draw(r)
		pres, outs = pres[:0], outs[:0]
		rows := make([]float64, len(task.S.Rows))
		for i := range rows {
			rows[i] = math.Inf(1)
		}
		for _, x := range points {
			pre, out := path.At(x)
			pres, outs = append(pres, clone(pre)), append(outs, clone(out))
			for i, row := range task.S.Rows {
				v := row.D
				for o, y := range out[len(out)-1] {
					v += row.CLo[o] * y
				}
				rows[i] = min(rows[i], v)
			}
			top.at(path, x)
		}
		if e.count(net, w, pres, outs) {
			e.any++
			top.forget()
			continue
		}
		top.keep()
		for i, v := range rows {
			least[i] = append(least[i], v)
		}
	}
	for key, counts := range e.counts {
		p := tau
		if len(key) > 6 && key[:6] == "radius" {
			p = tau * radiusShare
		}
		for i, n := range counts {
			if float64(n) > e.most(p) {
				t.Errorf("%s: number %d fails in %d of %d draws, tau is %v", key, i, n, draws, p)
			}
		}
	}
	if budget := w.events * tau; budget < 1 && float64(e.any) > e.most(budget) {
		t.Errorf("something fails in %d of %d draws; %v is paid", e.any, draws, budget)
	}
	for r := range task.S.Rows {
		top.check(t, &w.margins.ByIntervals, r)
		for _, form := range []*bound.Noises{&w.margins.ByIntervals, &w.margins.ByLines} {
			if form.Lo != nil {
				e.tails(t, form, r, least[r])
			}
		}
	}
}

// tails compares how often a row falls short of its bound, by several standard deviations.
func (e *events) tails(t *testing.T, form *bound.Noises, r int, least []float64) {
	t.Helper()
	lo, mean, variance := form.At(r)
	sum := 0.0
	for l := range mean {
		lo -= mean[l]
		sum += variance[l]
	}
	for _, z := range []float64{0, 0.5, 1, 1.5, 2, 2.5, 3} {
		short := 0
		for _, v := range least {
			if v < lo-z*math.Sqrt(sum)-1e-12 {
				short++
			}
		}
		if p := probability.NoiseTailUp(z*math.Sqrt(sum), variance, 1); float64(short) > e.most(p) {
			t.Errorf("row %d falls short of %v by %v standard deviations in %d of %d draws, at most %v", r, lo, z, short, e.draws, p)
		}
	}
}

func clone(lists [][]float64) [][]float64 {
	all := make([][]float64, len(lists))
	for k, l := range lists {
		all[k] = slices.Clone(l)
	}
	return all
}

// pointsOf are the centre of a box, its ends and random corners and inner points.
func pointsOf(r *rand.Rand, b property.Box) [][]float64 {
	mid := make([]float64, len(b.Lo))
	for j, lo := range b.Lo {
		mid[j] = lo + (b.Hi[j]-lo)/2
	}
	points := [][]float64{mid}
	if slices.Equal(b.Lo, b.Hi) {
		return points
	}
	points = append(points, b.Lo, b.Hi)
	for i := range 6 {
		x := make([]float64, len(b.Lo))
		for j, lo := range b.Lo {
			at := r.Float64()
			if i < 4 {
				at = math.Round(at)
			}
			x[j] = lo + (b.Hi[j]-lo)*at
		}
		points = append(points, x)
	}
	return points
}
