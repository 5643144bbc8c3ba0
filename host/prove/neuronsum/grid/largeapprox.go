package grid

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/prove/neuronsum/law"
	"psafe/host/read/property"
)

// This file chooses what is split off, by drawing networks. Nothing of it enters a bound.

// largeDraws networks are drawn, largeFewest failures of points wanted, and largeGain is what
// splitting off must save of their sum.
const (
	largeDraws  = 8192
	largeFewest = 150
	largeGain   = 0.03
)

// chooseLarge chooses for each grid and row; nil if nothing is gained.
func (n *sums) chooseLarge(ctx context.Context, grids []Grid, rows []property.Row) (all [][]*LargeNeurons) {
	some := false
	for g := range grids {
		these := make([]*LargeNeurons, len(rows))
		for r := range rows {
			these[r], _ = n.largeFor(ctx, &grids[g], &rows[r], largeDraws)
			some = some || these[r] != nil
		}
		all = append(all, these)
	}
	if !some {
		return nil
	}
	return all
}

// largeFor chooses for one grid and row, nil if nothing is gained, and says what the sum (39) is then,
// about: what fails in so many networks. Infinite if the context has ended.
func (n *sums) largeFor(ctx context.Context, g *Grid, row *property.Row, draws int) (best *LargeNeurons, sum float64) {
	points := g.points()
	fails, most := make([]int, draws), make([][]float32, draws) // by point
	law.OnCores(draws, func(d int) {
		if ctx.Err() != nil {
			return
		}
		s := sampler{n: n, r: rand.New(rand.NewPCG(uint64(d), 39)), row: row}
		fails[d], most[d] = s.draw(points)
	})
	if ctx.Err() != nil {
		return nil, math.Inf(1)
	}
	all := 0
	for _, f := range fails {
		all += f
	}
	if all < largeFewest {
		return nil, float64(all) / float64(draws)
	}
	wants, least := (1-largeGain)*float64(all), float64(all)
	order := make([]int, draws)
	for k := range points {
		for d := range order {
			order[d] = d
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(most[b][k], most[a][k]) })
		left := float64(all)
		for q, d := range order[:draws/4] {
			if left -= float64(fails[d]); left+float64(q+1) >= least || !(most[d][k] > 0) {
				continue
			}
			if least = left + float64(q+1); least < wants {
				best = &LargeNeurons{At: points[k].x, Above: float64(most[d][k])}
			}
		}
	}
	return best, least / float64(draws)
}

// sampler draws one network.
type sampler struct {
	n   *sums
	r   *rand.Rand
	row *property.Row
}

func (s *sampler) normal(mean, sd float64) float64 { return mean + sd*s.r.NormFloat64() }

// draw counts the points whose stand-ins fail in one network and gives, for each, the largest -a_i
// t_i there.
func (s *sampler) draw(points []point) (fails int, most []float32) {
	n := s.n
	sums, most := make([]float64, len(points)), make([]float32, len(points))
	rest := s.row.D
	for c, k := range s.row.CLo {
		rest += k * s.normal(n.Output.Bias.Mean[c], n.Output.Bias.SdHi[c])
	}
	w := make([]float64, n.Hidden.Inputs())
	for i := range n.Hidden.Outputs() {
		a := 0.0
		for c, at := range n.Output.Dense().From(i) {
			a += s.row.CLo[c] * s.normal(n.Output.Weight.Mean[at], n.Output.Weight.SdHi[at])
		}
		b := s.normal(n.Hidden.Bias.Mean[i], n.Hidden.Bias.SdHi[i])
		clear(w)
		for j, at := range n.Hidden.Dense().Into(i) {
			w[j] = s.normal(n.Hidden.Weight.Mean[at], n.Hidden.Weight.SdHi[at])
		}
		for k := range points {
			p, t := &points[k], b
			for j, v := range w {
				t += v * p.x[j]
			}
			if a < 0 {
				sums[k] += a * max(t, n.Slope*t)
				most[k] = max(most[k], float32(-a*t))
				continue
			}
			sums[k] += a * s.low(p, w, t)
		}
	}
	for _, x := range sums {
		if x+rest <= 0 {
			fails++
		}
	}
	return fails, most
}

// low is the least that the cells around a point take for t there.
func (s *sampler) low(p *point, w []float64, t float64) float64 {
	least, most := t, t
	for j, v := range w {
		if !p.twoSided(j) {
			least, most = least+v*p.beside[j].Lo, most+v*p.beside[j].Lo
			continue
		}
		x, y := v*p.before[j].Lo, v*p.after[j].Lo
		least, most = least+min(x, y), most+max(x, y)
	}
	if t > 0 && least > 0 || t <= 0 && most > 0 {
		return t
	}
	return s.n.Slope * t
}
