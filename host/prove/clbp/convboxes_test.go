package clbp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// descent looks for the least value of a row over a weight box and an input box: from a random
// vertex every weight and every input goes to the end at which the row falls, as a difference
// says, some times over. values is called with the rows of each network and point on the way.
func descent(r *rand.Rand, path *convtest.Path, mean [][]float64, sd [][]float64, box property.Box, row []float64, gamma float64, values func(y []float64)) {
	x := make([]float64, len(box.Lo))
	for j := range x {
		x[j] = box.Lo[j] + (box.Hi[j]-box.Lo[j])*float64(r.IntN(2))
	}
	path.InBox(r, gamma)
	at := func() (v float64) {
		y := path.Logits(x)
		values(y)
		for i, c := range row {
			v += c * y[i]
		}
		return v
	}
	least := at()
	try := func(place *float64, lo, hi float64) {
		before := *place
		for _, end := range []float64{lo, hi} {
			if end == before {
				continue
			}
			*place = end
			if v := at(); v < least {
				least, before = v, end
			}
			*place = before
		}
	}
	for k := range mean {
		for e, m := range mean[k] {
			if sd[k][e] > 0 {
				try(&path.Weights[k][e], m-gamma*sd[k][e], m+gamma*sd[k][e])
			}
		}
	}
	for j := range x {
		try(&x[j], box.Lo[j], box.Hi[j])
	}
}

// fallsBelow reports bounds of rows in a weight box that some network in it falls below.
func fallsBelow(t *testing.T, r *rand.Rand, post *posterior.Posterior, task *property.Task, gamma float64, bounds map[string][]float64, networks int) {
	t.Helper()
	path := convtest.NewPath(post)
	var mean, sd [][]float64
	for _, g := range post.Params() {
		mean, sd = append(mean, g.Mean), append(sd, g.SdHi)
	}
	box := task.T[0]
	points := [][]float64{box.Lo, box.Hi}
	for range 4 {
		x := make([]float64, len(box.Lo))
		for j := range x {
			x[j] = box.Lo[j] + (box.Hi[j]-box.Lo[j])*float64(r.IntN(2))
		}
		points = append(points, x)
	}
	least := make([]float64, len(task.S.Rows))
	for i := range least {
		least[i] = math.Inf(1)
	}
	see := func(y []float64) {
		for i, row := range task.S.Rows {
			v := row.D
			for o, c := range row.CLo {
				v += c * y[o]
			}
			least[i] = min(least[i], v)
		}
	}
	for range networks {
		path.InBox(r, gamma)
		for _, x := range points {
			see(path.Logits(x))
		}
	}
	for _, row := range task.S.Rows {
		for range 2 {
			descent(r, path, mean, sd, box, row.CLo, gamma, see)
		}
	}
	for name, b := range bounds {
		for i, v := range b {
			if v > least[i]+1e-9*(1+math.Abs(least[i])) {
				t.Errorf("%s: row %d is at least %v, but %v is the value of a network in the box", name, i, v, least[i])
			}
		}
	}
}

// allMargins are the bounds by both methods and in both precisions.
func allMargins(t *testing.T, post *posterior.Posterior, task *property.Task, gamma float64) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, m := range []bound.Propagation{bound.IBP, bound.LBP} {
			all[fmt.Sprintf("%v %v", m, p)] = boxMargins(t, p, post, task, m, gamma)
		}
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for i, v := range all[fmt.Sprintf("lbp %v", p)] {
			if ibp := all[fmt.Sprintf("ibp %v", p)][i]; v < ibp-1e-4*(1+math.Abs(ibp)) {
				t.Errorf("%v: row %d: LBP %v is worse than IBP %v", p, i, v, ibp)
			}
		}
	}
	return all
}

// TestConvolutionBoxSamples: no network of a weight box has a row below its bound: the networks
// by formula, in boxes up to four standard deviations wide.
func TestConvolutionBoxSamples(t *testing.T) {
	networks := testscale.Cases(t, 3000)
	for i, c := range convtest.Cases() {
		if c.Net == "mnist_lenet" || i%3 > 0 && !testscale.Deep(t) {
			continue
		}
		for _, gamma := range []float64{0, 0.5, 4} {
			t.Run(fmt.Sprintf("%s/gamma%v", c.Name(), gamma), func(t *testing.T) {
				post := c.Posterior()
				task := c.Task(post)
				r := rand.New(rand.NewPCG(21, uint64(i)))
				fallsBelow(t, r, post, &task, gamma, allMargins(t, post, &task, gamma), networks)
			})
		}
	}
}

// randomTask is a question about a random network: some rows on a box of random size.
func randomTask(r *rand.Rand, post *posterior.Posterior) property.Task {
	box := property.Box{}
	size := math.Exp(-5 + 5*r.Float64())
	if r.IntN(4) == 0 {
		size = 0
	}
	for range post.Inputs() {
		lo := 2*r.Float64() - 1
		if r.IntN(3) == 0 {
			lo = math.Abs(lo)
		}
		box.Lo, box.Hi = append(box.Lo, lo), append(box.Hi, lo+size*r.Float64())
	}
	task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{box}}
	task.S.Any = [][]int{nil}
	for i := range 1 + r.IntN(3) {
		row := property.Row{CLo: make([]float64, post.Outputs()), D: 0.3 * r.NormFloat64()}
		for o := range row.CLo {
			row.CLo[o] = float64(r.IntN(3)-1) + float64(r.IntN(2))*r.NormFloat64()
		}
		row.CLo[r.IntN(len(row.CLo))]++
		row.CHi, row.DHi = row.CLo, row.D
		task.S.Rows, task.S.Any[0] = append(task.S.Rows, row), append(task.S.Any[0], i)
	}
	return task
}

// TestRandomConvolutionBoxes is TestConvolutionBoxSamples for random networks.
func TestRandomConvolutionBoxes(t *testing.T) {
	for i := range testscale.Cases(t, 2000) {
		r := rand.New(rand.NewPCG(22, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: r.IntN(4), Spread: math.Exp(-3 + 2*r.Float64()), Outputs: 1 + r.IntN(3)})
		task := randomTask(r, post)
		gamma := []float64{0, 0.375, 1, 3}[i%4]
		fallsBelow(t, r, post, &task, gamma, allMargins(t, post, &task, gamma), 40)
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
}

// dense writes a chain of linear maps as dense layers: each place of a weight has one of its
// own, and what no weight meets has 0 for certain.
func dense(post *posterior.Posterior) *posterior.Posterior {
	all := &posterior.Posterior{Scale: posterior.ScaleSD}
	for _, l := range post.Layers {
		in, out := l.Inputs(), l.Outputs()
		mean, sd := make([]float64, in*out), make([]float64, in*out)
		bias, biasSd := make([]float64, out), make([]float64, out)
		if linear, ok := l.Map.(network.Linear); ok {
			for j := range in {
				for i, w := range linear.From(j) {
					mean[j*out : (j+1)*out][i], sd[j*out : (j+1)*out][i] = l.Weight.Mean[w], l.Weight.SdHi[w]
				}
			}
			for i := range out {
				bias[i], biasSd[i] = l.Bias.Mean[linear.BiasOf(i)], l.Bias.SdHi[linear.BiasOf(i)]
			}
		} else {
			// The map at unit vectors: means of a power of two of numbers are exact.
			path := convtest.NewPath(&posterior.Posterior{Layers: []posterior.Layer{{Layer: network.Layer{Map: l.Map}}}})
			for j := range in {
				z := make([]float64, in)
				z[j] = 1
				pre, _ := path.At(z)
				copy(mean[j*out:(j+1)*out], pre[0])
			}
		}
		all.Layers = append(all.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, l.Activation),
			Weight: posterior.NewParams(mean, sd, posterior.ScaleSD), Bias: posterior.NewParams(bias, biasSd, posterior.ScaleSD)})
	}
	return all
}

// TestDenseLowering: of chains without max pools IBP and LBP are never worse than those of the same
// layers written as dense ones; LBP is the same where nothing is uncertain, and IBP where no
// linear layer stands behind another, which it takes in one step. Tighter pre-activations move the
// tangents of curved activations, which may cost LBP a little of a row.
func TestDenseLowering(t *testing.T) {
	done, better := 0, 0
	for i := 0; done < testscale.Cases(t, 300); i++ {
		r := rand.New(rand.NewPCG(23, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: 0.1, Outputs: 1 + r.IntN(3)})
		if !writable(post) {
			continue
		}
		done++
		task, written := randomTask(r, post), dense(post)
		for _, gamma := range []float64{0, 1} {
			ibp, lbp := boxMargins(t, bound.Float64, post, &task, bound.IBP, gamma), boxMargins(t, bound.Float64, post, &task, bound.LBP, gamma)
			for row, want := range boxMargins(t, bound.Float64, written, &task, bound.IBP, gamma) {
				slack := 1e-9 * (1 + math.Abs(want))
				if ibp[row] < want-slack || !inOneStep(post) && ibp[row] > want+slack {
					t.Errorf("case %d half-width %v row %d: IBP gives %v, %v if written as dense layers", i, gamma, row, ibp[row], want)
				}
			}
			for row, want := range boxMargins(t, bound.Float64, written, &task, bound.LBP, gamma) {
				slack := 1e-9 * (1 + math.Abs(want))
				moved := slack
				if gamma > 0 {
					moved = 1e-7 * (1 + math.Abs(want))
				}
				if lbp[row] < want-moved || gamma == 0 && lbp[row] > want+slack {
					t.Errorf("case %d half-width %v row %d: LBP gives %v, %v if written as dense layers", i, gamma, row, lbp[row], want)
				}
				if lbp[row] > want+slack {
					better++
				}
			}
		}
	}
	t.Logf("%d cases; sharing gave better rows %d times", done, better)
	if done >= 20 && better < done/10 {
		t.Errorf("of %d cases sharing gave a better row in %d only", done, better)
	}
}

// inOneStep reports whether a linear layer stands behind another.
func inOneStep(post *posterior.Posterior) bool {
	for _, l := range post.Layers[:len(post.Layers)-1] {
		if l.Activation.Kind == network.Identity {
			return true
		}
	}
	return false
}

// writable reports whether the network is a chain without max pools, and not of dense layers alone.
func writable(post *posterior.Posterior) bool {
	net, other := post.Network(), false
	for k, l := range net {
		switch m := l.Map.(type) {
		case network.MaxPool:
			return false
		case network.AvgPool:
			for n := m.Window.Size[0] * m.Window.Size[1]; n > 1; n /= 2 {
				if n%2 > 0 {
					return false
				}
			}
			if m.Window.Before != [2]int{} || m.Window.After != [2]int{} {
				return false
			}
		}
		if feed := net.Feed(k); len(feed) != 1 || feed[0] != k-1 {
			return false
		}
		_, is := l.Map.(network.Dense)
		other = other || !is
	}
	return other
}

// TestSharedBoxIsExact: where the factor of every weight has a certain sign, LBP gives the
// least value over the box of shared weights, which is that of one of its vertices. Weights and
// inputs are small multiples of powers of two, so that float64 evaluates vertices exactly, and
// no bound may be above one of them by anything at all.
func TestSharedBoxIsExact(t *testing.T) {
	for i := range testscale.Cases(t, 200) {
		r := rand.New(rand.NewPCG(24, uint64(i)))
		number := func(least, most int) float64 { return float64(least+r.IntN(most-least+1)) / 16 }
		list := func(n int, of func() float64) []float64 {
			all := make([]float64, n)
			for j := range all {
				all[j] = of()
			}
			return all
		}
		image := network.Image{Height: 2, Width: 2, Channels: 1}
		w := network.Window{Size: [2]int{1, 1 + r.IntN(2)}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
		w.Before[1] = r.IntN(w.Size[1])
		conv := network.Conv{In: image, Window: w, Filters: 1, Groups: 1}
		signed := func() float64 { return number(-16, 16) }
		deviation := func() float64 { return number(1, 8) }
		zeros := func(n int) []float64 { return make([]float64, n) }
		n := conv.Outputs()
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
			{Layer: network.Layer{Map: conv}, Weight: posterior.NewParams(list(conv.Weights(), signed), list(conv.Weights(), deviation), posterior.ScaleSD),
				Bias: posterior.NewParams(list(1, signed), list(1, deviation), posterior.ScaleSD)},
			{Layer: network.DenseLayer(n, 1, network.Activation{}), Weight: posterior.NewParams(list(n, func() float64 { return number(1, 16) }), zeros(n), posterior.ScaleSD),
				Bias: posterior.NewParams(zeros(1), zeros(1), posterior.ScaleSD)},
		}}
		box := property.Box{Lo: list(4, func() float64 { return number(0, 8) })}
		for _, lo := range box.Lo {
			box.Hi = append(box.Hi, lo+number(0, 8))
		}
		one := []float64{1}
		task := property.Task{Label: -1, T: []property.Box{box}, S: property.Safe{Rows: []property.Row{{CLo: one, CHi: one}}, Any: [][]int{{0}}}}
		least := leastVertex(post, box)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			slack := map[bound.Precision]float64{bound.Float32: 1e-4, bound.Float64: 1e-12}[p]
			for _, m := range []bound.Propagation{bound.IBP, bound.LBP} {
				got := boxMargins(t, p, post, &task, m, 1)[0]
				if got > least {
					t.Errorf("case %d %v %v: bound %v is above %v, which a network has", i, m, p, got, least)
				}
				if m == bound.LBP && got < least-slack*(1+math.Abs(least)) {
					t.Errorf("case %d %v: bound %v, the least value is %v", i, p, got, least)
				}
			}
		}
	}
}

// leastVertex is the least first logit over all vertices of the weight box of one standard
// deviation and of the input box.
func leastVertex(post *posterior.Posterior, box property.Box) float64 {
	path := convtest.NewPath(post)
	x := append([]float64(nil), box.Lo...)
	least := math.Inf(1)
	var places []*float64
	var ends [][2]float64
	for k, g := range post.Params() {
		for e, m := range g.Mean {
			if sd := g.SdHi[e]; sd > 0 {
				places, ends = append(places, &path.Weights[k][e]), append(ends, [2]float64{m - sd, m + sd})
			}
		}
	}
	for j := range x {
		places, ends = append(places, &x[j]), append(ends, [2]float64{box.Lo[j], box.Hi[j]})
	}
	for v := range 1 << len(places) {
		for i, p := range places {
			*p = ends[i][v>>i&1]
		}
		least = min(least, path.Logits(x)[0])
	}
	return least
}
