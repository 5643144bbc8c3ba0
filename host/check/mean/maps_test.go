package mean

import (
	"fmt"
	"math"
	"testing"

	"psafe/host/check/clbp"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
)

// TestRefusedMaps: what the checker does not know is refused, in a line that names it.
func TestRefusedMaps(t *testing.T) {
	conv := net.Conv{In: net.Image{Height: 2, Width: 2, Channels: 1}, Window: checktest.WindowOf(1, 1, 0), Filters: 1, Groups: 1}
	post := checktest.OfLayers(
		posterior.Layer{Layer: net.Layer{Map: checktest.Odd{Conv: conv}}, Weight: checktest.WeightsOf(1, 0.5, 1), Bias: checktest.WeightsOf(0, 0, 1)},
		posterior.Layer{Layer: net.DenseLayer(4, 2, net.Activation{}), Weight: checktest.WeightsOf(1, 0.1, 8), Bias: checktest.WeightsOf(0, 0, 2)})
	const want = "layer 0: a checktest.Odd cannot be checked"
	if _, err := clbp.New(post, false); fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	f := relax.Formats["float64"]
	b, err := relax.BoxOf(post, &f, 1, func(int, int) float32 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Network(post); fmt.Sprint(err) != "posterior: "+want {
		t.Errorf("%v, want %s", err, want)
	}
	if norms := normsUp(post, []property.Box{{Lo: make([]float64, 4), Hi: make([]float64, 4)}}); !math.IsInf(norms[0], 1) {
		t.Errorf("norms %v of a map that is not known", norms)
	}
}
