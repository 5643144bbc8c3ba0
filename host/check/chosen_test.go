package check

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
)

// jobOf is a job about a posterior, at points of a CSV file; it writes both.
func jobOf(t *testing.T, post *posterior.Posterior, points string, p bound.Precision) *certify.Job {
	t.Helper()
	dir := t.TempDir()
	var file bytes.Buffer
	if err := format.WriteNPZ(&file, post); err != nil {
		t.Fatal(err)
	}
	path, inputs := filepath.Join(dir, "net.npz"), filepath.Join(dir, "x.csv")
	for name, text := range map[string][]byte{path: file.Bytes(), inputs: []byte(points)} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return &certify.Job{Posterior: certify.Posterior{Path: path}, Precision: new(p), Version: "test",
		Tasks: certify.Tasks{Points: certify.Points{Inputs: inputs, Eps: "0", Property: property.KeepsClass}}}
}

// passes says whether a line does, and why not.
func passes(t *testing.T, line []byte) error {
	t.Helper()
	var c Checker
	v, err := c.Check(t.Context(), line, false)
	if err != nil {
		t.Fatal(err)
	}
	return v.Refused
}

// onlyTrue: the records of a job pass, each with less of what may be claimed refused: a p_lower that is nearer to 1 by
// half, and a p_upper nearer to 0. It says how many claims there were.
func onlyTrue(t *testing.T, j *certify.Job) (lower, upper int) {
	t.Helper()
	for _, line := range written(t, j) {
		if err := passes(t, line); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if p := r.PLower.Lo; p > 0 && p < 1-1e-9 {
			lower++
			if passes(t, reverdict(t, claiming(t, line, p+(1-p)/2))) == nil {
				t.Errorf("p_lower nearer to 1 passes: %s", line)
			}
		}
		if p := r.PUpper.Hi; p < 1 && p > 1e-9 { // below, sums of neurons lose more than psafe check does
			upper++
			forged := changed(t, line, `"p_upper":[^,]*`, `"p_upper":`+property.DecimalUp(p-(p-r.PLower.Hi)/2-0x1p-40*p))
			if passes(t, reverdict(t, forged)) == nil {
				t.Errorf("a lower p_upper passes: %s", line)
			}
		}
	}
	return lower, upper
}

// reverdict is the line with the verdict that its bounds make.
func reverdict(t *testing.T, line []byte) []byte {
	t.Helper()
	if r, err := record.Parse(line); err == nil && r.Follows() != r.Verdict {
		return changed(t, line, `"verdict":"\w+"`, `"verdict":"`+r.Follows()+`"`)
	}
	return line
}

// oneRow is a posterior of one dense layer y = w x + b with a factor, of any size.
func oneRow(t *testing.T, mean, sd float64, joint bool) *posterior.Posterior {
	t.Helper()
	layers := []posterior.Layer{{Layer: net.DenseLayer(1, 1, net.Activation{}),
		Weight: posterior.NewParams([]float64{mean}, []float64{0}, posterior.ScaleSD), Bias: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)}}
	c := []*posterior.Covariance{{Rank: 1, Factor: []float64{sd, 0}}}
	make := posterior.FromCovariances
	if joint {
		make = posterior.FromJoint
	}
	post, err := make(layers, c)
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// TestCheckAnySize: a law of numbers of any size is the law of the same numbers times a power of ten. A row of mean m
// and deviation 2 m is at least 0 with probability Phi(1/2).
func TestCheckAnySize(t *testing.T) {
	for _, joint := range []bool{false, true} {
		for _, size := range []float64{1e-100, 3e-61, 1e-30, 1, 1e30} {
			j := jobOf(t, oneRow(t, size, 2*size, joint), "1\n", bound.Float64)
			j.Tasks.Points.Property = "output_box:[0,]"
			lower, _ := onlyTrue(t, j)
			j.Tasks.Points.Property = "output_box:[,0]"
			if _, upper := onlyTrue(t, j); size > 1e-90 && (lower == 0 || upper == 0) {
				t.Errorf("size %v, joint %v: %d lower bounds, %d upper", size, joint, lower, upper)
			}
		}
	}
}

// TestCheckStillFactors: a layer whose covariance is there and is 0, by factors of 0, is certain, and one of factors
// that are next to nothing nearly so.
func TestCheckStillFactors(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 2))
	lower, upper := 0, 0
	for _, size := range []float64{0, 1e-200, 5e-324} {
		for i := range 2 {
			layers := sumtest.RandomNoisy(rng, checktest.Activations[1], 0, 2, 4, 3).Layers
			all := make([]*posterior.Covariance, 2)
			for k, in := range []int{2, 4} {
				for all[k] == nil || all[k].Full() {
					all[k] = sumtest.RandomCovariance(rng, 0.2, in, []int{4, 3}[k])
				}
			}
			q := [][]float64{all[0].QA, all[0].QG}[i%2]
			for e := range q {
				q[e] *= size
			}
			post, err := posterior.FromCovariances(layers, all)
			if err != nil {
				t.Fatal(err)
			}
			j := jobOf(t, post, "-0.5,0.25\n", []bound.Precision{bound.Float32, bound.Float64}[i])
			j.Method.By, j.Tasks.Points.Eps = new(prove.CLBP), []string{"0", "0.05"}[i]
			a, b := onlyTrue(t, j)
			j.Tasks.Points.Property = "argmax_is:0"
			c, d := onlyTrue(t, j)
			lower, upper = lower+a+c, upper+b+d
		}
	}
	if lower == 0 || upper == 0 {
		t.Errorf("%d lower bounds, %d upper", lower, upper)
	}
}

// linearisedJob is one about networks that are linearised about the mean, on a box of a random point.
func linearisedJob(t *testing.T, rng *rand.Rand, kind int, eps string, p bound.Precision) *certify.Job {
	t.Helper()
	post := checktest.RandomAbout(rng, kind, 0.2, 2, 5, 4, 3)
	j := jobOf(t, post, fmt.Sprintf("%.3f,%.3f\n", rng.NormFloat64(), rng.NormFloat64()), p)
	j.Posterior.Predictive, j.Tasks.Points.Eps, j.Method.Cells = certify.PredictiveLinearised, eps, new(4)
	return j
}

// TestCheckLines: the lines that certify took of linearised networks are in their records, a proof goes by them, and
// one that says something else of them passes only if it proves all the same.
func TestCheckLines(t *testing.T) {
	for _, seed := range []uint64{223, 5565} { // the second needs its lines
		line := written(t, linesJob(t, seed))[0]
		r, err := record.Parse(line)
		if err != nil || len(r.Proof.Lines) != r.Cells {
			t.Fatalf("no lines, %v: %s", err, line)
		}
		if err := passes(t, line); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
		none := strings.Repeat(",[]", r.Cells-1)
		for _, lines := range []string{`[]`, `[[]` + none + `]`, `[[0],[]` + none + `]`, `[[99]` + none + `]`, `[[1,0]` + none + `]`, `[[0,0]` + none + `]`,
			`[[-1]` + none + `]`, `[null` + none + `]`, `[[0.5]` + none + `]`} {
			if passes(t, changed(t, line, `"lines":\[\[.*?\]\]`, `"lines":`+lines)) == nil {
				t.Errorf("lines %s pass: %s", lines, line)
			}
		}
		if passes(t, changed(t, line, `"predictive":"linearised",`, ``)) == nil {
			t.Errorf("lines of networks pass: %s", line)
		}
		for range 8 { // other lines prove less or more, and never what is not so
			other := changed(t, line, `"lines":\[\[.*?\]\]`, fmt.Sprintf(`"lines":[[%d]%s]`, rand.IntN(7), none))
			p := r.PLower.Lo
			if passes(t, reverdict(t, claiming(t, other, p+(1-p)/2))) == nil {
				t.Errorf("p_lower nearer to 1 passes: %s", line)
			}
		}
	}
}

// linesJob is one whose record tells lines, by its number.
func linesJob(t *testing.T, seed uint64) *certify.Job {
	rng := rand.New(rand.NewPCG(43, seed))
	j := jobOf(t, checktest.RandomAbout(rng, int(seed%3), 0.1, 1, 6, 6, 2), fmt.Sprintf("%.3f\n", rng.NormFloat64()), bound.Float32)
	j.Posterior.Predictive, j.Tasks.Points.Eps, j.Method.Cells, j.Method.NoUpper = certify.PredictiveLinearised, "0.2", new(4), true
	return j
}

// TestCheckLinearisedUpper: at a point p_lower and p_upper of one row are the law of the row but for roundings, and of
// several rows p_upper is that of the one that holds least.
func TestCheckLinearisedUpper(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 5))
	lower, upper := 0, 0
	for i := range 12 {
		j := linearisedJob(t, rng, i%3, []string{"0", "0.05"}[i/6], []bound.Precision{bound.Float32, bound.Float64}[i%2])
		a, b := onlyTrue(t, j)
		lower, upper = lower+a, upper+b
		if i >= 6 {
			continue
		}
		y := fmt.Sprintf("output_box:[%.3f,],[,],[,]", rng.NormFloat64())
		j.Tasks.Points.Property = y
		onlyTrue(t, j)
		j.Precision = new(bound.Float64)
		r, err := record.Parse(written(t, j)[0])
		if err != nil {
			t.Fatal(err)
		}
		if gap := r.PUpper.Hi - r.PLower.Lo; gap > 1e-9 && r.PLower.Lo > 0 { // p_lower is of rows whose mean holds
			t.Errorf("%s: from %v to %v", y, r.PLower, r.PUpper)
		}
	}
	if lower < 3 || upper < 3 {
		t.Errorf("%d lower bounds, %d upper", lower, upper)
	}
}

// TestCheckDeadNeurons: where hidden neurons are hardly ever active, a lattice is too coarse for what is left, the
// noise of the biases: then sums are taken more finely, of upper bounds too. (The first claimed .0000035, check proved
// .000155.)
func TestCheckDeadNeurons(t *testing.T) {
	params := func(mean, sd []float64) posterior.Params { return posterior.NewParams(mean, sd, posterior.ScaleSD) }
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(1, 4, net.Activation{Kind: net.ReLU}),
			Weight: params([]float64{-0.67325, -0.246137, -1.32351, -1.14801}, []float64{0.0525685, 0.143159, 0.166614, 0.0234064}),
			Bias:   params([]float64{0.434684, -0.309564, -0.538832, 0.680369}, make([]float64, 4))},
		{Layer: net.DenseLayer(4, 3, net.Activation{}),
			Weight: params([]float64{-0.312653, 0.568404, -0.0937671, 0.892268, -0.181659, -0.489118, -0.205526, 0.621489, -0.579919, 0.999964, -0.3882, -0.276356},
				[]float64{0.387553, 0.258968, 0.00979579, 0.479524, 0.349647, 0.0947636, 0, 0.395513, 0.384413, 0.438415, 0.18592, 0.24147}),
			Bias: params([]float64{0.395939, 0.0889035, 0.146553}, []float64{0, 0, 0.00342428})},
	}}
	j := jobOf(t, post, "3.4\n", bound.Float64)
	j.Tasks.Points.Property, j.Method.By = "argmax_is:1", new(prove.NeuronSum)
	if _, upper := onlyTrue(t, j); upper != 1 {
		t.Errorf("%d upper bounds", upper)
	}
}
