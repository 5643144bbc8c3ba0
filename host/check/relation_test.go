package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// related is a random relation: its words, and by how much outputs at x and x' satisfy it. move is how x' comes of x,
// given numbers from -1 to 1 for x and for what moves.
type related struct {
	words  string
	margin func(y, z []float64) float64
	move   func(x, eps []float64, at, by []float64) (from, to []float64)
}

// randomRelation draws one for a network of n inputs, in the units of the data.
func randomRelation(rng *rand.Rand, n int, point bool) related {
	j, lo := rng.IntN(n), math.Ldexp(float64(rng.IntN(8)), -3)
	hi := lo + 0.25
	if point {
		hi = lo
	}
	shift := func(x, eps, at []float64) []float64 {
		from := slices.Clone(x)
		for k := range from {
			from[k] += at[k] * eps[k]
		}
		return from
	}
	step := func(x, eps []float64, at, by []float64) (from, to []float64) {
		from = shift(x, eps, at)
		to = slices.Clone(from)
		to[j] += (lo+hi)/2 + by[j]*(hi-lo)/2
		return from, to
	}
	swap := func(x, eps []float64, at, by []float64) (from, to []float64) {
		from = shift(x, eps, at)
		to = slices.Clone(from)
		to[j] = x[j] + by[j]*eps[j]
		return from, to
	}
	near := func(x, eps []float64, at, by []float64) (from, to []float64) {
		from = shift(x, eps, at)
		return from, shift(from, slices.Repeat([]float64{lo}, n), by)
	}
	least := func(sign float64) func(y, z []float64) float64 {
		return func(y, z []float64) float64 {
			margin := math.Inf(1)
			for i := range y {
				margin = min(margin, sign*(z[i]-y[i]))
			}
			return margin
		}
	}
	within := func(most float64) func(y, z []float64) float64 {
		return func(y, z []float64) float64 { return most + min(least(1)(y, z), least(-1)(y, z)) }
	}
	class := func(y, z []float64) float64 {
		best := math.Inf(-1)
		for c := range y {
			margin := math.Inf(1)
			for i := range y {
				if i != c {
					margin = min(margin, y[c]-y[i], z[c]-z[i])
				}
			}
			best = max(best, margin)
		}
		return best
	}
	most := math.Ldexp(float64(1+rng.IntN(8)), -3)
	switch rng.IntN(6) {
	case 0:
		return related{fmt.Sprintf("monotone:%d:[%v,%v]", j, lo, hi), least(1), step}
	case 1:
		return related{fmt.Sprintf("falling:%d:[%v,%v]", j, lo, hi), least(-1), step}
	case 2:
		return related{fmt.Sprintf("fair:%d:%v", j, most), within(most), swap}
	case 3:
		return related{fmt.Sprintf("fair:%d:same_class", j), class, swap}
	case 4:
		return related{fmt.Sprintf("lipschitz:%v:%v", most, lo), within(most * lo), near}
	}
	return related{fmt.Sprintf("same_class:%v", lo), class, near}
}

// TestRelation: bounds of relations are those of drawn networks, each with the same weights at both inputs; records
// pass and say no more than they may, and those of another relation do not pass.
func TestRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 4))
	lower, upper := 0, 0
	for i := range testscale.Cases(t, 200) {
		post := checktest.RandomAbout(rng, 0, []float64{0.1, 0.03}[i%2], [][]int{{2, 4, 3}, {1, 3, 3, 2}, {2, 3, 2}}[rng.IntN(3)]...)
		n, point := post.Inputs(), i%4 > 1
		x, eps, std, words := make([]float64, n), make([]float64, n), []float64{0.25, 1, 2}[rng.IntN(3)], ""
		for k := range x {
			x[k], eps[k] = math.Round(8*rng.NormFloat64())/8, 0.125
			if point {
				eps[k] = 0
			}
			words = fmt.Sprintf("%s,%v", words, x[k])
		}
		rel := randomRelation(rng, n, point)
		j := jobOf(t, post, words[1:]+"\n", []bound.Precision{bound.Float32, bound.Float64}[i/2%2])
		p := &j.Tasks.Points
		p.Eps, p.Relation, p.Mean, p.Std = fmt.Sprint(eps[0]), rel.words, "0.5", fmt.Sprint(std)
		j.Method.NoUpper, j.Method.Cells = i%3 > 0, new(1+i%4)
		j.Method.By = new([]prove.Method{prove.CLBP, prove.Auto}[i%16/15])
		a, b := onlyTrue(t, j)
		lower, upper = lower+a, upper+b
		line := written(t, j)[0]
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 1000
		safe, unsafe := drawnRelated(rng, post, rel, x, eps, std, draws)
		if allowed := checktest.Allows(1-r.PLower.Lo, draws); unsafe > allowed {
			t.Errorf("case %d: p_lower %v, %d of %d fail: %s", i, r.PLower.Lo, unsafe, draws, line)
		}
		if allowed := checktest.Allows(r.PUpper.Hi, draws); safe > allowed && point && !strings.HasPrefix(rel.words, "lip") && !strings.HasPrefix(rel.words, "same") {
			t.Errorf("case %d: p_upper %v, %d of %d hold: %s", i, r.PUpper.Hi, safe, draws, line)
		}
		if rel = randomRelation(rng, n, point); rel.words != r.Relation {
			other := changed(t, changed(t, line, `"relation":"[^"]*"`, `"relation":"`+rel.words+`"`), `"property":"[^"]*"`, `"property":"`+rel.words+`"`)
			if _, unsafe := drawnRelated(rng, post, rel, x, eps, std, draws); unsafe > checktest.Allows(1-r.PLower.Lo, draws) && passes(t, other) == nil {
				t.Errorf("case %d: %s passes, which fails more often: %s", i, rel.words, line)
			}
		}
	}
	if t.Logf("%d lower bounds, %d upper", lower, upper); testscale.Factor(t) >= 0.1 && (lower == 0 || upper == 0) {
		t.Errorf("%d lower bounds, %d upper", lower, upper)
	}
}

// drawnRelated counts drawn networks for which the relation surely holds at pairs of points of T, at its corners and
// within, and those for which it surely fails at one.
func drawnRelated(rng *rand.Rand, post *posterior.Posterior, rel related, x, eps []float64, std float64, draws int) (safe, unsafe int) {
	w, n := post.NewWeights(), len(x)
	at, by := make([]float64, n), make([]float64, n)
	seen := func(x []float64) []float64 {
		for k := range x {
			x[k] = (x[k] - 0.5) / std
		}
		return x
	}
	for d := range draws {
		post.Draw(7, d, w)
		pass, least := post.Network().NewPass(w), math.Inf(1)
		for range 12 {
			for k := range n {
				at[k], by[k] = float64(2*rng.IntN(2)-1), float64(2*rng.IntN(2)-1)
				if rng.IntN(4) == 0 {
					at[k], by[k] = 2*rng.Float64()-1, 2*rng.Float64()-1
				}
			}
			from, to := rel.move(x, eps, at, by)
			y := slices.Clone(pass.Forward(seen(from)))
			least = min(least, rel.margin(y, pass.Forward(seen(to))))
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

// TestRelationExact: of one linear unit y = w x + b at x and x + d, bounds are those of w alone, whatever b is: two
// copies with weights of their own would be far from them.
func TestRelationExact(t *testing.T) {
	post := checktest.OfLayers(posterior.Layer{Layer: checktest.RandomAbout(rand.New(rand.NewPCG(1, 1)), 0, 0, 1, 1).Layers[0].Layer, Weight: checktest.WeightsOf(0.5, 0.25, 1), Bias: checktest.WeightsOf(0, 3, 1)})
	const rises, slope = 0.9772498680518208, 0.9772498670652332 // w >= 0, and |w| <= 1
	for words, p := range map[string][2]float64{
		"monotone:0:[0.5,0.5]": {rises, rises - 1e-9}, "falling:0:[0.5,0.5]": {1 - rises, 0}, "lipschitz:1:0.25": {slope, 0.9}, "fair:0:0": {1, 0},
	} {
		j := jobOf(t, post, "2\n", bound.Float64)
		j.Tasks.Points.Relation = words
		line := written(t, j)[0]
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := passes(t, line); err != nil || r.PLower.Lo > p[0] || r.PUpper.Hi < p[0]-1e-15 || r.PLower.Lo < p[1] || p[0] < 0.5 && r.PUpper.Hi > p[0]+1e-9 {
			t.Errorf("%s: [%v, %v], %v; the probability is %v", words, r.PLower.Lo, r.PUpper.Hi, err, p[0])
		}
	}
}

// TestRelationDrawn: drawn networks have the same weights at both inputs, and of a finite set at one pair of inputs,
// what is decided is counted exactly.
func TestRelationDrawn(t *testing.T) {
	unit := checktest.OfLayers(posterior.Layer{Layer: checktest.RandomAbout(rand.New(rand.NewPCG(1, 1)), 0, 0, 1, 1).Layers[0].Layer, Weight: checktest.WeightsOf(0.5, 0.25, 1), Bias: checktest.WeightsOf(0, 3, 1)})
	j := jobOf(t, unit, "2\n", bound.Float64)
	j.Tasks.Points.Relation, j.Method = "monotone:0:[0.5,0.5]", certify.Method{By: new(prove.Statistical), Draws: new(400)}
	r, err := record.Parse(written(t, j)[0])
	if err != nil || r.Statistical.Unsafe > checktest.Allows(0.0228, 400) || r.Statistical.Safe+r.Statistical.Unsafe < 399 {
		t.Errorf("%v: of 400 draws, 0.9772 of which rise, %+v", err, r.Statistical)
	}
	rng := rand.New(rand.NewPCG(48, 8))
	for range testscale.Cases(t, 140) {
		const networks = 12
		base := checktest.RandomAbout(rng, 0, 0.5, [][]int{{2, 4, 3}, {1, 3, 3, 2}, {2, 3, 2}}[rng.IntN(3)]...)
		set := &posterior.Finite{Stack: make([][]float64, 2*len(base.Layers))}
		for i := range networks {
			w := base.NewWeights()
			base.Draw(1, i, w)
			set.Counts = append(set.Counts, 1)
			for a := range w {
				set.Stack[a] = append(set.Stack[a], w[a]...)
			}
		}
		post, err := posterior.FromFinite(base.Layers, set)
		if err != nil {
			t.Fatal(err)
		}
		x, eps, words := make([]float64, base.Inputs()), make([]float64, base.Inputs()), ""
		for k := range x {
			x[k] = math.Round(8*rng.NormFloat64()) / 8
			words = fmt.Sprintf("%s,%v", words, x[k])
		}
		rel := randomRelation(rng, len(x), true)
		for !strings.HasPrefix(rel.words, "monotone") && !strings.HasPrefix(rel.words, "falling") { // whose x' is one point
			rel = randomRelation(rng, len(x), true)
		}
		safe, unsafe := 0, 0
		for i := range networks {
			from, to := rel.move(x, eps, eps, eps)
			pass := post.Network().NewPass(set.Weights(i))
			y := slices.Clone(pass.Forward(from))
			switch margin := rel.margin(y, pass.Forward(to)); {
			case margin > 1e-9:
				safe++
			case margin < -1e-9:
				unsafe++
			}
		}
		j := jobOf(t, post, words[1:]+"\n", bound.Float64)
		j.Tasks.Points.Relation = rel.words
		line := written(t, j)[0]
		r, err := record.Parse(line)
		if err != nil || passes(t, line) != nil {
			t.Fatalf("%v, %v: %s", err, passes(t, line), line)
		}
		if lo, hi := math.Round(r.PLower.Lo*networks), math.Round(r.PUpper.Hi*networks); int(lo) != safe || int(hi) != networks-unsafe {
			t.Errorf("%s: %v to %v of %d networks, %d are safe and %d are not: %s", rel.words, lo, hi, networks, safe, unsafe, line)
		}
	}
}

// TestRelationForged: records of pairs pass, of a finite set and of a property file too, the cubic's are those that its
// posterior is known for, and none passes as one of another relation, of none, or without the words that it has.
func TestRelationForged(t *testing.T) {
	job := func(file, points, eps, relation string) *certify.Job {
		dir := t.TempDir()
		inputs := filepath.Join(dir, "x.csv")
		if err := os.WriteFile(inputs, []byte(points), 0o666); err != nil {
			t.Fatal(err)
		}
		return &certify.Job{Posterior: certify.Posterior{Path: testFile(file)}, Precision: new(bound.Float32), Version: "test", Method: certify.Method{NoUpper: true},
			Tasks: certify.Tasks{Points: certify.Points{Inputs: inputs, Eps: eps, Relation: relation, Property: property.KeepsClass}}}
	}
	cubic := job("cubic-128.npz", "2.1\n", "0.1", "monotone:0:[0.5,0.6]")
	cubic.Posterior.Factor = "0.3"
	rises := written(t, cubic)[0]
	cubic = job("cubic-128.npz", "2.1\n", "0.1", "falling:0:[0.5,0.6]")
	cubic.Posterior.Factor, cubic.Method.NoUpper = "0.3", false
	falls := written(t, cubic)[0]
	set := written(t, job("samples-2-8-3.npz", "0.3,-0.2\n", "0.02", "same_class:0.05"))[0]
	box := job("tiny-2-3-2-tanh.npz", "0.3,-0.2\n", "0.02", "swap:1")
	box.Tasks.Points.Property = "output_box:[-2,2],[-2,2],[-2,2],[-2,2]"
	inBox := written(t, box)[0]
	box.Tasks.Points.Property, box.Tasks.Points.Relation = "", "step:0:[0,0.5]"
	box.Tasks.File = filepath.Join(t.TempDir(), "drift.json")
	if err := os.WriteFile(box.Tasks.File, []byte(`{"properties": [{"kind": "output_box", "output": [[-2, 2], [-2, 2], [-2, 2], [-2, 2]], "relative": {"eps": 0.02}}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	box.Tasks.Points.Eps = ""
	inFile := written(t, box)[0]
	for k, line := range [][]byte{rises, falls, set, inBox, inFile} {
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := passes(t, line); err != nil || k != 1 && r.PLower.Lo < 0.9 || k == 1 && r.PUpper.Hi > 1e-3 {
			t.Errorf("%v: %s", err, line)
		}
	}
	both := func(line []byte, words string) []byte {
		return changed(t, changed(t, line, `"relation":"[^"]*"`, `"relation":"`+words+`"`), `"property":"[^"]*"`, `"property":"`+words+`"`)
	}
	for what, line := range map[string][]byte{
		"another relation alone": changed(t, rises, `"relation":"[^"]*"`, `"relation":"falling:0:[0.5,0.6]"`),
		"other words":            changed(t, rises, `"property":"[^"]*"`, `"property":"falling:0:[0.5,0.6]"`),
		"falling":                both(rises, "falling:0:[0.5,0.6]"),
		"steps from 0 on":        both(rises, "monotone:0:[0,0.6]"),
		"any x'":                 both(rises, "lipschitz:1:0.5"),
		"no relation":            changed(t, rises, `"relation":"[^"]*",`, ""),
		"none that says S":       changed(t, rises, `"relation":"[^"]*"`, `"relation":"step:0:[0.5,0.6]"`),
		"refuted, of another":    both(falls, "monotone:0:[0.5,0.6]"),
		"a class that may leave": both(set, "same_class:5"),
		"a box of one input":     changed(t, inBox, `"property":"[^"]*"`, `"property":"output_box:[-2,2],[-2,2]"`),
		"a class of the list":    changed(t, inBox, `"property":"[^"]*"`, `"property":"argmax_in:0,1,2"`),
		"rows of a file":         changed(t, inFile, `"relation":"[^"]*"`, `"relation":"monotone:0:[0,0.5]"`),
		"near":                   changed(t, inBox, `"relation":"[^"]*"`, `"relation":"near:100"`),
	} {
		if passes(t, line) == nil {
			t.Errorf("%s passes: %s", what, line)
		}
	}
}
