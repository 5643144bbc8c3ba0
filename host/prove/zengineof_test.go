package prove

import (
	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"testing"
)

func engineOf(t *testing.T, p bound.Precision, layers ...posterior.Layer) *Engine {
	t.Helper()
	e, err := NewEngine(fallback.New(p), nil, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
