package check

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// gridQuestion is a record about a network with two inputs and three outputs that claims nothing,
// and what it asks: class 0 never wins in the boxes.
func gridQuestion(t *testing.T, act net.Activation, boxes string) (line []byte, post *posterior.Posterior, task *property.Task) {
	t.Helper()
	return gridQuestionOf(t, gridPosterior(act), boxes)
}

// gridPosterior is that network.
func gridPosterior(act net.Activation) *posterior.Posterior {
	rng := rand.New(rand.NewPCG(16, 16))
	draw := func(n int, scale, sd float64) posterior.Params {
		mean, spread := make([]float64, n), make([]float64, n)
		for i := range mean {
			mean[i], spread[i] = scale*rng.NormFloat64(), sd
		}
		return posterior.NewParams(mean, spread, posterior.ScaleSD)
	}
	const hidden = 6
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(2, hidden, act), Weight: draw(2*hidden, 0.5, 0.4), Bias: draw(hidden, 0.5, 0.4)},
		{Layer: net.DenseLayer(hidden, 3, net.Activation{}), Weight: draw(3*hidden, 0.3, 0.2), Bias: posterior.NewParams([]float64{0, 3, 3}, []float64{0.5, 0.5, 0.5}, posterior.ScaleSD)}}}
}

// gridQuestionOf is gridQuestion about a posterior.
func gridQuestionOf(t *testing.T, post *posterior.Posterior, boxes string) (line []byte, read *posterior.Posterior, task *property.Task) {
	t.Helper()
	dir := t.TempDir()
	var content bytes.Buffer
	if err := format.WriteNPZ(&content, post); err != nil {
		t.Fatal(err)
	}
	netFile, inputs := filepath.Join(dir, "net.npz"), filepath.Join(dir, "p.json")
	text := `{"properties": [{"name": "never", "kind": "argmax_is_never", "class": 0, "boxes": ` + boxes + `}]}`
	for path, b := range map[string][]byte{netFile: content.Bytes(), inputs: []byte(text)} {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	job := &certify.Job{Posterior: certify.Posterior{Path: netFile}, Tasks: certify.Tasks{File: inputs}, Precision: new(bound.Float64), Version: "test",
		Method: certify.Method{By: new(prove.NeuronSum), Cells: new(1), NoUpper: true}}
	line = written(t, job)[0]
	tasks, err := property.ReadFile(inputs, 3)
	if err != nil {
		t.Fatal(err)
	}
	post, err = format.Read(netFile, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return line, post, &tasks[0]
}

// withGrid writes a proof and a claim into a record.
func withGrid(t *testing.T, line []byte, cells int, pLower float64, proof string) []byte {
	t.Helper()
	line = changed(t, line, `"cells":[0-9]*`, fmt.Sprintf(`"cells":%d`, cells))
	line = claiming(t, line, pLower)
	line = changed(t, line, `"log10_p_lower":[^,]*`, `"log10_p_lower":`+property.DecimalDown(math.Log10(pLower)*(1+1e-9)))
	line = changed(t, line, `--cells \d+ ?`, ``)
	if bytes.Contains(line, []byte(`"proof":`)) {
		return changed(t, line, `"proof":\{.*\},"checksum"`, `"proof":{`+proof+`},"checksum"`)
	}
	return changed(t, line, `("run":"\w+")`, `$1,"proof":{`+proof+`}`)
}

// TestCheckGrids: records that say a grid and mixtures pass if they claim a little less than is
// proved; and are refused if they claim much more, or what they say does not fit.
func TestCheckGrids(t *testing.T) {
	const boxes = `[[[-1, 1], [0.5, 0.5]], [[2, 2], [0, 0.5]]]`
	line, post, task := gridQuestion(t, net.Activation{Kind: net.ReLU}, boxes)
	const grids, points = `"grids":[[[0,0.5],[]],[[],[]]]`, 4 + 2
	const mixtures = `"mixtures":[[0.5,0.5]]`
	planes := [][][]float64{{{0, 0.5}, {}}, {{}, {}}}
	single := gridFail(t, post, task, planes)
	mixedTask := *task
	var err error
	if mixedTask.S, err = cases.Mixed(&task.S, [][]float64{{0.5, 0.5}}); err != nil {
		t.Fatal(err)
	}
	mixedTask.S.Any = mixedTask.S.Any[2:]
	fail := gridFail(t, post, &mixedTask, planes)
	t.Logf("fails with %v, mixed with %v", single, fail)
	if !(fail < 0.8*single && single < 0.5 && fail > 1e-4) {
		t.Fatal("the network is none for this test")
	}
	var c Checker
	for _, k := range []struct {
		points int
		p      float64
		proof  string
		want   string // of the refusal, empty if it passes
	}{
		{points, 1 - fail*1.01, grids + "," + mixtures, ""},
		{points, 1 - single*1.01, grids + `,"rows":[1]`, ""},
		{points, 1 - fail*0.97, grids + "," + mixtures, "p_lower"},
		{points, 0.9999999, grids + "," + mixtures, "p_lower"},
		{points, 1 - single*0.97, grids + `,"rows":[1]`, "p_lower"},
		{points, 1 - single*1.01, grids, "proof: rows: there are none, and the property has alternatives"},
		{points, 1 - single*1.01, grids + `,"rows":[]`, "rows"},
		{points, 1 - single*1.01, grids + `,"rows":[2]`, "proof: rows: number 0 is 2, the property has 2 rows"},
		{points, 1 - single*1.01, grids + `,"rows":[-1]`, "proof: rows: number 0 is -1"},
		{points, 1 - single*1.01, grids + `,"rows":[0,0]`, "proof: rows: number 1 is 0"},
		{points, 1 - fail*1.01, grids + "," + mixtures + `,"rows":[0]`, "proof: rows: nothing claimed here rests on that"},
		{points, 1 - fail*1.01, grids + `,"rows":[0]`, "p_lower"},
		{points + 1, 1 - fail*1.01, grids + "," + mixtures, "cells: 7, the grids of the proof have 6 points"},
		{points, 1 - fail*1.01, grids + `,"mixtures":[[1,-0.5]]`, "factor 1 is -0.5"},
		{points, 1 - fail*1.01, grids + `,"mixtures":[[0,0]]`, "all factors are 0"},
		{points, 1 - fail*1.01, grids + `,"mixtures":[[1]]`, "1 factors"},
		{points, 1 - fail*1.01, grids + `,"mixtures":[[1,1],[1,1]]`, "there are 2"},
		{points, 1 - fail*1.01, grids + `,"mixtures":[]`, "mixtures: it is there and says nothing"},
		{points, 1 - fail*1.01, grids + `,"mixtures":[[1,0]]`, "p_lower"},
		{points, 1 - fail*1.01, strings.Replace(grids, "0.5]", "1]", 1) + "," + mixtures, "is at 1, not between 0 and 1"},
		{points, 1 - fail*1.01, strings.Replace(grids, "0,0.5", "0.5,0", 1) + "," + mixtures, "is at 0, not between 0.5 and 1"},
		{points, 1 - fail*1.01, strings.Replace(grids, ",[[],[]]", "", 1) + "," + mixtures, "there are 1, T has 2 boxes"},
		{points, 1 - fail*1.01, strings.Replace(grids, ",[]]", "]", 1) + "," + mixtures, "planes across 1 axes"},
		{points, 1 - fail*1.01, strings.Replace(grids, "0,0.5", "0", 1) + "," + mixtures, "cells"},
		{points, 1 - fail*1.01, grids + `,"centres":[[[-0.5,0.25,0.75],[]],[[],[0.25]]],` + mixtures, ""},
		{points, 1 - fail*1.01, grids + `,"centres":[[[-0.5,0.25,0.75],[]],[[],[0.75]]],` + mixtures, "proof: centres: axis 1 of box 1"},
		{points, 1 - fail*1.01, `"centres":[[[-0.5,0.25,0.75],[]],[[],[0.25]]],` + mixtures, "proof: centres: nothing claimed here rests on that"},
		{points, 1 - fail*1.01, grids + `,"chains":[0,-1],` + mixtures, "proof: chains"},
		{points, 1 - fail*1.01, grids + `,"cells":[-1,-1],` + mixtures, "proof: cells: nothing"},
		{points, 1 - fail*1.01, strings.Replace(grids, "0.5", `"0.5"`, 1), "float64"},
	} {
		forged := withGrid(t, line, k.points, k.p, k.proof)
		v, err := c.Check(t.Context(), forged, false)
		switch {
		case err != nil:
			t.Errorf("%s: %v", k.proof, err)
		case k.want == "" && v.Refused != nil:
			t.Errorf("%v by %s is refused: %v", k.p, k.proof, v.Refused)
		case k.want != "" && (v.Refused == nil || !strings.Contains(v.Refused.Error(), k.want)):
			t.Errorf("%v by %s: %v, want %q", k.p, k.proof, v.Refused, k.want)
		}
	}
	other := changed(t, withGrid(t, line, points, 1-fail*1.01, grids+","+mixtures), `neuronsum`, `clbp`)
	if v, err := c.Check(t.Context(), other, false); err != nil || v.Refused == nil || !strings.HasPrefix(v.Refused.Error(), "proof: grids") {
		t.Errorf("another method: %v %v", v.Refused, err)
	}
}

// TestCheckGridsSmooth: a tanh has no kink at which a line would begin.
func TestCheckGridsSmooth(t *testing.T) {
	line, _, _ := gridQuestion(t, net.Activation{Kind: net.Tanh}, `[[[-1, 1], [-0.5, 1]]]`)
	var c Checker
	v, err := c.Check(t.Context(), withGrid(t, line, 6, 0.1, `"grids":[[[0],[]]]`), false)
	if err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "activation tanh") {
		t.Errorf("%v %v", v.Refused, err)
	}
}

// TestCheckVCAS: the record of the airborne collision network's phi_3, by a grid over its whole box
// (docs/performance.md), passes, and not with a tenth of its failures.
func TestCheckVCAS(t *testing.T) {
	testscale.DeepOnly(t)
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(root, "data", "uai2020", "VCAS_MODEL_512.net")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the posterior is absent (set PSAFE_SHARED): %v", err)
	}
	inputs := filepath.Join(t.TempDir(), "phi_3.json")
	const phi3 = `{"properties": [{"name": "phi_3", "kind": "argmax_is_never", "class": 1, "boxes": [[[-0.55, -0.1], [-0.5, -0.1], [-0.2, 0.15], [-0.5, 0.5]]]}]}`
	if err := os.WriteFile(inputs, []byte(phi3), 0o666); err != nil {
		t.Fatal(err)
	}
	options := format.Options{Scale: posterior.ScaleSD, Activations: []net.Activation{{Kind: net.ReLU}}}
	line := written(t, &certify.Job{Posterior: certify.Posterior{Path: path, Options: options}, Tasks: certify.Tasks{File: inputs}, Precision: new(bound.Float64), Version: "test",
		Method: certify.Method{By: new(prove.NeuronSum), NoUpper: true}})[0]
	r, err := record.Parse(line)
	if err != nil || r.Proof.Grids == nil || r.Proof.Mixtures == nil || r.Proof.Large == nil || r.Proof.Centres == nil || r.PLower.Lo < 0.8 {
		t.Fatalf("%v: %s", err, line)
	}
	t.Logf("p_lower %v on %d points", r.PLower, r.Cells)
	var c Checker
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
		t.Errorf("%v %v: %s", err, v.Refused, line)
	}
	// Refused after the first points, which fail with more than that.
	if v, err := c.Check(t.Context(), claiming(t, line, 1-(1-r.PLower.Lo)/10), false); err != nil || v.Refused == nil || !strings.HasPrefix(v.Refused.Error(), "p_lower: ") {
		t.Errorf("a tenth of the failures: %v %v", v.Refused, err)
	}
}
