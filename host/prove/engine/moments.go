package engine

import (
	"context"
	"slices"

	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/internal/fault"
)

// NoiseMoments returns what bound.NewDeviations wants to know of a posterior of independent normal
// weights.
func NoiseMoments(post *posterior.Posterior) bound.Moments {
	m, _ := noiseMoments(post, func() error { return nil })
	return m
}

// noiseMoments is NoiseMoments for work that may have to stop, which is the error.
func noiseMoments(post *posterior.Posterior, ended func() error) (bound.Moments, error) {
	const each = 1 << 12 // weights that a core takes at a time
	var m bound.Moments
	for _, l := range post.Layers {
		v := make([]float64, len(l.Weight.Mean))
		parts := (len(v) + each - 1) / each
		errs := make([]error, parts)
		fault.OnCores(context.Background(), parts, func(i int) {
			if errs[i] = ended(); errs[i] != nil {
				return
			}
			for j := i * each; j < min((i+1)*each, len(v)); j++ {
				v[j] = gauss.AbsMeanUp(l.Weight.Mean[j], l.Weight.SdHi[j])
			}
		})
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			return m, errs[i]
		}
		m.AbsMean = append(m.AbsMean, v)
	}
	return m, nil
}
