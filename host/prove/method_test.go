package prove

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// TestIncompleteMethods: the program does not start with a method of which any field
// is missing, a field of groups included, nor with none at all.
func TestIncompleteMethods(t *testing.T) {
	cut := map[string]func(*way){
		"fits":   func(w *way) { w.fits = nil },
		"run":    func(w *way) { w.run = nil },
		"uppers": func(w *way) { w.uppers = 0 },
		"drawn":  func(w *way) { w.drawn = 0 },
		"balls":  func(w *way) { w.balls = 0 },
	}
	fields := reflect.TypeFor[way]()
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; cut[name] == nil {
			t.Errorf("no case for the field %s", name)
		}
	}
	refused := func(m Method, what string, change func(*way) *way) {
		t.Helper()
		table, cut := ways, *ways[m]
		table[m] = change(&cut)
		defer func() {
			t.Helper()
			if err := fmt.Sprint(recover()); !strings.Contains(err, "no "+what) || !strings.Contains(err, fmt.Sprintf("method %v has", m)) {
				t.Errorf("%v without %s: %s", m, what, err)
			}
		}()
		mustBeComplete(table)
	}
	for m := range methodCount {
		for what, change := range cut {
			refused(m, what, func(w *way) *way { change(w); return w })
		}
		refused(m, "way", func(*way) *way { return nil })
		switch run := ways[m].run.(type) {
		case groups:
			refused(m, "run.certify", func(w *way) *way { w.run = groups{nil, run.most, run.lanes, run.cores}; return w })
			refused(m, "run.most", func(w *way) *way { w.run = groups{run.certify, nil, run.lanes, run.cores}; return w })
			refused(m, "run.lanes", func(w *way) *way { w.run = groups{run.certify, run.most, nil, run.cores}; return w })
			refused(m, "run.cores", func(w *way) *way { w.run = groups{run.certify, run.most, run.lanes, nil}; return w })
		case together:
			refused(m, "run", func(w *way) *way { w.run = together(nil); return w })
		}
	}
	mustBeComplete(ways)
}

// TestMethodWords: every method has a word of its own, which is read as what it was written for.
func TestMethodWords(t *testing.T) {
	seen := map[string]bool{"": true}
	once := func(word string) {
		if seen[word] {
			t.Errorf("%q twice, or nothing", word)
		}
		seen[word] = true
	}
	for m := range methodCount {
		once(m.String())
		if got, err := ParseMethod(m.String()); got != m || err != nil {
			t.Errorf("ParseMethod(%q) is %v, %v", m, got, err)
		}
	}
	if _, err := ParseMethod(""); err == nil || err.Error() != `"" is none of auto, ibp, lbp, clbp, neuronsum, phases, chernoff, finite, statistical` {
		t.Error(err)
	}
}

// TestUnknownMethod: what is no method is refused before anything is done, and is not taken for another.
func TestUnknownMethod(t *testing.T) {
	e := engineOf(t, bound.Float32, posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: provetest.Fixed(1), Bias: provetest.Fixed(0)})
	for want, cfg := range map[string]Config{
		"method(-1) is none of the 9 methods": {Method: -1}, "method(9) is none of": {Method: methodCount}, "method(99) is none of": {Method: 99},
	} {
		err := Run(context.Background(), []*engine.Engine{e}, cfg, []property.Task{provetest.AtLeast(0, 0, 1)}, nil, func(*claim.Result) error {
			t.Errorf("%v: a result", cfg)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", cfg, err)
		}
	}
}

// TestOneHiddenLayer: sums of neurons are refused for other networks, in a line.
func TestOneHiddenLayer(t *testing.T) {
	e := engineOf(t, bound.Float32, posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: provetest.Fixed(1), Bias: provetest.Fixed(0)})
	err := Run(context.Background(), []*engine.Engine{e}, Config{Method: NeuronSum}, []property.Task{provetest.AtLeast(0, 0, 1)}, nil, func(*claim.Result) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "this one has 0: use --method clbp") {
		t.Error(err)
	}
}

// engineOf is an engine of a network with these layers on the fallback.
func engineOf(t *testing.T, p bound.Precision, layers ...posterior.Layer) *engine.Engine {
	t.Helper()
	e, err := engine.New(fallback.New(p), nil, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
