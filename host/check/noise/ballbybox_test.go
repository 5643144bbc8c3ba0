package noise

import (
	"math/rand/v2"
	"testing"

	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
)

// TestCheckBallByBox: where a bound of the box around a ball is better than that of the ball, certify claims it, and
// check proves it.
func TestCheckBallByBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 3))
	byBox := 0
	for range 12 {
		post := sumtest.RandomNoisy(rng, checktest.Activations[1], 0.1, 1, 3, 5, 2)
		x := rng.NormFloat64()
		b := property.Box{Lo: []float64{x - 0.02}, Hi: []float64{x + 0.02}}
		task := property.Task{Label: -1, T: []property.Box{b}, Inner: []property.Box{b}, S: property.ArgmaxIs(0, 2)}
		at, radius := []float64{x}, []float64{0.02}
		task.Ball = &property.Ball{Norm: 2, CentreLo: at, CentreHi: at, RadiusLo: radius, RadiusHi: radius}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		const tau = 1e-4
		box := property.Task{T: task.T, S: task.S}
		in, err := n.FailUp(t.Context(), &box, nil, []float64{tau}, checktest.AtMost(1))
		if err != nil {
			t.Fatal(err)
		}
		on, err := n.FailUp(t.Context(), &task, nil, []float64{tau}, checktest.AtMost(1))
		if err != nil || on > in {
			t.Errorf("the ball fails with %v, the box around it with %v, %v", on, in, err)
		}
		if n.cellFailUp(b, task.Ball, tau, 0, &task.S) > in {
			byBox++
		}
	}
	if byBox == 0 {
		t.Error("the box is never better")
	}
}
