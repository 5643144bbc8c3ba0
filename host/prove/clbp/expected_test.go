package clbp

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// TestExpectedConcentration compares (14) with the tail (13) everywhere, at one
// failure budget, with an independent float64 program without outward rounding: ours
// must lie below it by less than 1e-6 in float64 and, where it says anything, by less
// than 1e-3 in float32.
func TestExpectedConcentration(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	raw, err := os.ReadFile(filepath.Join(root, "expected", "mnist_bounds.json"))
	if err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	var file struct {
		Cases []struct {
			Posterior      string
			Image          int
			Eps            json.Number
			PredictedClass int `json:"predicted_class"`
			CLBP           []struct {
				Tau    float64
				PLower float64 `json:"p_lower"`
			}
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	points, err := property.ReadPoints(filepath.Join(root, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	engines := map[string][2]*engine.Engine{}
	for _, c := range file.Cases {
		pair, ok := engines[c.Posterior]
		if !ok {
			opt := format.Options{Scale: posterior.ScaleSD}
			if filepath.Base(filepath.Dir(c.Posterior)) != "journal" {
				opt.Activations = []network.Activation{{Kind: network.ReLU}}
			}
			post, err := format.Read(filepath.Join(root, "data", c.Posterior), opt)
			if err != nil {
				t.Fatal(err)
			}
			for p := range pair {
				if pair[p], err = engine.New(fallback.New(bound.Precision(p)), nil, post, 8); err != nil {
					t.Fatal(err)
				}
				of(pair[p]).deviations = map[*bound.Model]*bound.Deviations{pair[p].Model: plainConcentration(t, pair[p])}
			}
			engines[c.Posterior] = pair
		}
		region, err := property.ReadRegion(property.RegionText{Eps: string(c.Eps), Clip: []string{"0", "1"}}, points.Dim)
		if err != nil {
			t.Fatal(err)
		}
		box, err := points.Around(c.Image, region)
		if err != nil {
			t.Fatal(err)
		}
		for p, e := range pair {
			t.Run(fmt.Sprintf("%s/%d/%v", filepath.Base(c.Posterior), c.Image, bound.Precision(p)), func(t *testing.T) {
				task := &property.Task{T: []property.Box{box}, S: property.ArgmaxIs(c.PredictedClass, e.Normal.Outputs())}
				for _, want := range c.CLBP {
					got := plainBound(t, e, task, want.Tau)
					if p == 0 {
						got, want.PLower = max(0, got), max(0, want.PLower)
					}
					if off := want.PLower - got; off < -1e-12 || off > []float64{1e-3, 1e-6}[p] {
						t.Errorf("tau %v: p_lower %.9f, independent program %.9f: below it by %.3g", want.Tau, got, want.PLower, off)
					}
				}
			})
		}
	}
}

// plainConcentration bounds E|W| as docs/theory.md, section 3.3 does: |mean| + sqrt(2/pi) sd.
func plainConcentration(t *testing.T, e *engine.Engine) *bound.Deviations {
	var m bound.Moments
	for _, l := range e.Normal.Layers {
		v := make([]float64, len(l.Weight.Mean))
		for j, mean := range l.Weight.Mean {
			v[j] = math.Abs(mean) + l.Weight.SdHi[j]*math.Sqrt(2/math.Pi)*(1+1e-15)
		}
		m.AbsMean = append(m.AbsMean, v)
	}
	c, err := e.Model.NewDeviations(e.Normal, m)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plainBound is (14) with three events of probability tau for each hidden neuron, and
// the tail exp(-z^2/2) of (13).
func plainBound(t *testing.T, e *engine.Engine, task *property.Task, tau float64) float64 {
	z := e.Device.Precision().RoundHi(math.Sqrt(-2*math.Log(tau)) * (1 + 1e-12))
	q := bound.Quantiles{Single: z, Radius: z}
	fail := 0.0
	for k, l := range e.Normal.Layers {
		q.Many = append(q.Many, z)
		if k < len(e.Normal.Layers)-1 {
			fail += 3 * tau * float64(l.Outputs())
		}
	}
	c := &cell{task: task, box: task.T[0], fail: 1}
	err := method{e: e}.propagate(e.Model, []*cell{c}, q, func(_ *cell, n *bound.CLBPMargins, i int) error {
		for r := range task.S.Rows {
			lo, mean, variance := n.ByLines.At(i*n.Rows + r)
			z, v := lo-floats.Sum(mean), floats.Sum(variance)
			if z > 0 {
				fail += math.Exp(-z * z / (2 * v))
			} else {
				fail++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return 1 - fail
}
