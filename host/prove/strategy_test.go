package prove

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/lab/testkit/provetest"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// TestIncompleteStrategies: the program does not start with an entry of which any field
// is missing, a field of groups included, nor with none at all.
func TestIncompleteStrategies(t *testing.T) {
	cut := map[string]func(*entry){
		"word":   func(e *entry) { e.word = "" },
		"family": func(e *entry) { e.family = 0 },
		"fits":   func(e *entry) { e.fits = nil },
		"run":    func(e *entry) { e.run = nil },
		"uppers": func(e *entry) { e.uppers = 0 },
		"drawn":  func(e *entry) { e.drawn = 0 },
	}
	fields := reflect.TypeFor[entry]()
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; cut[name] == nil {
			t.Errorf("no case for the field %s", name)
		}
	}
	refused := func(s Strategy, what string, change func(*entry)) {
		t.Helper()
		table := strategies
		change(&table[s])
		defer func() {
			t.Helper()
			if err := fmt.Sprint(recover()); !strings.Contains(err, what) || !strings.Contains(err, fmt.Sprintf("strategy %d", int(s))) {
				t.Errorf("%v without %s: %s", s, what, err)
			}
		}()
		mustBeComplete(table[:])
	}
	for s := range strategyCount {
		for what, change := range cut {
			refused(s, what, change)
		}
		refused(s, "word", func(e *entry) { *e = entry{} })
		switch run := strategies[s].run.(type) {
		case groups:
			refused(s, "run.certify", func(e *entry) { e.run = groups{nil, run.most} })
			refused(s, "run.most", func(e *entry) { e.run = groups{run.certify, nil} })
		case together:
			refused(s, "run", func(e *entry) { e.run = together(nil) })
		}
	}
	mustBeComplete(strategies[:])
}

// TestStrategyWords: every strategy has a word of its own, and --boxes reads those of
// weight boxes.
func TestStrategyWords(t *testing.T) {
	seen := map[string]bool{}
	for s := range strategyCount {
		if seen[s.String()] {
			t.Errorf("two strategies are called %v", s)
		}
		seen[s.String()] = true
		got, err := ParseStrategy(s.String())
		if boxes := s == Centred || s == Sampled; boxes != (err == nil) || boxes && got != s {
			t.Errorf("ParseStrategy(%q) is %v, %v", s.String(), got, err)
		}
	}
	if _, err := ParseStrategy("round"); err == nil || err.Error() != `boxes "round" is none of centred, sampled` {
		t.Error(err)
	}
}

// TestUnknownStrategy: what is no strategy is refused before anything is done, and is
// not taken for another.
func TestUnknownStrategy(t *testing.T) {
	e := engineOf(t, bound.Float32, posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: provetest.Fixed(1), Bias: provetest.Fixed(0)})
	for _, s := range []Strategy{-1, strategyCount, 99} {
		err := Run(context.Background(), []*engine.Engine{e}, Config{Strategy: s, Method: bound.LBP}, []property.Task{provetest.AtLeast(0, 0, 1)}, nil, func(*claim.Result) error {
			t.Errorf("%v: a result", s)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("strategy(%d) is none of", int(s))) {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// TestOneHiddenLayer: sums of neurons are refused for other networks, in a line.
func TestOneHiddenLayer(t *testing.T) {
	e := engineOf(t, bound.Float32, posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: provetest.Fixed(1), Bias: provetest.Fixed(0)})
	err := Run(context.Background(), []*engine.Engine{e}, Config{Strategy: NeuronSums}, []property.Task{provetest.AtLeast(0, 0, 1)}, nil, func(*claim.Result) error { return nil })
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
