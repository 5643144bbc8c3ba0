package check

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// otherOf is a network beside a posterior, its mean network or one near it with its layers or with others, and how
// Points.Other names it: a file that it writes.
func otherOf(t *testing.T, rng *rand.Rand, post *posterior.Posterior) (g *posterior.Posterior, words string) {
	t.Helper()
	g, err := post.MeanNetwork()
	if err == nil && rng.IntN(4) == 0 {
		return g, certify.OtherMean
	}
	if err != nil || rng.IntN(3) == 0 {
		g = checktest.RandomAbout(rng, 0, 0, post.Inputs(), 3, post.Outputs())
	} else {
		for _, of := range g.Params() {
			of.Mean = slices.Clone(of.Mean)
			for i := range of.Mean {
				of.Mean[i] = math.Round(32*of.Mean[i]) / 32
			}
		}
	}
	return g, networkFile(t, g)
}

// networkFile writes a network.
func networkFile(t *testing.T, g *posterior.Posterior) string {
	t.Helper()
	var file bytes.Buffer
	err := format.WriteNPZ(&file, g)
	path := filepath.Join(t.TempDir(), "other.npz")
	if err == nil {
		err = os.WriteFile(path, file.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// meanFile writes the mean network of a file.
func meanFile(t *testing.T, path string) string {
	t.Helper()
	post, err := format.Read(path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return networkFile(t, post.AtMean())
}

// compared is what is asked of the outputs of two networks: words of --relation and --property, and a margin.
func compared(rng *rand.Rand, m int) (relation, property string, margin func(y, z []float64) float64) {
	most := math.Ldexp(float64(1+rng.IntN(12)), -3-rng.IntN(4))
	within := func(y, z []float64) float64 {
		margin := most
		for i := range y {
			margin = min(margin, most-math.Abs(y[i]-z[i]))
		}
		return margin
	}
	switch rng.IntN(4) {
	case 0:
		return "same_class", "keeps_class", func(y, z []float64) float64 {
			best := math.Inf(-1)
			for c := range m {
				margin := math.Inf(1)
				for i := range m {
					if i != c {
						margin = min(margin, y[c]-y[i], z[c]-z[i])
					}
				}
				best = max(best, margin)
			}
			return best
		}
	case 1:
		box := "output_box:"
		for i := range 2 * m {
			box += fmt.Sprintf("%s[%v,%v]", []string{"", ","}[min(i, 1)], -4*most, 4*most)
		}
		return "", box, func(y, z []float64) float64 {
			margin := math.Inf(1)
			for _, v := range slices.Concat(y, z) {
				margin = min(margin, 4*most-math.Abs(v))
			}
			return margin
		}
	}
	return fmt.Sprintf("within:%v", most), "keeps_class", within
}

// TestOther: bounds of two networks are those of drawn ones beside the other; records pass and say no more than they
// may.
func TestOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 12))
	lower, upper := 0, 0
	for i := range testscale.Cases(t, 160) {
		post := checktest.RandomAbout(rng, 0, []float64{0.1, 0.03, 0.4}[i%3], [][]int{{2, 4, 3}, {1, 3, 3, 2}, {2, 3, 2}, {2, 2}}[rng.IntN(4)]...)
		if i%8 == 3 {
			post = post.LastRandom(1)
		}
		if i%8 == 7 {
			post = checktest.Sketched(rng, []string{"residual", "concat", "conv and pool", "certain below"}[rng.IntN(4)], network.Activation{Kind: network.ReLU}, 0.03)
		}
		g, other := otherOf(t, rng, post)
		n, point, std, words := post.Inputs(), i%4 > 1, []float64{0.25, 1, 2}[rng.IntN(3)], ""
		x, eps := make([]float64, n), 0.125
		if point {
			eps = 0
		}
		for k := range x {
			x[k] = math.Round(8*rng.NormFloat64()) / 8
			words = fmt.Sprintf("%s,%v", words, x[k])
		}
		j := jobOf(t, post, words[1:]+"\n", []bound.Precision{bound.Float32, bound.Float64}[i/2%2])
		p := &j.Tasks.Points
		var margin func(y, z []float64) float64
		p.Relation, p.Property, margin = compared(rng, post.Outputs())
		p.Eps, p.Other, p.Mean, p.Std = fmt.Sprint(eps), other, "0.5", fmt.Sprint(std)
		j.Method.Each, j.Method.NoUpper, j.Method.Cells = i%5 == 0, i%3 > 0, new(1+i%4)
		j.Method.By = new([]prove.Method{prove.CLBP, prove.Auto}[i%8/6])
		a, b := onlyTrue(t, j)
		lower, upper = lower+a, upper+b
		line := written(t, j)[0]
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 1000
		safe, unsafe := drawnBeside(rng, post, g, margin, x, eps, std, draws)
		if allowed := checktest.Allows(1-r.PLower.Lo, draws); unsafe > allowed {
			t.Errorf("case %d: p_lower %v, %d of %d fail: %s", i, r.PLower.Lo, unsafe, draws, line)
		}
		if allowed := checktest.Allows(r.PUpper.Hi, draws); safe > allowed && point {
			t.Errorf("case %d: p_upper %v, %d of %d hold: %s", i, r.PUpper.Hi, safe, draws, line)
		}
		g, file := otherOf(t, rng, post)
		again := changed(t, line, `"other":"[^"]*"`, fmt.Sprintf(`"other":%q`, file))
		if _, unsafe := drawnBeside(rng, post, g, margin, x, eps, std, draws); unsafe > checktest.Allows(1-r.PLower.Lo, draws) && passes(t, again) == nil {
			t.Errorf("case %d: another network passes: %s", i, line)
		}
	}
	if t.Logf("%d lower bounds, %d upper", lower, upper); testscale.Factor(t) >= 0.1 && (lower == 0 || upper == 0) {
		t.Errorf("%d lower bounds, %d upper", lower, upper)
	}
}

// drawnBeside counts drawn networks whose outputs surely are as asked beside those of g, at points of T, and those
// whose surely are not at one.
func drawnBeside(rng *rand.Rand, post, g *posterior.Posterior, margin func(y, z []float64) float64, x []float64, eps, std float64, draws int) (safe, unsafe int) {
	w, at := post.NewWeights(), make([]float64, len(x))
	other := g.Network().NewPass(g.Mean())
	for d := range draws {
		post.Draw(7, d, w)
		pass, least := post.Network().NewPass(w), math.Inf(1)
		for range 12 {
			for k := range at {
				by := float64(2*rng.IntN(2) - 1)
				if rng.IntN(4) == 0 {
					by = 2*rng.Float64() - 1
				}
				at[k] = (x[k] + by*eps - 0.5) / std
			}
			least = min(least, margin(pass.Forward(at), other.Forward(at)))
		}
		if least > 1e-9 {
			safe++
		}
		if least < -1e-9 {
			unsafe++
		}
	}
	return safe, unsafe
}

// TestOtherExact: of one linear unit y = w x + b beside y = x/2 + 1/4, bounds are those of their difference, which is
// normal; drawn networks are as often within as it is, and of a finite set all are counted.
func TestOtherExact(t *testing.T) {
	unit := func(w, b posterior.Params) *posterior.Posterior {
		return checktest.OfLayers(posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: w, Bias: b})
	}
	post := unit(checktest.WeightsOf(0.5, 0.25, 1), checktest.WeightsOf(0, 0.25, 1))
	other := networkFile(t, unit(checktest.WeightsOf(0.5, 0, 1), checktest.WeightsOf(0.25, 0, 1)))
	job := func(post *posterior.Posterior, relation string) (*certify.Job, *record.Record) {
		j := jobOf(t, post, "2\n", bound.Float64)
		j.Tasks.Points.Relation, j.Tasks.Points.Other = relation, other
		line := written(t, j)[0]
		r, err := record.Parse(line)
		if err != nil || passes(t, line) != nil {
			t.Fatalf("%v, %v: %s", err, passes(t, line), line)
		}
		return j, r
	}
	const sd = 0.5590169943749475 // sqrt(2^2/16 + 1/16)
	for most, loose := range map[float64]float64{0.5: 0.3, 1: 0.1, 2: 0.01, 0: 1} {
		p := (math.Erf((most+0.25)/sd/math.Sqrt2) - math.Erf((0.25-most)/sd/math.Sqrt2)) / 2
		j, r := job(post, fmt.Sprintf("within:%v", most))
		if r.PLower.Lo > p+1e-12 || r.PUpper.Hi < p-1e-12 || r.PUpper.Hi-r.PLower.Lo > loose {
			t.Errorf("within %v: [%v, %v], it is %v", most, r.PLower.Lo, r.PUpper.Hi, p)
		}
		j.Method = certify.Method{By: new(prove.Statistical), Draws: new(400)}
		if r, err := record.Parse(written(t, j)[0]); err != nil || r.Statistical.Unsafe > checktest.Allows(1-p, 400) || r.Statistical.Safe > checktest.Allows(p, 400) {
			t.Errorf("%v: within %v, which %v are: %+v", err, most, p, r.Statistical)
		}
	}
	set := &posterior.Finite{Counts: []int64{1, 2, 4}, Stack: [][]float64{{0.5, 1, 2}, {0, 0, 0}}} // 1, 2 and 4, beside 1.25
	all, err := posterior.FromFinite(post.Layers, set)
	if err != nil {
		t.Fatal(err)
	}
	for relation, want := range map[string]float64{"within:0.24": 0, "within:0.26": 1, "within:0.7": 1, "within:0.8": 3, "within:3": 7} {
		if _, r := job(all, relation); math.Abs(7*r.PLower.Lo-want) > 1e-9 || math.Abs(7*r.PUpper.Hi-want) > 1e-9 {
			t.Errorf("%s: %v to %v, %v of 7 are", relation, r.PLower.Lo, r.PUpper.Hi, want)
		}
	}
}

// TestOtherForged: no record passes as one of another network, of none, of the mean, of other words, or with another
// digest, and one whose file was changed does not either.
func TestOtherForged(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 13))
	post := checktest.RandomAbout(rng, 0, 0.02, 2, 4, 3)
	mean, _ := post.MeanNetwork()
	far := checktest.RandomAbout(rng, 0, 0, 2, 4, 3)
	of := func(other, relation, property string) (*certify.Job, []byte) {
		j := jobOf(t, post, "0.3,-0.2\n", bound.Float64)
		p := &j.Tasks.Points
		p.Eps, p.Other, p.Relation, p.Property = "0.02", other, relation, property
		j.Method.NoUpper = true
		line := written(t, j)[0]
		if r, err := record.Parse(line); err != nil || passes(t, line) != nil || r.PLower.Lo < 0.9 {
			t.Fatalf("%v, %v: %s", err, passes(t, line), line)
		}
		return j, line
	}
	near := networkFile(t, mean)
	_, line := of(near, "within:1", "keeps_class")
	_, beside := of("mean", "within:1", "keeps_class")
	_, box := of(near, "", "output_box:[-99,99],[-99,99],[-99,99],[-99,99],[-99,99],[-99,99]")
	_, alone := of("", "", "output_box:[-99,99],[-99,99],[-99,99]")
	both := func(line []byte, words string) []byte {
		return changed(t, changed(t, line, `"relation":"[^"]*"`, `"relation":"`+words+`"`), `"property":"[^"]*"`, `"property":"`+words+`"`)
	}
	other := func(line []byte, words string) []byte {
		return changed(t, line, `"other":"[^"]*"`, fmt.Sprintf(`"other":%q`, words))
	}
	for what, line := range map[string][]byte{
		"another file":           other(line, networkFile(t, far)),
		"another digest":         changed(t, line, `"other_sha256":"[^"]*"`, `"other_sha256":"`+string(bytes.Repeat([]byte("0"), 64))+`"`),
		"no digest":              changed(t, line, `"other_sha256":"[^"]*",`, ""),
		"the mean with a digest": other(line, "mean"),
		"the mean as a file":     other(beside, near),
		"less":                   both(line, "within:0"),
		"less of the mean":       both(beside, "within:0.000001"),
		"a word":                 both(line, "within:x"),
		"two inputs":             both(line, "same_class:0.1"),
		"other words":            changed(t, line, `"property":"[^"]*"`, `"property":"within:2"`),
		"no other":               changed(t, beside, `"other":"[^"]*",`, ""),
		"a box of one":           changed(t, box, `"property":"[^"]*"`, `"property":"output_box:[-99,99],[-99,99],[-99,99]"`),
		"a class of the list":    changed(t, box, `"property":"[^"]*"`, `"property":"argmax_in:0,1,2"`),
		"a digest of none":       changed(t, alone, `"activations"`, `"other_sha256":"`+string(bytes.Repeat([]byte("0"), 64))+`","activations"`),
		"an other of none":       changed(t, alone, `"features_of"|"activations"`, `"other":"mean","activations"`),
	} {
		if passes(t, line) == nil {
			t.Errorf("%s passes: %s", what, line)
		}
	}
	if err := os.Rename(networkFile(t, far), near); err != nil {
		t.Fatal(err)
	}
	if passes(t, line) == nil {
		t.Errorf("a file that was changed passes: %s", line)
	}
}
