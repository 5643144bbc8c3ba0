package phases

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/clbp"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/branch"
	"psafe/host/prove/confine"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testscale"
)

// confinedGraph is a random graph of convolutions, joins and pools with ReLU whose weights deviate, most
// of them, and a box.
func confinedGraph(t *testing.T, r *rand.Rand) (*clbp.Noisy, *posterior.Posterior, property.Box) {
	t.Helper()
	for {
		post := &posterior.Posterior{Scale: posterior.ScaleSD}
		graph := networktest.Random(r, net.Activation{Kind: net.ReLU})
		weights := networktest.Weights(r, graph)
		size := 0
		for k, l := range graph {
			certain := r.IntN(3) == 0
			params := func(mean []float64) posterior.Params {
				sd := make([]float64, len(mean))
				for i := range sd {
					if !certain {
						sd[i] = 0.1 * r.Float64()
					}
				}
				return posterior.NewParams(mean, sd, posterior.ScaleSD)
			}
			post.Layers = append(post.Layers, posterior.Layer{Layer: l, Weight: params(weights[2*k]), Bias: params(weights[2*k+1])})
			size += l.Outputs() * l.Inputs()
		}
		n, err := clbp.New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		if size > 1<<15 || !Splits(n) {
			continue
		}
		var box property.Box
		for range graph.Inputs() {
			x := float64(r.IntN(9)-4) / 8
			box.Lo, box.Hi = append(box.Lo, x), append(box.Hi, x+float64(r.IntN(4))/8)
		}
		return n, post, box
	}
}

// TestConfinedGraphs: through convolutions, joins and pools kappa is that of certify, and at no input, and
// for no noise that is within it, another one for each unit, is a pre-activation outside of its bounds.
func TestConfinedGraphs(t *testing.T) {
	pools, there, all := 0, 0, testscale.Cases(t, 300)
	for i := range all {
		at := (i + 200) % 300 // case 214 has a pool whose units are off
		r := rand.New(rand.NewPCG(uint64(at), 216))
		n, post, box := confinedGraph(t, r)
		hidden := len(post.Layers) - 1
		how := Proof{Open: make([][]int, hidden), Raised: make([][]int, hidden)}
		p := newConfined(t.Context(), n, box, 1e-2, &how, 0)
		likeCertify(t, p, post, box)
		row := property.Row{D: r.NormFloat64()}
		for range post.Outputs() {
			row.CLo = append(row.CLo, r.NormFloat64())
		}
		row.CHi, row.DHi = row.CLo, row.D
		w, below := leafOf(r, p, &row)
		for range 6 {
			var x []*big.Rat
			for j, lo := range box.Lo {
				x = append(x, checktest.Exactly(lo+float64(r.IntN(3))/2*(box.Hi[j]-lo)))
			}
			var out [][]*big.Rat
			var pre [][]int
			for k, l := range post.Layers[:hidden] {
				var z []*big.Rat
				for _, s := range post.Network().Feed(k) {
					if s < 0 {
						z = append(z, x...)
					} else {
						z = append(z, out[s]...)
					}
				}
				zeta := networktest.Map(l.Map, l.Weight.Mean, l.Bias.Mean, z)
				if _, pool := l.Map.(net.MaxPool); pool {
					pools++
				}
				signs := make([]int, len(zeta))
				for i := range zeta {
					if p.Off[k] != nil {
						share := []float64{-1, 1, 1, -1, r.Float64()}[r.IntN(5)]
						zeta[i] = new(big.Rat).Add(zeta[i], new(big.Rat).Mul(checktest.Exactly(p.Off[k][i]), checktest.Exactly(share)))
					}
					if lo, hi := p.Hidden[k].Pre.Lo[i], p.Hidden[k].Pre.Hi[i]; !math.IsInf(lo, -1) && zeta[i].Cmp(checktest.Exactly(lo)) < 0 || !math.IsInf(hi, 1) && zeta[i].Cmp(checktest.Exactly(hi)) > 0 {
						t.Fatalf("case %d: neuron %d of layer %d is %v, bounds [%v, %v] in %v", at, i, k, zeta[i].FloatString(9), lo, hi, post.Network())
					}
					signs[i] = zeta[i].Sign()
					if l.Activation.Kind == net.ReLU && zeta[i].Sign() < 0 {
						zeta[i] = new(big.Rat)
					}
				}
				out = append(out, zeta)
				pre = append(pre, signs)
			}
			if slices.ContainsFunc(w.open, func(o openNeuron) bool { return pre[o.layer][o.unit]*o.sign < 0 }) {
				continue
			}
			there++
			var z []*big.Rat
			for _, s := range post.Network().Feed(hidden) {
				if s < 0 {
					z = append(z, x...)
				} else {
					z = append(z, out[s]...)
				}
			}
			value := checktest.Exactly(row.D)
			for i, v := range networktest.Map(post.Layers[hidden].Map, post.Layers[hidden].Weight.Mean, post.Layers[hidden].Bias.Mean, z) {
				value.Add(value, v.Mul(v, checktest.Exactly(row.CLo[i])))
			}
			if !math.IsInf(below, -1) && value.Cmp(checktest.Exactly(below)) < 0 {
				t.Fatalf("case %d: the row is %v, its bound %v in %v", at, value.FloatString(9), below, post.Network())
			}
		}
	}
	if all >= 30 && (pools == 0 || there < 10) {
		t.Errorf("%d max pools, %d points with the signs of a leaf: the test misses its cases", pools, there)
	}
}

// leafOf is a leaf of a row whose noise does not count, with random signs, multipliers and lower lines,
// and its bound.
func leafOf(r *rand.Rand, p *confined, row *property.Row) (*treeWalk, float64) {
	s, c := p.Pass.Layers[len(p.Hidden)].Merged(row)
	w := &treeWalk{Pass: &p.Pass}
	multipliers := make([][]float64, len(p.Hidden))
	lower := lowersOf(&p.Pass)
	for l := range p.Hidden {
		multipliers[l], lower[l] = make([]float64, len(lower[l])), slices.Clone(lower[l])
		for i := range lower[l] {
			if !hasPhases(&p.Mean[l]) {
				continue
			}
			if o := (openNeuron{layer: l, unit: i, sign: []int{0, 0, 0, 0, 1, -1}[r.IntN(6)]}); o.sign != 0 && len(w.open) < 3 {
				w.open, multipliers[l][i] = append(w.open, o), math.Abs(r.NormFloat64())
			} else {
				setLower(&p.Hidden[l], lower[l], i, byte(r.IntN(129)))
			}
		}
	}
	return w, w.Down(len(p.Mean)-1, s, c, relax.Way{Lower: lower, Signs: w.signs(), Multipliers: multipliers})
}

// likeCertify compares what noise of units there is with certify's, for the bounds that p has.
func likeCertify(t *testing.T, p *confined, post *posterior.Posterior, box property.Box) {
	t.Helper()
	var absMeans [][]float64
	for _, l := range post.Layers {
		list := make([]float64, len(l.Weight.Mean))
		for j, mean := range l.Weight.Mean {
			list[j] = gauss.AbsMeanUp(mean, l.Weight.SdHi[j])
		}
		absMeans = append(absMeans, list)
	}
	noise, reach := branch.NewNoise(post, absMeans, 1e-2), branch.ReachOf(box)
	if got, want := ConfinedEvents(p.Noisy, 3), noise.EventsUp(3); got != want {
		t.Errorf("%v events, certify has %v", got, want)
	}
	var outputs []branch.Reach
	for k := range p.Hidden {
		in := noise.Into(k, &reach, outputs)
		if p.Off[k] != nil {
			for i, v := range noise.KappaUp(k, nil, &in) {
				if is := p.Off[k][i]; math.Abs(is-v) > 1e-9*(1+v) {
					t.Fatalf("neuron %d of layer %d is off by %v, by certify %v in %v", i, k, is, v, post.Network())
				}
			}
		}
		outputs = append(outputs, noise.OutputsUp(k, &in, p.Hidden[k].Pre.Lo, p.Hidden[k].Pre.Hi))
	}
}

// TestConfinedGraphsGenuine: what certify proves of graphs by phases is proved again, and not of a row
// that is lower by more than what is left.
func TestConfinedGraphsGenuine(t *testing.T) {
	proved, cut, all := 0, 0, testscale.Cases(t, 200)
	for at := range all {
		r := rand.New(rand.NewPCG(uint64(at), 217))
		_, post, _ := confinedGraph(t, r)
		for k := range post.Layers { // narrow enough for something to be proved
			for _, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
				sd := make([]float64, len(g.SdHi))
				for i, v := range g.SdHi {
					sd[i] = v / 256
				}
				*g = posterior.NewParams(g.Mean, sd, posterior.ScaleSD)
			}
		}
		n, err := clbp.New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		task := checktest.KeptClass(r, post, []float64{1.0 / 16, 1.0 / 4, 1}[at%3])
		if confine.Fits(post) != nil || len(task.S.Any) != 1 || len(task.S.Any[0]) == 0 {
			continue
		}
		for _, result := range checktest.Certified(t, bound.Precision(at%2), post, prove.Config{Method: prove.Phases, Cells: 1}, []property.Task{task}) {
			if !(result.Lower() > 0) {
				continue
			}
			text, err := json.Marshal(result.Proof.Phases)
			if err != nil {
				t.Fatal(err)
			}
			var how []Proof
			if err := json.Unmarshal(text, &how); err != nil {
				t.Fatal(err)
			}
			proved++
			cut += CutsOfPhases(how)
			if err := ConfinedOn(t.Context(), n, &task.S, task.T[0], cases.ClausesOf(&task.S), result.Tau, &how[0]); err != nil {
				t.Errorf("case %d: %v in %v", at, err, post.Network())
			}
			lower := task
			lower.S.Rows = slices.Clone(task.S.Rows)
			row := &lower.S.Rows[task.S.Any[0][0]]
			row.D, row.DHi = row.D-1e3, row.DHi-1e3
			if err := ConfinedOn(t.Context(), n, &lower.S, lower.T[0], cases.ClausesOf(&lower.S), result.Tau, &how[0]); err == nil {
				t.Errorf("case %d: a row that is negative is proved", at)
			}
		}
	}
	if t.Logf("%d proved, %d cuts", proved, cut); all >= 20 && proved < 3 {
		t.Errorf("%d proved: the test misses its cases", proved)
	}
}
