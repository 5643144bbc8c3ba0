package train

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"psafe/host/model/posterior"
)

// Score describes how well the mean network of a posterior does on data.
type Score struct {
	// Loss is the mean negative log-likelihood per example.
	Loss float64
	// Accuracy is the share of examples whose largest output is that of their
	// label, for a classification.
	Accuracy float64
	// RMSE is the root of the mean squared error per target, for a regression.
	RMSE float64
}

// Evaluate scores the mean network of p on data of matching shape (it panics
// otherwise). noise is the standard deviation of a regression's targets.
func Evaluate(p *posterior.Posterior, data *Data, noise float64) Score {
	data.check()
	if p.Inputs() != data.Inputs || p.Outputs() != data.Outputs {
		panic("train: Evaluate: the network does not fit the data")
	}
	var s Score
	n := data.N()
	grad := make([]float64, data.Outputs)
	for e := range n {
		out := p.LogitsApprox(data.Point(e))
		if data.Task == Classification {
			s.Loss += softmaxNegLog(out, data.Label[e], grad)
			if floats.MaxIdx(out) == data.Label[e] {
				s.Accuracy++
			}
			continue
		}
		for i, y := range data.Target[e*data.Outputs : (e+1)*data.Outputs] {
			d := out[i] - y
			s.RMSE += d * d
			v := noise * noise
			s.Loss += d*d/(2*v) + math.Log(2*math.Pi*v)/2
		}
	}
	s.Loss /= float64(n)
	s.Accuracy /= float64(n)
	s.RMSE = math.Sqrt(s.RMSE / float64(n*data.Outputs))
	return s
}
