package phases

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// meanNet is the network of the means on one box with what is known of its noise, in ordinary numbers
// that bound nothing: a search runs on it. Matrices are [in x out].
type meanNet struct {
	layers []meanLayer
	// centre and half are those of the box.
	centre, half []float64
	rows         []meanRow
	open         []neuronAt
}

// neuronAt is a neuron of a hidden layer.
type neuronAt struct{ layer, unit int }

// meanLayer is a hidden layer: means, variances and the sum of means squared and variances of its
// weights.
type meanLayer struct {
	in, out             int
	mean, variance, all weights
	bias                []float64
	// noise holds what a unit's coefficient squared adds to the variance of a row (12), radius how far each
	// input varies; still says which outputs do not.
	noise, radius []float64
	still         []bool
	lo, hi        []float64
	usual         []float64
}

// meanRow is a property row over what feeds the last layer. variance and mean are of the noise of the last
// layer, and through the variances of the coefficients of what feeds the layer below that come of it.
type meanRow struct {
	start                    []float64
	constant, variance, mean float64
	through                  []float64
}

// open reports whether a neuron may be on both sides of its kink.
func (l *meanLayer) open(i int) bool { return l.lo[i] < 0 && l.hi[i] > 0 }

// upper is the line above an open neuron.
func (l *meanLayer) upper(i int) (slope, intercept float64) {
	slope = l.hi[i] / (l.hi[i] - l.lo[i])
	return slope, -slope * l.lo[i]
}

func newMeanNet(post *posterior.Posterior, box property.Box, known *rootBounds) *meanNet {
	n := &meanNet{}
	for j, lo := range box.Lo {
		n.centre, n.half = append(n.centre, lo/2+box.Hi[j]/2), append(n.half, box.Hi[j]/2-lo/2)
	}
	top := len(post.Layers) - 1
	for k := range top {
		n.layers = append(n.layers, newMeanLayer(&post.Layers[k], k, known))
		l := &n.layers[k]
		for i := range l.out {
			if l.open(i) {
				n.open = append(n.open, neuronAt{k, i})
			}
		}
	}
	for r := range known.rows {
		n.rows = append(n.rows, n.newRow(&post.Layers[top], &known.rows[r], known))
	}
	return n
}

func newMeanLayer(p *posterior.Layer, k int, known *rootBounds) meanLayer {
	in, out := p.Inputs(), p.Outputs()
	l := meanLayer{
		in: in, out: out, mean: newWeights(in, out), variance: newWeights(in, out), all: newWeights(in, out), bias: p.Bias.Mean,
		radius: known.radius[k], still: known.still[k+1], lo: known.lo[k], hi: known.hi[k],
	}
	for i, sd := range p.Bias.SdHi {
		l.noise = append(l.noise, sd*sd)
		usual := 0.0
		if l.hi[i] > -l.lo[i] {
			usual = 1
		}
		l.usual = append(l.usual, usual)
	}
	for at, sd := range p.Weight.SdHi {
		m := p.Weight.Mean[at]
		l.mean.Data[at], l.variance.Data[at], l.all.Data[at] = m, sd*sd, m*m+sd*sd
		l.noise[at%out] += sd * sd * known.maxSq[k][at/out]
	}
	l.mean.turn()
	l.variance.turn()
	l.all.turn()
	return l
}

func (n *meanNet) newRow(last *posterior.Layer, r *rootRow, known *rootBounds) meanRow {
	top, out := len(n.layers), last.Outputs()
	row := meanRow{start: r.coefficients, constant: r.constant}
	below := &n.layers[top-1]
	row.through = make([]float64, below.in)
	plain := 0.0
	for i, sd := range last.Bias.SdHi {
		row.variance += r.square[i] * sd * sd
	}
	for j := range last.Inputs() {
		s := 0.0
		for i, sd := range last.Weight.SdHi[j*out : (j+1)*out] {
			s += r.square[i] * sd * sd
		}
		row.variance += s * known.maxSq[top][j]
		plain += math.Sqrt(s) * known.radius[top][j]
		if !below.still[j] {
			for k := range row.through {
				row.through[k] += s * below.all.Data[k*below.out+j]
			}
		}
	}
	if top > 1 { // (11) or (34); of the second layer it is in (38)
		through := 0.0
		for k, v := range row.through {
			through += below.radius[k] * math.Sqrt(v)
		}
		row.mean = math.Sqrt(2/math.Pi) * min(plain, through)
	}
	return row
}

func matrix(rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: make([]float64, rows*columns)}
}
