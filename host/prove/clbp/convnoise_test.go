package clbp

import (
	"math"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
)

// topNoise is the noise of the last layer in rows, N(x) = C (D z(x) + d), of draws in which every
// hidden bound holds, which depends on no weight of that layer.
type topNoise struct {
	layer *posterior.Layer
	rows  []property.Row
	// now is of this draw, [point][row]; centre and least are of all of them, [row][draw].
	now           [][]float64
	centre, least [][]float64
}

// at adds a point of this draw, after path.At(x).
func (n *topNoise) at(path *convtest.Path, x []float64) {
	k := len(path.Layers) - 1
	z, weight, bias := path.Input(k, x), path.Weights[2*k], path.Weights[2*k+1]
	y := make([]float64, n.layer.Outputs())
	for i := range y {
		y[i] = bias[i] - n.layer.Bias.Mean[i]
	}
	linear := n.layer.Map.(network.Linear)
	for i := range y {
		for j, w := range linear.Into(i) {
			y[i] += (weight[w] - n.layer.Weight.Mean[w]) * z[j]
		}
	}
	var values []float64
	for _, row := range n.rows {
		v := 0.0
		for i, c := range row.CLo {
			v += c * y[i]
		}
		values = append(values, v)
	}
	n.now = append(n.now, values)
}

func (n *topNoise) forget() { n.now = n.now[:0] }

func (n *topNoise) keep() {
	if n.centre == nil {
		n.centre, n.least = make([][]float64, len(n.rows)), make([][]float64, len(n.rows))
	}
	for r := range n.rows {
		least := math.Inf(1)
		for _, point := range n.now {
			least = min(least, point[r])
		}
		n.centre[r], n.least[r] = append(n.centre[r], n.now[0][r]), append(n.least[r], least)
	}
	n.forget()
}

// check compares mean and variance of row r with (17) and (18), which for a last layer that is
// dense and noisy are the first of the form by intervals.
func (n *topNoise) check(t *testing.T, form *bound.Noises, r int) {
	t.Helper()
	noisy := false
	for _, sd := range append(slices.Clone(n.layer.Weight.SdHi), n.layer.Bias.SdHi...) {
		noisy = noisy || sd > 0
	}
	if n.centre == nil || !noisy || len(n.centre[r]) < 100 || form.Lo == nil {
		return
	}
	_, mean, variance := form.At(r)
	draws := math.Sqrt(float64(len(n.centre[r])))
	moments := func(list []float64) (m, sd float64) {
		for _, v := range list {
			m += v / float64(len(list))
		}
		for _, v := range list {
			sd += (v - m) * (v - m) / float64(len(list))
		}
		return m, math.Sqrt(sd)
	}
	if _, sd := moments(n.centre[r]); sd > math.Sqrt(variance[0])*(1+4/draws)+1e-12 {
		t.Errorf("row %d: standard deviation %v of the last layer's noise, at most %v", r, sd, math.Sqrt(variance[0]))
	}
	if m, sd := moments(n.least[r]); m < -mean[0]-5*sd/draws-1e-12 {
		t.Errorf("row %d: mean %v of the least noise of the last layer, at least %v", r, m, -mean[0])
	}
}
