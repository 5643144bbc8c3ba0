package engine

import (
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/measure"
)

// NoiseMoments are what bound.NewDeviations wants to know of a posterior of
// independent normal weights.
func NoiseMoments(post *posterior.Posterior) bound.Moments {
	m, _ := noiseMoments(post, func() error { return nil })
	return m
}

// noiseMoments is NoiseMoments for work that may have to stop, which is the error.
func noiseMoments(post *posterior.Posterior, ended func() error) (bound.Moments, error) {
	const lookEvery = 1 << 14
	var m bound.Moments
	for _, l := range post.Layers {
		v := make([]float64, len(l.Weight.Mean))
		for j, mean := range l.Weight.Mean {
			if j%lookEvery == 0 {
				if err := ended(); err != nil {
					return m, err
				}
			}
			v[j] = measure.AbsMeanUp(mean, l.Weight.SdHi[j])
		}
		m.AbsMean = append(m.AbsMean, v)
	}
	return m, nil
}
