package boxes

import (
	"context"
	"math"
	"slices"

	"psafe/host/prove/engine"
	"psafe/host/prove/measure"
)

// perLayer gives every layer its own half-width. Margins are nearly linear in the
// gammas, m(g) = m(g*) - sum_k s_k (g_k - g*), so the slopes s_k are measured at
// the best uniform box by narrowing one layer at a time, the log-mass
// sum_k n_k log erf(g_k/sqrt2) is maximised under m = 0, and the ray through that
// point is searched for what really verifies. The better box is kept.
func (s centred) perLayer(ctx context.Context, rays []*ray) ([]*ray, error) {
	open, slopes, err := s.slopes(ctx, rays)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(s.e.Normal.Layers))
	for k := range counts {
		counts[k] = s.e.Normal.Layers[k].Random()
	}
	second := map[*ray]*ray{}
	var list []*ray
	for i, r := range open {
		dir := bestWidths(counts, slopes[i], r.best, r.bestMargin, s.mostGamma())
		if dir == nil {
			continue
		}
		// Along this ray t = 1 is where the linear model puts the zero.
		other := &ray{task: r.task, dir: dir, fail: math.Inf(1), cap: min(s.e.Reach/slices.Max(dir), 1.5)}
		second[r] = other
		list = append(list, other)
	}
	if err := s.searchWidths(ctx, list); err != nil {
		return nil, err
	}
	out, p := make([]*ray, len(rays)), s.e.Device.Precision()
	for i, r := range rays {
		out[i] = r
		if other := second[r]; other != nil {
			r.tried += other.tried
			other.tried = r.tried
			if other.best > 0 && measure.CentredLogMassApprox(other.gamma(p), counts) > measure.CentredLogMassApprox(r.gamma(p), counts) {
				out[i] = other
			}
		}
	}
	return out, nil
}

// slopes measures, for the rays that end inside of what was searched, how the margin
// falls with the half-width of each layer.
func (s centred) slopes(ctx context.Context, rays []*ray) (open []*ray, slopes [][]float64, err error) {
	const narrow = 0.9
	var probes []*engine.Probe
	layers, p := len(s.e.Normal.Layers), s.e.Device.Precision()
	for _, r := range rays {
		if r.best <= 0 || r.best >= r.cap {
			continue
		}
		open = append(open, r)
		for k := range layers {
			gamma := r.gamma(p)
			gamma[k] = p.Nearest(gamma[k] * narrow)
			probes = append(probes, engine.GammaProbe(r.task, gamma))
		}
	}
	if err := s.verify(ctx, probes); err != nil {
		return nil, nil, err
	}
	for i, r := range open {
		slope := make([]float64, layers)
		for k, p := range probes[i*layers : (i+1)*layers] {
			r.tried++
			slope[k] = (p.Margin - r.bestMargin) / ((1 - narrow) * r.best)
		}
		slopes = append(slopes, slope)
	}
	return open, slopes, nil
}

// searchWidths brackets each ray around t = 1 and searches it.
func (s centred) searchWidths(ctx context.Context, rays []*ray) error {
	for _, r := range rays {
		r.best = -1
		r.probes, r.ts = nil, []float64{0.9, 0.98, 1.02, 1.1}
		for _, t := range r.ts {
			at := *r
			at.best = t
			r.probes = append(r.probes, engine.GammaProbe(r.task, at.gamma(s.e.Device.Precision())))
		}
	}
	var all []*engine.Probe
	for _, r := range rays {
		all = append(all, r.probes...)
	}
	if err := s.verify(ctx, all); err != nil {
		return err
	}
	for _, r := range rays {
		r.learn()
	}
	return s.searchAll(ctx, rays)
}

// bestWidths maximises sum_k n_k log erf(g_k/sqrt2) subject to
// sum_k s_k g_k = sum_k s_k g0 + margin, 0 < g_k <= cap, by bisection on the
// multiplier: n_k h'(g_k) = lambda s_k with h = log erf(g/sqrt2), h' decreasing.
// It returns nil if no slope is positive.
func bestWidths(n []int, s []float64, g0, margin, cap float64) []float64 {
	budget := margin
	for k := range s {
		if !(s[k] > 0) {
			s[k] = 0
		}
		budget += s[k] * g0
	}
	if !(budget > 0) {
		return nil
	}
	g := make([]float64, len(n))
	spend := func(lambda float64) float64 {
		total := 0.0
		for k := range g {
			g[k] = widthFor(lambda*s[k]/float64(max(n[k], 1)), cap)
			total += s[k] * g[k]
		}
		return total
	}
	lo, hi := -80.0, 80.0 // log lambda: more lambda, narrower boxes
	for range 200 {
		mid := (lo + hi) / 2
		if spend(math.Exp(mid)) > budget {
			lo = mid
		} else {
			hi = mid
		}
	}
	spend(math.Exp(hi))
	return g
}

// widthFor solves h'(g) = slope for g in (0, cap].
func widthFor(slope, cap float64) float64 {
	lo, hi := 1e-3, cap
	for range 60 {
		g := (lo + hi) / 2
		if math.Sqrt(2/math.Pi)*math.Exp(-g*g/2)/math.Erf(g/math.Sqrt2) > slope {
			lo = g
		} else {
			hi = g
		}
	}
	return lo
}
