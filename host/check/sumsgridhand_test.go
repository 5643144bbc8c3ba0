package check

import (
	"testing"

	net "psafe/host/model/network"
	"psafe/host/read/property"
)

// TestGridByHand: networks with one input and one neuron, in which one thing alone can fail.
func TestGridByHand(t *testing.T) {
	box := property.Box{Lo: []float64{-1}, Hi: []float64{1}}
	tail := func(z float64) float64 { return normalApprox(-z) }
	for _, c := range []struct {
		what                    string
		act                     net.Activation
		weight, bias, out, last [2][]float64
		planes                  []float64
		least, most             float64
	}{
		// t = 1 everywhere: two points and N planes count as often.
		{"constant", net.Activation{Kind: net.ReLU}, constants(0), constants(1), constants(1), [2][]float64{{1}, {1}}, []float64{0}, 3 * tail(2), 3 * tail(2)},
		// |w| >= 2 fails at an end; 0 never fails.
		{"2 - s(w x)", net.Activation{Kind: net.ReLU}, [2][]float64{{0}, {1}}, constants(0), constants(-1), constants(2), []float64{0}, 2 * tail(2), 2.1 * tail(2)},
		// s(w x + 5) - 3 is linear where it matters.
		{"s(w x + 5) - 3", net.Activation{Kind: net.ReLU}, [2][]float64{{0}, {1}}, constants(5), constants(1), constants(-3), []float64{0}, 2 * tail(2), 2.1 * tail(2)},
		// t = x: the kink is inside a cell from -1 to 1/2, whose centre -1/4 is not active, so that
		// low is 0 at 1/2 although s is not: s + 0.2 is safe everywhere; s - 0.2 is not.
		{"s(x) + 0.2", net.Activation{Kind: net.ReLU}, constants(1), constants(0), constants(1), constants(0.2), []float64{0.5}, 0, 0},
		{"s(x + 2) - 0.9", net.Activation{Kind: net.ReLU}, constants(1), constants(2), constants(1), constants(-0.9), []float64{0.5}, 0, 0},
		{"s(x + 2) - 1.1", net.Activation{Kind: net.ReLU}, constants(1), constants(2), constants(1), constants(-1.1), []float64{0.5}, 1, 1},
		// t = x + 0.1 with the cell [-1, 1/2]: its centre is inactive. At 1/2 low is 0, so that
		// s(t) - 0.05, which fails at -1 in truth, fails at all three points with N(0.1, 0.05).
		{"s(x + 0.1) + N(0.1, 0.05)", net.Activation{Kind: net.ReLU}, constants(1), constants(0.1), constants(1), [2][]float64{{0.1}, {0.05}}, []float64{0.5},
			2 * tail(2), 2*tail(2) + 1e-12},
		// The centre of [-1, 1/2] is active with x + 0.3: low at -1 is -0.7.
		{"s(x + 0.3) + N(0.8, 0.05)", net.Activation{Kind: net.ReLU}, constants(1), constants(0.3), constants(1), [2][]float64{{0.8}, {0.05}}, []float64{0.5},
			tail(2), tail(2) + 1e-12},
		{"leaky", net.Activation{Kind: net.LeakyReLU, Slope: 0.5}, constants(1), constants(0.1), constants(1), [2][]float64{{0.55}, {0.05}}, []float64{0.5},
			tail(2), tail(2) + 1e-12},
	} {
		post := shallow(c.act, 1, 1, c.weight, c.bias, c.out, c.last)
		task := &property.Task{T: []property.Box{box}, S: onePoint([]float64{0}).S}
		fail := gridFail(t, post, task, [][][]float64{{c.planes}})
		if fail < c.least*(1-1e-9) || fail > c.most*(1+1e-9)+1e-11 {
			t.Errorf("%s: fails %v, want %v to %v", c.what, fail, c.least, c.most)
		}
	}
}

// TestGridFarTails: a margin c - s(N(mean, 1)) at one point fails with Q(c - mean) exactly: where few
// neurons are added up otherwise, what was moved within its bin must not count as rounded.
func TestGridFarTails(t *testing.T) {
	for _, act := range []net.Activation{{Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.01}} {
		for _, c := range [][2]float64{{0, 3.505}, {0, 4.005}, {0, 5.005}, {0, 6.005}, {-2, 3.001}, {-2, 6.5005}, {-4, 5.005}} {
			for _, others := range []int{0, 2} { // that add nothing, at random
				mean, z := c[0], c[1]
				weight, bias, out := constants(0), [2][]float64{{mean}, {1}}, constants(-1)
				for range others {
					weight[0], weight[1] = append(weight[0], 0), append(weight[1], 0)
					bias[0], bias[1] = append(bias[0], 1), append(bias[1], 1)
					out[0], out[1] = append(out[0], 0), append(out[1], 0)
				}
				post := shallow(act, 1, 1+others, weight, bias, out, constants(z+mean))
				task := &property.Task{T: []property.Box{{Lo: []float64{0}, Hi: []float64{0}}}, S: onePoint([]float64{0}).S}
				got, want := gridFail(t, post, task, [][][]float64{{nil}}), normalApprox(-z)
				if got < want*(1-1e-9) || others == 0 && got > 1.3*want+2e-5 || got > 6*want+2e-5 {
					t.Errorf("%v, %v and %d others: fails %v, want %v", act, c, others, got, want)
				}
			}
		}
	}
}
