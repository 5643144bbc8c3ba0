package decide

import (
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// DrawnSoftmax returns for each task, whose safe set is that of property.ArgmaxIs and whose T is one box, a lower
// bound of the mean over the drawn networks w of
//
//	min over x in T of softmax_c(f^w(x)),   c the class of the task,
//
// rounded down; of networks whose weights are not numbers of the device it takes 0. The networks are those of
// Statistical. Of their posterior it says only what sampling says (docs/theory.md, section 9.9).
func DrawnSoftmax(ctx context.Context, e *engine.Engine, d Draws, tasks []property.Task) ([]float64, error) {
	sums := make([]float64, len(tasks))
	draw := d.from(e)
	method := bound.IBP
	if slices.ContainsFunc(tasks, wide) {
		method = bound.LBP
	}
	most := max(1, min(netBytes/(8*max(1, e.Normal.Weights())), (1<<22)/(len(tasks)*max(1, e.Normal.Inputs()))))
	for from := 0; from < d.Networks; from += most {
		p := &decision{e: e, tasks: tasks}
		var qs []*question
		for i := from; i < min(from+most, d.Networks); i++ {
			net, err := draw(ctx, i)
			if err != nil {
				return nil, err
			}
			p.nets = append(p.nets, net)
			if n := i - from; p.fits(n) {
				for t := range tasks {
					qs = append(qs, &question{net: n, box: tasks[t].T[0], rows: tasks[t].S.Rows})
				}
			}
		}
		asked := append([]*question(nil), qs...) // ask sorts them
		if err := p.ask(ctx, method, qs); err != nil {
			return nil, err
		}
		for k, q := range asked {
			t := k % len(tasks)
			sums[t] = arith.SumDown(sums[t], arith.SoftmaxDown(q.lo))
		}
	}
	for t := range sums {
		sums[t] = max(0, math.Nextafter(sums[t]/float64(d.Networks), math.Inf(-1)))
	}
	return sums, nil
}

// wide reports whether T is more than a point and its roundings: else lines are no better than intervals.
func wide(t property.Task) bool {
	for j, lo := range t.T[0].Lo {
		if hi := t.T[0].Hi[j]; hi-lo > 1e-9*max(1, math.Abs(lo)) {
			return true
		}
	}
	return false
}
