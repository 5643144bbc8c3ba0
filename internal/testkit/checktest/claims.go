package checktest

import (
	"context"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// Certified returns what certify says of the tasks on the fallback.
func Certified(t *testing.T, p bound.Precision, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) []*claim.Result {
	t.Helper()
	return CertifiedTo(t, 0, p, post, cfg, tasks)
}

// CertifiedTo is certified with rows of a depth.
func CertifiedTo(t *testing.T, depth int, p bound.Precision, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) []*claim.Result {
	t.Helper()
	e, err := engine.NewOfDepth(fallback.New(p), nil, post, 8, depth)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var list []*claim.Result
	if err := prove.Run(context.Background(), []*engine.Engine{e}, cfg, tasks, nil, func(r *claim.Result) error {
		list = append(list, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// AtMost is enough.
func AtMost(enough float64) func(float64) bool { return func(p float64) bool { return p <= enough } }

// RandomTask asks whether the class of the mean network stays, or one of several others.
func RandomTask(rng *rand.Rand, post *posterior.Posterior, index int) property.Task {
	task := property.Task{Index: index, Label: -1}
	n := post.Outputs()
	for range 1 + rng.IntN(2) {
		var b property.Box
		for range post.Inputs() {
			x, eps := rng.NormFloat64(), []float64{0, 0.02, 0.2}[rng.IntN(3)]
			b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
		}
		task.T = append(task.T, b)
	}
	task.Inner = task.T
	y := post.LogitsApprox(task.T[0].Lo)
	class := 0
	for c := range y {
		if y[c] > y[class] {
			class = c
		}
	}
	switch rng.IntN(4) {
	case 0:
		task.S = property.ArgmaxIsNever(rng.IntN(n), n)
	case 1:
		task.S = property.ArgmaxIs(rng.IntN(n), n)
	case 2:
		task.S = property.ArgmaxIs(class, n)
	default: // decimals: y_i + 0.1 >= 0.3 y_0 for each i
		task.S.Any = [][]int{nil}
		for i := 1; i < n; i++ {
			r := property.Row{CLo: make([]float64, n), CHi: make([]float64, n), D: 1.1, DHi: arith.Up(1.1)}
			r.CLo[i], r.CHi[i] = 1, 1
			r.CLo[0], r.CHi[0] = -0.3, arith.Up(-0.3)
			task.S.Any[0] = append(task.S.Any[0], len(task.S.Rows))
			task.S.Rows = append(task.S.Rows, r)
		}
	}
	return task
}

// WitnessOf is the box of a proof's witness.
func WitnessOf(t *testing.T, task *property.Task, w claim.Witness) property.Box {
	t.Helper()
	x, err := task.T[w.Box].DecodePoint(w.At)
	if err != nil {
		t.Fatal(err)
	}
	return task.Witness(w.Box, x)
}
