package bound

import (
	"slices"
	"testing"
)

// TestLeadForms: rows of differences of a plain layer's units stop at closed values. Going on they
// would meet noise, and rely on bounds, for which no event of a plain layer is paid.
func TestLeadForms(t *testing.T) {
	m := &Model{layers: []layer{{class: plain, meetsClosed: true}, {class: bounded, meetsClosed: true}, {class: bounded}}}
	stop, lines := form{stop: true}, form{}
	for k, want := range [][]form{{stop}, {stop, lines}, {stop}} {
		p := &pass{Model: m, layers: m.layers, hooks: &hooks{}}
		if got := p.leadForms(k); !slices.Equal(got, want) {
			t.Errorf("layer %d: %+v, want %+v", k, got, want)
		}
	}
	// Of weight boxes nothing has to be paid.
	p := &pass{Model: m, layers: m.layers, query: Query{Boxes: &Boxes{wide: make([]bool, 3)}}}
	if got := p.leadForms(0); !slices.Equal(got, []form{stop, lines}) {
		t.Errorf("weight boxes: %+v", got)
	}
}

// TestEventsOfPooledLayers: a layer that feeds pools alone pays for upper ends and radii, one that
// feeds something else too for both ends.
func TestEventsOfPooledLayers(t *testing.T) {
	m := &Model{layers: []layer{
		{class: bounded, out: 6, used: 5, poolsOnly: true}, {class: bounded, out: 6, used: 6}, {class: loose, out: 3}, {class: plain, out: 2}, {},
	}}
	for k, want := range []Events{{Ends: 5, Radii: 5}, {Ends: 12, Radii: 6}, {Loose: 6}, {}} {
		if got := m.layerEvents(k, false); got != want {
			t.Errorf("layer %d: %+v, want %+v", k, got, want)
		}
		want.Radii = 0
		if got := m.layerEvents(k, true); got != want {
			t.Errorf("layer %d, a point: %+v, want %+v", k, got, want)
		}
	}
}
