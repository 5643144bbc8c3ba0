package phases

import (
	"context"
	"math"
	"slices"
	"sync"

	"psafe/host/bound"
	"psafe/host/prove/branch"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// rootBounds hold what concentration LBP has said of the hidden layers for all of a box.
type rootBounds struct {
	lo, hi, radius, maxSq [][]float64
	still                 [][]bool
	rows                  []rootRow
}

// rootRow is a property row over what feeds the last layer, and the squares of its coefficients.
type rootRow struct {
	coefficients, square []float64
	constant             float64
}

// question holds what a device is asked: the hidden bounds of one box for one tau and, of the leaves
// of trees, the rows.
type question struct {
	box   property.Box
	rows  []property.Row
	tau   float64
	open  []neuronAt
	nodes []*node
	// device is for whoever asks it; nil: nobody else does.
	device *sync.Mutex
}

// answer holds what it says: noises are nil where there are no leaves.
type answer struct {
	known  *rootBounds
	noises bound.SplitNoises
}

// mostColumns is the greatest number of rows that go down at a time.
const mostColumns = 256

// on answers a question on a model; nil where nothing deviates that counts.
func (q *question) on(e *engine.Engine, m *bound.Model) (got *answer, err error) {
	dev, err := clbp.DeviationsOn(e, m)
	if err != nil {
		return nil, err
	}
	in, err := m.UploadNoisy([]property.Box{q.box})
	if err != nil {
		return nil, err
	}
	defer m.ReleaseNoisy(in)
	rows, err := m.UploadRows([][]property.Row{q.rows})
	if err != nil {
		return nil, err
	}
	defer m.ReleaseRows(rows)
	_, err = dev.PropagateCLBP(bound.CLBPQuery{
		Inputs: in, Rows: rows, Quantiles: clbp.Quantiles(e, m.Device().Precision(), q.tau), Sharp: m.Sharpens(),
		Splits: func(s *bound.CLBPSplits) error {
			if s == nil {
				return nil
			}
			got = &answer{known: rootOf(s, len(q.rows))}
			for chunk := range slices.Chunk(q.nodes, mostColumns) {
				n, err := s.Bound(q.columns(got.known, chunk))
				if err != nil {
					return err
				}
				got.add(n)
			}
			return nil
		},
	})
	return got, err
}

func rootOf(s *bound.CLBPSplits, rows int) *rootBounds {
	k := &rootBounds{}
	k.lo, k.hi = s.Ranges()
	k.radius, k.maxSq, k.still = s.Reach()
	for r := range rows {
		coefficients, constant, square := s.Row(r)
		k.rows = append(k.rows, rootRow{coefficients, square, constant})
	}
	return k
}

// columns are nodes as rows for the device: slopes of neurons that are not open are LBP's.
func (q *question) columns(known *rootBounds, nodes []*node) *bound.SplitQuery {
	c, r := &bound.SplitQuery{Layer: len(known.lo)}, len(nodes)
	for l, lo := range known.lo {
		slope := make([]float64, len(lo)*r)
		for i := range lo {
			if known.hi[l][i] > -lo[i] {
				for at := i * r; at < (i+1)*r; at++ {
					slope[at] = 1
				}
			}
		}
		c.Slope, c.Phase, c.Beta = append(c.Slope, slope), append(c.Phase, make([]float64, len(slope))), append(c.Beta, make([]float64, len(slope)))
	}
	for column, k := range nodes {
		c.Rows = append(c.Rows, k.row)
		for o, n := range q.open {
			if known.lo[n.layer][n.unit] < 0 && known.hi[n.layer][n.unit] > 0 {
				c.Slope[n.layer][n.unit*r+column] = float64(k.alpha[o]) * branch.SlopeUnit
			}
		}
		for _, f := range k.cuts {
			n := q.open[f.at]
			c.Phase[n.layer][n.unit*r+column], c.Beta[n.layer][n.unit*r+column] = f.phase, f.beta
		}
	}
	return c
}

func (a *answer) add(n bound.SplitNoises) {
	if a.noises.Lo == nil {
		a.noises = n
		return
	}
	a.noises.Lo = append(a.noises.Lo, n.Lo...)
	for l := range n.Mean {
		a.noises.Mean[l], a.noises.Var[l] = append(a.noises.Mean[l], n.Mean[l]...), append(a.noises.Var[l], n.Var[l]...)
	}
}

// numbers are all that the device has said.
func (a *answer) numbers() []float64 {
	if a == nil {
		return nil
	}
	all := slices.Clone(a.noises.Lo)
	for _, lists := range [][][]float64{a.known.lo, a.known.hi, a.known.radius, a.known.maxSq, a.noises.Mean, a.noises.Var} {
		all = append(all, slices.Concat(lists...)...)
	}
	return all
}

// ask asks the device. It asks a copy: a recheck may come late, when the question has another tau.
func (q *question) ask(ctx context.Context, e *engine.Engine) (found *answer, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if q.device != nil {
		q.device.Lock()
		defer q.device.Unlock()
	}
	err = engine.Guarded(e, "leaves of phases", []*question{new(*q)}, func(m *bound.Model, part []*question) (answers []engine.Answer, err error) {
		for _, q := range part {
			got, err := q.on(e, m)
			if err != nil {
				return nil, err
			}
			answers = append(answers, engine.Answer{Numbers: got.numbers(), Take: func() { found = got }})
		}
		return answers, nil
	})
	return found, err
}

// tail returns the tail of leaf number at: its row is that much above 0, but for the noise of layers.
func (a *answer) tail(at int) (t float64, variances []float64) {
	e := 0.0
	for l, m := range a.noises.Mean {
		e, variances = math.Nextafter(e+m[at], math.Inf(1)), append(variances, a.noises.Var[l][at])
	}
	return math.Nextafter(a.noises.Lo[at]-e, math.Inf(-1)), variances
}

// failUp bounds the probability that a row is negative in one of the leaves of its tree and all hidden bounds
// are right, (62) or (65): trees says how many leaves each row has.
func (a *answer) failUp(trees []int) float64 {
	fail, at := 0.0, 0
	for _, n := range trees {
		var list []probability.LeafTail
		last := 0.0
		for range n {
			t, v := a.tail(at)
			list, last, at = append(list, probability.LeafTail{T: t, Below: v[1:]}), max(last, v[0]), at+1
		}
		// With one hidden layer the mean of the last layer's noise is (38), which is not common to all leaves.
		shared := len(a.known.lo) > 1
		fail = math.Nextafter(fail+probability.LeafTailsUp(last, shared, list), math.Inf(1))
	}
	return fail
}
