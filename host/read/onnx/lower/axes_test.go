package lower

import (
	"math/rand/v2"
	"strings"
	"testing"

	. "psafe/internal/testkit/onnxtest"
)

// TestPadOfThreeAxes: the last two axes of three may be padded as those of an image are.
func TestPadOfThreeAxes(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	for _, shape := range [][]int64{{2, 3, 4}, {1, 3, 8}} {
		for i, fill := range []float64{0, 0.5} {
			b := New(1, 1, 1, 3, 4)
			b.Node("Conv", []string{b.Const("k", []int{2, 1, 1, 1}, 0.5, -1)})
			b.Node("Reshape", []string{b.Shape("s", shape...)})
			b.Node("Pad", []string{b.Shape("p", 0, int64(i), 1, 0, 1, 2), b.Const("z", []int{}, fill)})
			b.Node("Relu", nil)
			result, err := Graph(&b.Graph, Random{})
			if err != nil {
				t.Fatal(err)
			}
			encloses(t, &b.Graph, result, points(r, result))
		}
	}
}

// TestMatMulOfMoreAxes: a product has as many axes as the factor with more of them, on which what
// comes after depends: the mean along axis 1, of length 1, is each number itself.
func TestMatMulOfMoreAxes(t *testing.T) {
	for _, left := range []bool{false, true} {
		b := New(1, 2, 2)
		b.Node("Relu", nil)
		m := b.Const("m", []int{1, 1, 2, 2})
		if left {
			b.On("MatMul", []string{m, b.Last})
		} else {
			b.Node("MatMul", []string{m})
		}
		b.Node("ReduceMean", nil, Ints("axes", 1))
		result, err := Graph(&b.Graph, Random{})
		if err != nil {
			t.Fatal(err)
		}
		if last := result.Layers[len(result.Layers)-1]; last.Filters != 4 {
			t.Errorf("left %v: %d outputs instead of 4", left, last.Filters)
		}
	}
}

// TestNoAxes: an empty list of axes means different things to different programs.
func TestNoAxes(t *testing.T) {
	for _, operator := range []string{"Squeeze", "Unsqueeze"} {
		b := New(1, 1, 2)
		b.Node("Relu", nil)
		b.Node(operator, []string{b.Shape("none")})
		if _, err := Graph(&b.Graph, Random{}); err == nil || !strings.Contains(err.Error(), "list of axes is empty") {
			t.Errorf("%s: %v", operator, err)
		}
	}
}
