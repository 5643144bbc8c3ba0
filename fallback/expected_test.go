package fallback_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// shared returns a path under the folder of real posteriors and expected bounds,
// which is not part of this repository: PSAFE_SHARED, or "shared" beside it.
func shared(t testing.TB, elem ...string) string {
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	return path
}

type expectedCase struct {
	Posterior      string
	Image          int
	Eps            json.Number
	PredictedClass int `json:"predicted_class"`
	Box            []struct {
		Gamma float64
		IBP   float64 `json:"ibp_min_margin"`
		LBP   float64 `json:"lbp_min_margin"`
	}
}

// TestExpectedMargins compares margins of real posteriors with those of an
// independent float64 program without outward rounding: ours must lie below
// (apart from that program's own rounding), by less than 1e-9 of the margins'
// size in float64 and 1e-2 in float32.
func TestExpectedMargins(t *testing.T) {
	raw, err := os.ReadFile(shared(t, "expected", "mnist_bounds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []expectedCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	points, err := property.ReadPoints(shared(t, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	posteriors := map[string]*posterior.Posterior{}
	for _, c := range file.Cases {
		post := posteriors[c.Posterior]
		if post == nil {
			post, err = format.Read(shared(t, "data", c.Posterior), format.Options{
				Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}})
			if err != nil {
				t.Fatal(err)
			}
			posteriors[c.Posterior] = post
		}
		for _, p := range []bound.Precision{bound.Float64, bound.Float32} {
			t.Run(fmt.Sprintf("%s/%d/%v", filepath.Base(c.Posterior), c.Image, p), func(t *testing.T) {
				checkExpected(t, p, post, points, c)
			})
		}
	}
}

func checkExpected(t *testing.T, p bound.Precision, post *posterior.Posterior, points *property.Points, c expectedCase) {
	region, err := property.ReadRegion(property.RegionText{Eps: string(c.Eps), Clip: []string{"0", "1"}}, points.Dim)
	if err != nil {
		t.Fatal(err)
	}
	box, err := points.Around(c.Image, region)
	if err != nil {
		t.Fatal(err)
	}
	dev := fallback.New(p)
	m, err := bound.NewModel(dev, post, 8)
	if err != nil {
		t.Fatal(err)
	}
	var gamma []float64
	for _, b := range c.Box {
		gamma = append(gamma, b.Gamma)
	}
	spec := bound.BoxSpec{}
	for range post.Layers {
		spec.Gamma = append(spec.Gamma, gamma)
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.UploadInputs([]property.Box{box})
	if err != nil {
		t.Fatal(err)
	}
	safe := property.ArgmaxIs(c.PredictedClass, post.Outputs())
	rows, err := m.UploadRows([][]property.Row{safe.Rows})
	if err != nil {
		t.Fatal(err)
	}
	margins := func(method bound.Propagation) *bound.Margins {
		ms, err := m.Propagate(bound.Query{Propagation: method, Boxes: boxes, Inputs: in, Rows: rows,
			Batch: bound.Batch{Items: len(gamma), PerBox: 1, Inputs: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return ms
	}
	ibp, lbp := margins(bound.IBP).IBP, margins(bound.LBP).LBP
	budget := 1e-9
	if p == bound.Float32 {
		budget = 1e-2
	}
	for i, b := range c.Box {
		r := len(safe.Rows)
		check := func(what string, got []float64, want float64) {
			m := safe.MarginLo(got[i*r : (i+1)*r])
			rel := (want - m) / max(1, math.Abs(b.IBP), math.Abs(b.LBP))
			if rel < -1e-13 || rel > budget {
				t.Errorf("gamma %v %s margin %.17g, independent program %.17g: below it by %.3g relative, allowed 0 to %g", b.Gamma, what, m, want, rel, budget)
			}
		}
		check("ibp", ibp, b.IBP)
		check("lbp", lbp, b.LBP)
	}
}
