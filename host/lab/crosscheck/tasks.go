package crosscheck

import (
	"math/rand/v2"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// OwnTasks are three tasks for a posterior of which nobody named any: an input box that is
// small and not negative, one of both signs, and a point; each asks for a class, or with one
// output for the sign of a random multiple of it.
func OwnTasks(post *posterior.Posterior, seed uint64) []property.Task {
	rng := rand.New(rand.NewPCG(seed, 0))
	var tasks []property.Task
	for i := range 3 {
		b := ownBox(rng, post.Inputs(), i)
		tasks = append(tasks, property.Task{Index: i, Label: -1, T: []property.Box{b}, S: ownSafe(rng, post.Outputs(), i)})
	}
	return tasks
}

// ownBox is the input box of task i.
func ownBox(rng *rand.Rand, inputs, i int) property.Box {
	b := property.Box{Lo: make([]float64, inputs), Hi: make([]float64, inputs)}
	for j := range b.Lo {
		b.Lo[j] = rng.Float64() * 0.9
		b.Hi[j] = b.Lo[j] + 0.02*rng.Float64()
		switch i {
		case 1:
			b.Lo[j], b.Hi[j] = b.Lo[j]-0.5, b.Hi[j]-0.4
		case 2:
			b.Hi[j] = b.Lo[j]
		}
	}
	return b
}

// ownSafe is the safe set of task i. It draws as many numbers with any number of outputs.
func ownSafe(rng *rand.Rand, outputs, i int) property.Safe {
	c := make([]float64, outputs)
	for k := range c {
		c[k] = rng.NormFloat64()
	}
	if outputs > 1 {
		return property.ArgmaxIs(i%outputs, outputs)
	}
	return property.Safe{Rows: []property.Row{{CLo: c, CHi: c}}, Any: [][]int{{0}}}
}
