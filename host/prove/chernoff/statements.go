package chernoff

import (
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/internal/fault"
)

// quantiles bounds the means and the variances of the neurons of hidden layer k > 0, each of four statements but
// with a probability of tau on the events of the layers below; nil where one of them cannot be bounded.
func (p *point) quantiles(ctx context.Context, k int) ([]rect, error) {
	l := p.hidden[k]
	rects, rows := make([]rect, l.out), make([]claim.ChernoffRow, events*l.out)
	log := arith.LogUp(arith.Up(1 / p.tau))
	err := fault.OnCores(ctx, l.out, func(o int) {
		al, b := make([]arith.Interval, l.in), make([]float64, l.in)
		ask := func(i int, of func(at int) (al, b float64)) (up float64) {
			for j := range al {
				exact, bend := of(j*l.out + o)
				al[j], b[j] = arith.Exactly(exact), bend
			}
			up, rows[events*o+i] = p.quantileUp(k-1, al, b, log)
			return up
		}
		r := &rects[o]
		r.meanHi = arith.SumUp(l.bias[o], ask(0, func(at int) (float64, float64) { return -l.mean[at], 0 }))
		r.meanLo = arith.SumDown(l.bias[o], -ask(1, func(at int) (float64, float64) { return l.mean[at], 0 }))
		r.varHi = arith.SumUp(l.biasHi[o], ask(2, func(at int) (float64, float64) { return 0, 2 * l.squareHi[at] }))
		least := -ask(3, func(at int) (float64, float64) { return 0, -2 * l.squareLo[at] })
		r.varLo = max(0, l.biasLo[o], arith.SumDown(l.biasLo[o], least))
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rects {
		if !(math.Abs(r.meanLo) <= math.MaxFloat64 && math.Abs(r.meanHi) <= math.MaxFloat64 && r.varHi <= math.MaxFloat64) {
			return nil, nil
		}
	}
	if k == 1 {
		p.stated.AddRates(rows)
	} else {
		p.stated.Statements = append(p.stated.Statements, rows...)
	}
	return rects, nil
}

// quantileUp is above which Y = sum -al_j z_j + b_j z_j^2/2, of the outputs z of hidden layer k, is only with probability
// e^-log on the events of layers up to k: (log E e^(hY) + log)/h for the best rate h that is found, and how that was shown.
func (p *point) quantileUp(k int, al []arith.Interval, b []float64, log float64) (float64, claim.ChernoffRow) {
	if !slices.ContainsFunc(lows(al), notZero) && !slices.ContainsFunc(b, notZero) {
		return 0, claim.ChernoffRow{} // Y is, surely
	}
	var h float64
	var planes [][]slopes
	if k > 0 {
		h, planes = p.statedApprox(k, lows(al), b, log)
	} else {
		h = p.rateApprox(lows(al), b, log)
	}
	if !(h > 0 && h <= math.MaxFloat64) || k > 0 && planes == nil {
		return arith.Inf, claim.ChernoffRow{}
	}
	hAl, hB := times(h, al, b)
	return arith.Up(arith.Up(p.momentUp(k, hAl, hB, planes, rough)+log) / h), rowOf(h, planes, k)
}

func notZero(x float64) bool { return x != 0 }

// rough is how near the planes of statements are proved.
const rough = 0.5

// lows are lower ends.
func lows(list []arith.Interval) []float64 {
	lo := make([]float64, len(list))
	for i, x := range list {
		lo[i] = x.Lo
	}
	return lo
}

// times is h times an exponent.
func times(h float64, al []arith.Interval, b []float64) (hAl []arith.Interval, hB []float64) {
	hAl, hB = make([]arith.Interval, len(al)), make([]float64, len(b))
	for j, a := range al {
		hAl[j], hB[j] = arith.Of(arith.ProductDown(h, a.Lo), arith.ProductUp(h, a.Hi)), arith.ProductUp(h, b[j])
	}
	return hAl, hB
}

// rowOf returns how a moment of the outputs of hidden layer k was bounded.
func rowOf(h float64, planes [][]slopes, k int) claim.ChernoffRow {
	row := claim.ChernoffRow{Rate: h}
	for l := 1; l <= k; l++ {
		for _, by := range planes[l] {
			row.AddSlopes(by.mean, by.variance)
		}
	}
	return row
}

// statedApprox is rateApprox of the outputs of hidden layer k > 0, with planes: as statements are many, few rates are
// tried, from that of a normal number on up or down by a factor as long as that helps by a hundredth, and few rounds
// of planes.
func (p *point) statedApprox(k int, al, b []float64, log float64) (h float64, planes [][]slopes) {
	const factor, most, rounds = math.Sqrt2, 12, 2
	variance := 0.0
	for j, r := range p.rects[k] {
		m, v := p.hidden[k].mostApprox(r), r.varHi
		variance += al[j]*al[j]*v + b[j]*b[j]*v*(m*m+v)
	}
	if !(variance > 0) {
		variance = 1 // nothing varies
	}
	least := math.Inf(1)
	try := func(at float64) bool {
		o := p.outlineApprox(k, timesApprox(at, al), timesApprox(at, b), rounds)
		up := (o.log + log) / at
		if !(up < least) { // NaN and +Inf, too
			return false
		}
		more := up < least-0.01*math.Abs(up)
		h, least, planes = at, up, o.planes
		return more
	}
	first := math.Sqrt(2 * log / variance)
	for tries := 0; !try(first) && tries < most; tries++ { // the moment is infinite
		first /= 4
	}
	for _, by := range []float64{factor, 1 / factor} {
		if h != first {
			break // it was better in the other direction
		}
		for tries, at := 0, first*by; tries < most && try(at); tries++ {
			at *= by
		}
	}
	return h, planes
}
