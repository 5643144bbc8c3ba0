package bound

import (
	"context"
	"math"

	"psafe/internal/fault"
)

// concaveRow is a lower bound of a row but for noise, and the variances of that by level, that of the inputs first.
type concaveRow struct {
	lo        float64
	variances []float64
}

// concaveKeeps are how many units of each layer rows of the property may keep.
var concaveKeeps = []int{0, 1, 2, 4, 6, 9, 13, 1 << 20}

// row is the concave function below s h + c, h being what feeds the last layer, whose noise has this mean and variance, that is
// above 0 by most standard deviations: which is known before anything is drawn.
func (t *concaveItem) row(s []float64, c, mean, own float64) concaveRow {
	best, score := concaveRow{lo: math.Inf(-1), variances: make([]float64, len(t.hidden)+1)}, math.Inf(-1)
	for _, slope := range concaveSlopes {
		for k, keep := range concaveKeeps {
			if len(t.hidden) == 1 && k > 0 || k > 0 && concaveKeeps[k-1] >= len(s) {
				break
			}
			f := t.below(len(t.hidden)-1, s, c, slope, keep)
			lo, of := t.lo(&f), []float64{}
			v := t.variance(&f, func(v float64) { of = append(of, v) })
			if now := (lo - mean) / math.Sqrt(v+own); now > score {
				best, score = concaveRow{lo, of}, now
			}
		}
	}
	return best
}

// rootHalfPi is at least sqrt(pi/2) = 1.25331413731550025...: with mean sqrt(2/pi) sum_j s_j radius_j, sum_j |D_j| radius_j
// changes by at most sqrt(pi/2) times that.
const rootHalfPi = 1.2533141373155006

// wholeVariance is that of a unit's noise at a point of T less what it varies by over T, of this mean.
func wholeVariance(v, vary float64) float64 {
	sd := math.Sqrt(v) + float64(rootHalfPi*vary)
	return float64(float64(sd*sd)*(1+0x1p-50)) + 0x1p-900
}

// tightenConcave bounds the units of hidden layer k at points with noise of the inputs, and keeps what is known of them.
func (p *clbpPass) tightenConcave(k int) {
	if p.concave == nil || p.ball != nil || k == 0 || p.err != nil {
		return
	}
	h, out := p.hidden[k], p.layers[k].out
	lo, hi, err := p.readPair(h.pre.Lo, h.pre.Hi)
	if err != nil {
		return
	}
	own, vary := make([]float64, len(lo)), make([]float64, len(lo))
	if p.own.variance != nil {
		if vary, own, err = p.readPair(p.own.mean, p.own.variance); err != nil {
			return
		}
	}
	for u, v := range own {
		own[u] = wholeVariance(v, vary[u])
	}
	if k == 1 {
		if err := p.startConcave(); err != nil {
			return
		}
	}
	precision := p.dev.Precision()
	fault.OnCores(context.Background(), len(p.points), func(i int) {
		t, lo, hi, own, vary := p.points[i], lo[i*out:(i+1)*out], hi[i*out:(i+1)*out], own[i*out:(i+1)*out], vary[i*out:(i+1)*out]
		if k > 1 && p.layers[k].class == bounded { // events are paid for
			q := p.quantileOf(ofMany+k, i)
			for u := range lo {
				lo[u] = max(lo[u], precision.RoundLo(t.unitLo(k-1, u, 1, q, own[u], vary[u])))
				hi[u] = min(hi[u], precision.RoundHi(-t.unitLo(k-1, u, -1, q, own[u], vary[u])))
			}
		}
		t.addUnits(lo, hi, own, vary)
	})
	p.write(h.pre.Lo, lo)
	p.write(h.pre.Hi, hi)
}

// unitLo bounds sign times a unit from below but for the probability that q stands for; -Inf where nothing is known.
func (t *concaveItem) unitLo(l, i int, sign, q, own, vary float64) float64 {
	f := t.unit(l, i, sign, -q, own)
	f.mean.less(vary)
	v := t.variance(&f, nil) + own
	if lo := t.lo(&f) - float64(q*math.Sqrt(v)*(1+0x1p-48)); lo >= -math.MaxFloat64 {
		return math.Nextafter(lo, math.Inf(-1))
	}
	return math.Inf(-1)
}

// startConcave reads the points.
func (p *clbpPass) startConcave() error {
	lo, hi, err := p.readPair(p.query.Inputs.x.Lo, p.query.Inputs.x.Hi)
	if err != nil {
		return err
	}
	n := p.layers[0].in
	p.points = make([]*concaveItem, p.query.Inputs.count)
	fault.OnCores(context.Background(), len(p.points), func(i int) {
		p.points[i] = p.concave.at(lo[i*n:(i+1)*n], hi[i*n:(i+1)*n])
	})
	return nil
}

// concaveRows bounds the property's rows at points with noise of the inputs; m is the last layer, k, with the property.
func (p *clbpPass) concaveRows(k int, m mergedLayer) error {
	if p.points == nil {
		return p.err
	}
	w, b, err := p.readPair(m.w.Lo, m.b.Lo)
	if err != nil {
		return err
	}
	in, rows, own := p.layers[k].in, p.query.Rows.rows, make([]float64, len(b))
	if n := p.result.ByIntervals; len(n.Var) > 0 {
		own = n.Var[0]
	}
	of := Noises{Lo: make([]float64, len(b))}
	for range k + 1 {
		of.Mean, of.Var = append(of.Mean, make([]float64, len(b))), append(of.Var, make([]float64, len(b)))
	}
	if n := p.result.ByIntervals; len(n.Var) > 0 {
		of.Mean[0], of.Var[0] = n.Mean[0], own
	}
	fault.OnCores(context.Background(), len(b), func(at int) {
		i, r := at/rows, at%rows
		row := p.points[i].row(column(w[i*in*rows:(i+1)*in*rows], r, rows), b[at], of.Mean[0][at], own[at])
		of.Lo[at] = row.lo
		for l, v := range row.variances {
			of.Var[k-l][at] = v
		}
	})
	p.result.Others = append(p.result.Others, &CLBPMargins{Items: p.result.Items, Rows: p.result.Rows, ByLines: of})
	return nil
}
