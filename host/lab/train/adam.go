package train

import "math"

// adam is the optimiser of Kingma and Ba (2015) with its usual constants.
type adam struct {
	first, second []float64
	steps         int
}

func newAdam(n int) *adam {
	return &adam{first: make([]float64, n), second: make([]float64, n)}
}

// step moves param against grad.
func (a *adam) step(param, grad []float64, rate float64) {
	const beta1, beta2, tiny = 0.9, 0.999, 1e-8
	a.steps++
	rate /= 1 - math.Pow(beta1, float64(a.steps))
	unbias := 1 / (1 - math.Pow(beta2, float64(a.steps)))
	for i, g := range grad {
		a.first[i] = float64(beta1*a.first[i]) + float64((1-beta1)*g)
		a.second[i] = float64(beta2*a.second[i]) + float64((1-beta2)*float64(g*g))
		param[i] -= rate * a.first[i] / (math.Sqrt(a.second[i]*unbias) + tiny)
	}
}
