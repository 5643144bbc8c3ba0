package check

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/measure"
	"psafe/host/prove/phases"
	"psafe/host/prove/slack"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// phaseRecords are lines of records by phases that claim something.
func phaseRecords(t *testing.T) (lines [][]byte) {
	t.Helper()
	count := 3
	if testscale.Deep(t) {
		count = 20
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, eps := range []string{"0.02", "0.05"} {
			j := images("glyphs-64-24-24-10.npz", count, eps, certify.Method{By: new(prove.Phases), NoUpper: true}, p)
			for _, line := range written(t, j) {
				if !bytes.Contains(line, []byte(`"p_lower":0,`)) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// withPhases is a line with another proof, and the checksum that fits.
func withPhases(t *testing.T, line []byte, change func(p *phaseProof)) []byte {
	t.Helper()
	r, err := parseRecord(line)
	if err != nil {
		t.Fatal(err)
	}
	var proofs []phaseProof
	if err := json.Unmarshal(r.Proof.Phases, &proofs); err != nil {
		t.Fatal(err)
	}
	change(&proofs[0])
	text, err := json.Marshal(proofs)
	if err != nil {
		t.Fatal(err)
	}
	return resealed(bytes.Replace(line, r.Proof.Phases, text, 1))
}

// tallest is the tree with the most cuts.
func tallest(p *phaseProof) *phaseTree {
	best := &p.Trees[0]
	for i := range p.Trees {
		if len(p.Trees[i].Cuts) > len(best.Cuts) {
			best = &p.Trees[i]
		}
	}
	return best
}

// TestCheckPhases: every record passes, and none passes that claims more, or whose proof is of
// another network, ends early, goes on, covers less or has multipliers that are none.
func TestCheckPhases(t *testing.T) {
	lines := phaseRecords(t)
	if len(lines) < 4 {
		t.Fatalf("only %d records claim something", len(lines))
	}
	var c Checker
	refused := func(what, says string, line []byte) {
		t.Helper()
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), says) {
			t.Errorf("%s: %v %v\n%.300s", what, err, v.Refused, line)
		}
	}
	cut := 0
	for i, line := range lines {
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
			t.Errorf("line %d: %v %v\n%s", i, err, v.Refused, line)
			continue
		}
		r, _ := parseRecord(line)
		p := 1 - (1-r.PLower.Lo)*0.99
		refused("a better bound", "p_lower", claiming(t, line, p))
		refused("a larger eps", "below 0", resealed(bytes.Replace(line, []byte(`"eps":"0.0`), []byte(`"eps":"0.5`), 1)))
		refused("no proof", "phases", resealed(bytes.Replace(line, append([]byte(`"phases":`), r.Proof.Phases...), []byte(`"phases":[]`), 1)))
		refused("another budget", "tau", changed(t, line, `"tau":\[[^]]*\]`, `"tau":[1e-8]`))
		for what, of := range map[string]struct {
			says   string
			change func(p *phaseProof)
		}{
			"a tree less":       {"8 rows", func(p *phaseProof) { p.Trees = p.Trees[1:] }},
			"a leaf more":       {"goes on", func(p *phaseProof) { p.Trees[0].Cuts = append(p.Trees[0].Cuts, leaf) }},
			"a byte more":       {"goes on", func(p *phaseProof) { p.Trees[0].Leaves = append(p.Trees[0].Leaves, 0) }},
			"a byte less":       {"bytes left", func(p *phaseProof) { p.Trees[0].Leaves = p.Trees[0].Leaves[1:] }},
			"no tree":           {"ends before", func(p *phaseProof) { p.Trees[0].Cuts = []int{} }},
			"slopes more":       {"slopes", func(p *phaseProof) { p.Slopes = append(p.Slopes, 1) }},
			"a neuron too far":  {"out of order", func(p *phaseProof) { p.Open[0][0] = 24 }},
			"neurons in rounds": {"out of order", func(p *phaseProof) { p.Open[1] = []int{3, 3} }},
			"a cut too many":    {"the limit is", func(p *phaseProof) { p.Trees[0].Cuts = make([]int, mostPhaseCuts+1) }},
			"a layer less":      {"layers", func(p *phaseProof) { p.Open = p.Open[:1] }},
		} {
			refused(what, of.says, withPhases(t, line, of.change))
		}
		var how []phaseProof
		if err := json.Unmarshal(r.Proof.Phases, &how); err != nil {
			t.Fatal(err)
		}
		if len(tallest(&how[0]).Cuts) == 1 {
			continue
		}
		cut++
		refused("half of a cut", "ends before", withPhases(t, line, func(p *phaseProof) {
			tree := tallest(p)
			tree.Cuts = tree.Cuts[:len(tree.Cuts)-1]
		}))
		refused("a neuron cut twice", "twice", withPhases(t, line, func(p *phaseProof) {
			tree := tallest(p)
			tree.Cuts = append([]int{tree.Cuts[0]}, tree.Cuts...)
			tree.Cuts = append(tree.Cuts, leaf)
		}))
		refused("multipliers below 0", "multiplier", withPhases(t, line, func(p *phaseProof) {
			tree := tallest(p)
			tree.Leaves[len(tree.Leaves)-2] |= 0x80
			tree.Leaves[len(tree.Leaves)-1] |= 1
		}))
	}
	if cut == 0 {
		t.Error("no record has a cut")
	}
}

// confinedCase is a random posterior, what the checker makes of it, and a proof with random slopes.
type confinedCase struct {
	post *posterior.Posterior
	n    *noisy
	box  property.Box
	how  phaseProof
	row  property.Row
}

func newConfinedCase(t *testing.T, r *rand.Rand, sizes ...int) *confinedCase {
	t.Helper()
	c := &confinedCase{post: &posterior.Posterior{Scale: posterior.ScaleSD}}
	params := func(n int) posterior.Params {
		mean, sd := make([]float64, n), make([]float64, n)
		for i := range mean {
			mean[i], sd[i] = r.NormFloat64(), 0.1*r.Float64()
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	for k := 1; k < len(sizes); k++ {
		a := net.Activation{Kind: net.ReLU}
		if k == len(sizes)-1 {
			a = net.Activation{}
		}
		c.post.Layers = append(c.post.Layers, posterior.Layer{Layer: net.DenseLayer(sizes[k-1], sizes[k], a), Weight: params(sizes[k-1] * sizes[k]), Bias: params(sizes[k])})
	}
	for range sizes[0] {
		x := r.NormFloat64()
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+r.Float64())
	}
	var err error
	if c.n, err = newNoisy(c.post); err != nil {
		t.Fatal(err)
	}
	below := 0
	for k := range len(sizes) - 2 {
		var open, raised []int
		for i := range sizes[k+1] {
			if r.IntN(4) > 0 {
				open = append(open, i)
			}
			if k > 0 && r.IntN(2) == 0 {
				raised = append(raised, i)
			}
		}
		for range 2 * len(raised) * below {
			c.how.Slopes = append(c.how.Slopes, byte(r.IntN(256))) // above 128 is none
		}
		below += len(open)
		c.how.Open, c.how.Raised = append(c.how.Open, open), append(c.how.Raised, raised)
	}
	for range sizes[len(sizes)-1] {
		v := r.NormFloat64()
		c.row.CLo, c.row.CHi = append(c.row.CLo, v), append(c.row.CHi, v)
	}
	c.row.D = r.NormFloat64()
	c.row.DHi = c.row.D
	return c
}

// exactAt are the pre-activations, and the row less its noise, of the means with biases that are
// off by shares of the noise.
func (c *confinedCase) exactAt(x []float64, by [][]float64, share func() float64, rowBy float64) (pre [][]*big.Rat, row *big.Rat) {
	var z []*big.Rat
	for _, v := range x {
		z = append(z, exactly(v))
	}
	for k := range c.post.Layers {
		l := &c.post.Layers[k]
		var zeta []*big.Rat
		for i := range l.Outputs() {
			s := exactly(l.Bias.Mean[i])
			if k < len(by) {
				s.Add(s, new(big.Rat).Mul(exactly(by[k][i]), exactly(share())))
			}
			for j, v := range z {
				s.Add(s, new(big.Rat).Mul(exactly(l.Weight.Mean[j*l.Outputs()+i]), v))
			}
			zeta = append(zeta, s)
		}
		pre, z = append(pre, zeta), nil
		for _, v := range zeta {
			if v.Sign() < 0 {
				v = new(big.Rat)
			}
			z = append(z, v)
		}
	}
	row = new(big.Rat).Sub(exactly(c.row.D), exactly(rowBy))
	for i, v := range pre[len(pre)-1] {
		row.Add(row, new(big.Rat).Mul(exactly(c.row.CLo[i]), v))
	}
	return pre, row
}

// TestConfinedBelow: at no input, and for no biases that are off by what noise may do, is a hidden
// neuron outside of its bounds, nor the row below the bound of a leaf whose signs the neurons have,
// whatever slopes and multipliers are.
func TestConfinedBelow(t *testing.T) {
	there := 0
	for at := range testscale.Cases(t, 300) {
		r := rand.New(rand.NewPCG(uint64(at), 211))
		c := newConfinedCase(t, r, [][]int{{2, 4, 3, 2}, {1, 5, 2}, {2, 3, 3, 3, 2}}[at%3]...)
		p := c.n.confine(t.Context(), c.box, 1e-3, &c.how, uint64(at%3))
		last := len(c.post.Layers) - 1
		by := make([][]float64, last)
		for k := range by {
			b := p.pass.layers[k].b
			for i, mean := range c.post.Layers[k].Bias.Mean { // both ends are rounded outward
				by[k] = append(by[k], math.Nextafter(min(mean-b.lo[i], b.hi[i]-mean), 0))
			}
		}
		w := c.walk(p)
		rowBy := p.noiseUp(last, absOf(c.row.CLo))[0]
		for range 12 {
			lower, multipliers := c.someLeaf(r, w)
			lo := w.rowLo(lower, multipliers)
			for range 20 {
				x := make([]float64, len(c.box.Lo))
				for j := range x {
					x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)]
				}
				pre, row := c.exactAt(x, by, func() float64 { return []float64{-1, 1, 2*r.Float64() - 1}[r.IntN(3)] }, rowBy)
				for k := range last {
					for i, v := range pre[k] {
						if v.Cmp(exactly(p.hidden[k].pre.lo[i])) < 0 || v.Cmp(exactly(p.hidden[k].pre.hi[i])) > 0 {
							t.Fatalf("case %d: neuron %d of layer %d is %v, bounds [%v, %v]", at, i, k, v.FloatString(9), p.hidden[k].pre.lo[i], p.hidden[k].pre.hi[i])
						}
					}
				}
				if slices.ContainsFunc(w.open, func(o openNeuron) bool { return pre[o.layer][o.unit].Sign()*o.sign < 0 }) {
					continue
				}
				there++
				if row.Cmp(exactly(lo)) < 0 {
					t.Fatalf("case %d: the row is %v, its bound %v", at, row.FloatString(9), lo)
				}
			}
		}
	}
	if there < 200 {
		t.Errorf("only %d points have the signs of a leaf", there)
	}
}

// walk is one through the tree of the case's row.
func (c *confinedCase) walk(p *confined) *treeWalk {
	last := len(c.post.Layers) - 1
	s, k := p.pass.layers[last].merged(&c.row)
	k.Plus(-p.noiseUp(last, absOf(c.row.CLo))[0])
	w := &treeWalk{confined: p, s: s, c: k}
	for l, list := range c.how.Open {
		for _, j := range list {
			w.open = append(w.open, openNeuron{layer: l, unit: j})
		}
	}
	return w
}

func absOf(list []float64) (of []float64) {
	for _, v := range list {
		of = append(of, math.Abs(v))
	}
	return of
}

// someLeaf gives some neurons signs, others slopes.
func (c *confinedCase) someLeaf(r *rand.Rand, w *treeWalk) (lower [][]line, multipliers [][]float64) {
	for l := range w.hidden {
		lower, multipliers = append(lower, slices.Clone(w.hidden[l].lower)), append(multipliers, make([]float64, len(w.hidden[l].lower)))
	}
	for o := range w.open {
		n := &w.open[o]
		switch n.sign = 0; r.IntN(4) {
		case 0:
			n.sign, multipliers[n.layer][n.unit] = 1-2*r.IntN(2), math.Abs(r.NormFloat64())
		default:
			w.setLower(lower[n.layer], n.layer, n.unit, byte(r.IntN(256)))
		}
	}
	return lower, multipliers
}

// TestConfinedLikeCertify: noise and events are the same numbers as those that certify finds by
// other code, but for roundings.
func TestConfinedLikeCertify(t *testing.T) {
	for at := range testscale.Cases(t, 40) {
		r := rand.New(rand.NewPCG(uint64(at), 212))
		c := newConfinedCase(t, r, 3, 4, 3, 2)
		if at%4 == 0 {
			l := &c.post.Layers[at/4%3]
			l.Weight = posterior.NewParams(l.Weight.Mean, make([]float64, len(l.Weight.Mean)), posterior.ScaleSD)
			l.Bias = posterior.NewParams(l.Bias.Mean, make([]float64, len(l.Bias.Mean)), posterior.ScaleSD)
			var err error
			if c.n, err = newNoisy(c.post); err != nil {
				t.Fatal(err)
			}
		}
		var absMeans [][]float64
		for k := range c.post.Layers {
			g, list := &c.post.Layers[k].Weight, []float64(nil)
			for j, mean := range g.Mean {
				list = append(list, measure.AbsMeanUp(mean, g.SdHi[j]))
			}
			absMeans = append(absMeans, list)
		}
		noise := phases.NewNoise(c.post, absMeans, 1e-3)
		if got, want := c.n.confinedEvents(5), noise.EventsUp(5); got != want {
			t.Errorf("case %d: %v events, certify has %v", at, got, want)
		}
		p := c.n.confine(t.Context(), c.box, 1e-3, &c.how, 0)
		var lo, hi [][]float64
		for k := range p.hidden {
			lo, hi = append(lo, p.hidden[k].pre.lo), append(hi, p.hidden[k].pre.hi)
		}
		by, row := noise.AllUp(c.box, lo, hi, []property.Row{c.row})
		for k := range by {
			for i, v := range by[k] {
				is := c.post.Layers[k].Bias.Mean[i] - p.pass.layers[k].b.lo[i]
				if math.Abs(is-v) > 1e-9*(1+v) {
					t.Errorf("case %d: neuron %d of layer %d is off by %v, by certify %v", at, i, k, is, v)
				}
			}
		}
		if is := p.noiseUp(2, absOf(c.row.CLo))[0]; math.Abs(is-row[0]) > 1e-9*(1+is) {
			t.Errorf("case %d: the row is off by %v, by certify %v", at, is, row[0])
		}
	}
}

// TestConfinedRefuses: posteriors and sets that phases are none for have no proof by them.
func TestConfinedRefuses(t *testing.T) {
	lines := phaseRecords(t)
	for _, of := range []struct{ what, from, to, says string }{
		{"cells", `"method":"phases"`, `"method":"phases","cells":1`, "cells"},
		{"a tau of another method", `"method":"phases"`, `"method":"clbp"`, ""},
	} {
		var c Checker
		bad := resealed(bytes.Replace(lines[0], []byte(of.from), []byte(of.to), 1))
		if v, err := c.Check(t.Context(), bad, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), of.says) {
			t.Errorf("%s: %v %v", of.what, err, v.Refused)
		}
	}
	post := newConfinedCase(t, rand.New(rand.NewPCG(1, 213)), 2, 3, 2).post
	post.Layers[0].Activation = net.Activation{Kind: net.Tanh}
	n, err := newNoisy(post)
	if err != nil || n.splits() {
		t.Errorf("%v: a tanh splits", err)
	}
}

// TestPhasesOutputNoise: a row that is positive but for the noise of the last layer is not proved.
func TestPhasesOutputNoise(t *testing.T) {
	for at := range 20 {
		r := rand.New(rand.NewPCG(uint64(at), 214))
		c := newConfinedCase(t, r, 2, 4, 3, 2)
		for k := range c.how.Open {
			c.how.Open[k], c.how.Raised[k] = nil, nil
		}
		c.how.Slopes = nil
		for _, share := range []float64{0.5, 1.5} {
			c.row.D = 0
			p := c.n.confine(t.Context(), c.box, 1e-3, &c.how, 0)
			w := c.walk(p)
			by := p.noiseUp(2, absOf(c.row.CLo))[0]
			c.row.D = share*by - by - w.rowLo(lowersOf(w), make([][]float64, 2)) // now the row is share*by before its noise
			err := p.rowHolds(t.Context(), &c.row, &phaseTree{Cuts: []int{leaf}})
			if (err == nil) != (share > 1) {
				t.Errorf("case %d: %v times its noise of %v: %v", at, share, by, err)
			}
		}
	}
}

// lowersOf are the lower lines that hidden layers have.
func lowersOf(w *treeWalk) (lower [][]line) {
	for l := range w.hidden {
		lower = append(lower, w.hidden[l].lower)
	}
	return lower
}

// TestNeuronSigns: where a neuron has its sign the new row is below the old one, whatever is rounded.
func TestNeuronSigns(t *testing.T) {
	for at := range testscale.Cases(t, 500) {
		r := rand.New(rand.NewPCG(uint64(at), 215))
		lo, hi := -r.Float64(), r.Float64()
		h := hidden{pre: span{[]float64{lo}, []float64{hi}}, z: span{[]float64{0}, []float64{hi}}, lower: []line{{}}, upper: []line{{1, 0}}}
		h.arg = h.pre
		s, m := r.NormFloat64(), math.Abs(r.NormFloat64())*math.Ldexp(1, -r.IntN(60))
		sign := 1 - 2*r.IntN(2)
		var c arith.Sum
		a := h.throughSigns(span{[]float64{s}, []float64{s + r.Float64()}}, h.lower, []int{sign}, []float64{m}, &c)
		for _, v := range []float64{0, lo, hi} {
			if v*float64(sign) < 0 {
				continue
			}
			is := new(big.Rat).Add(exactly(c.Lo()), new(big.Rat).Mul(exactly(a[0]), exactly(v)))
			row := new(big.Rat).Mul(exactly(s), exactly(max(v, 0)))
			if is.Cmp(row) > 0 {
				t.Fatalf("case %d: sign %d, coefficient %v, multiplier %v: %v at %v is above %v", at, sign, s, m, is.FloatString(25), v, row.FloatString(25))
			}
		}
	}
}

// TestPhasesOfBoxes: a T of several boxes has an event and a proof for each, and half of what they
// TestPhaseCuts: as many cuts pass as certify makes.
func TestPhaseCuts(t *testing.T) {
	if mostPhaseCuts < slack.PhaseProblems/2 {
		t.Errorf("%d cuts pass, certify makes up to %d", mostPhaseCuts, slack.PhaseProblems/2)
	}
}

// fail with is no claim.
func TestPhasesOfBoxes(t *testing.T) {
	post := newConfinedCase(t, rand.New(rand.NewPCG(3, 216)), 2, 4, 3, 2).post
	post.Layers[2].Bias.Mean[0] += 50
	dir := t.TempDir()
	var content bytes.Buffer
	if err := format.WriteNPZ(&content, post); err != nil {
		t.Fatal(err)
	}
	file, inputs := filepath.Join(dir, "net.npz"), filepath.Join(dir, "p.json")
	text := `{"properties": [{"name": "two", "kind": "argmax_is", "class": 0, "boxes": [[[0, 0.5], [0, 0.1]], [[0.7, 0.8], [-0.1, 0.1]]]}]}`
	for path, b := range map[string][]byte{file: content.Bytes(), inputs: []byte(text)} {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	line := written(t, &certify.Job{Posterior: certify.Posterior{Path: file}, Tasks: certify.Tasks{File: inputs}, Precision: new(bound.Float32), Version: "test",
		Method: certify.Method{By: new(prove.Phases), NoUpper: true}})[0]
	var c Checker
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
		t.Fatalf("%v %v: %s", err, v.Refused, line)
	}
	r, err := parseRecord(line)
	if err != nil {
		t.Fatal(err)
	}
	half := claiming(t, line, 1-(1-r.PLower.Lo)/2)
	if v, err := c.Check(t.Context(), half, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "p_lower") {
		t.Errorf("half of the failure: %v %v", err, v.Refused)
	}
	var proofs []json.RawMessage
	if err := json.Unmarshal(r.Proof.Phases, &proofs); err != nil || len(proofs) != 2 {
		t.Fatalf("%d proofs, %v", len(proofs), err)
	}
	one := resealed(bytes.Replace(line, r.Proof.Phases, []byte("["+string(proofs[0])+"]"), 1))
	if v, err := c.Check(t.Context(), one, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "2 boxes") {
		t.Errorf("one proof: %v %v", err, v.Refused)
	}
}

// TestAutoByPhases: auto confines noise where concentration LBP shows too little, its records are
// proved again, and where that is enough for what is required it is the end.
func TestAutoByPhases(t *testing.T) {
	auto := func(count int, eps string, require string) (by []string) {
		j := images("glyphs-64-24-24-10.npz", count, eps, certify.Method{}, bound.Float32)
		j.Require = require
		var c Checker
		for i, line := range written(t, j) {
			if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
				t.Errorf("eps %s, line %d: %v %v\n%s", eps, i, err, v.Refused, line)
			}
			r, err := parseRecord(line)
			if err != nil {
				t.Fatal(err)
			}
			if by = append(by, r.Method); r.Method == "phases" && r.PLower.Lo < 0.9999 {
				t.Errorf("eps %s, line %d: p_lower %v by phases", eps, i, r.PLower)
			}
		}
		return by
	}
	if by := auto(5, "0.05", ""); by[4] != "phases" || slices.Contains(by[:4], "phases") {
		t.Errorf("eps 0.05: %v", by)
	}
	for require, want := range map[string]string{"": "phases", "0.99": "clbp", "0.999": "phases"} {
		if by := auto(1, "0.03", require); by[0] != want {
			t.Errorf("eps 0.03, %q required: %v, want %s", require, by, want)
		}
	}
}
