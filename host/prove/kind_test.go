package prove_test

import (
	"context"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/boxes"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// TestOtherKindsRefused: boxes and measures of independent normal weights are not
// made for other posteriors, whichever door is tried.
func TestOtherKindsRefused(t *testing.T) {
	for name, want := range map[string]string{
		"samples-2-8-3.npz": "this posterior is a set of 12 samples",
		"swag-2-8-3.npz":    "this posterior is SWAG of rank 3",
		"dropout-2-8-3.npz": "this posterior is MC dropout with rates 0, 0.2",
	} {
		post := read(t, name)
		dev := fallback.New(bound.Float32)
		check := func(door string, err error, want string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s of %s: %v, want one line with %q", door, name, err, want)
			}
		}
		// An engine is made for the methods that any posterior has; the others
		// would certify its mean network.
		eng, err := engine.New(dev, nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		task := safeOn(property.ArgmaxIs(0, post.Outputs()), property.Box{Lo: make([]float64, post.Inputs()), Hi: make([]float64, post.Inputs())})
		emit := func(r *claim.Result) error {
			t.Errorf("a result of %s by %s", name, r.Method)
			return nil
		}
		for _, cfg := range []prove.Config{{Method: prove.IBP}, {Method: prove.LBP}, {Method: prove.CLBP}, {Method: prove.NeuronSum}, {Method: prove.Auto}} {
			if post.RequireRows() == nil && (cfg.Method == prove.CLBP || cfg.Method == prove.Auto) {
				continue // they know it
			}
			cfg.Samples, cfg.Gamma = 2, 1
			check("Run", prove.Run(context.Background(), []*engine.Engine{eng}, cfg, []property.Task{task}, nil, emit), want)
		}
		if post.Finite() == nil {
			check("Run", prove.Run(context.Background(), []*engine.Engine{eng}, prove.Config{Method: prove.Finite}, []property.Task{task}, nil, emit), "not a finite set")
		}
		eng.Close()
		_, err = bound.NewModel(dev, post, 12)
		check("NewModel", err, want)
		_, err = bound.HostBox(post, bound.Float32, bound.BoxSpec{Gamma: [][]float64{{1}, {1}}}, 0)
		check("HostBox", err, want)
		_, err = bound.NewEnds(&post.Layers[0].Weight, bound.Float32, 12)
		check("NewEnds", err, "16 weights have 0 standard deviations")
		if c := boxes.Ceiling(post, bound.Float32, 10, 1); c != 0 {
			t.Errorf("ceiling of %s is %v, want 0: unknown", name, c)
		}
	}
}
