package boxes

import (
	"cmp"
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// mostMeasured is the greatest number of safe boxes kept for a union. Leaving boxes out only lowers
// a lower bound.
const mostMeasured = 256

// chosen is some of the safe boxes, by number, and what is proved of their union.
type chosen struct {
	boxes []int
	logP  float64
	rule  string
}

// Result returns what found proves of an aim: of the task itself, and with its mixture, nil if no more
// boxes are safe with it.
func (d *Draws) Result(ctx context.Context, a Aim, f Found) (own, mixed *claim.Result, err error) {
	own, err = d.measured(ctx, a.Task, f)
	if err == nil && f.mixed != nil && len(f.mixed.safe) > len(f.safe) {
		mixed, err = d.measured(ctx, a.Mixed, *f.mixed)
	}
	return own, mixed, err
}

// measured measures the safe boxes of a task. Those that go into the union are
// verified once more, from the end-points that are measured, so that a
// certificate does not rest on the device having drawn the same ones; but for those
// of which that is known.
func (d *Draws) measured(ctx context.Context, t *property.Task, f Found) (*claim.Result, error) {
	e, g := d.Engines[0], d.nearest()
	r := claim.NewResult(t, d.Method.String())
	r.Boxes, r.Samples, r.SafeBoxes, r.Margin = d.Samples, d.Samples, len(f.safe), f.margin
	r.Gamma, r.CeilingLog10 = g, Ceiling(e.Normal, e.Device.Precision(), d.Samples, g)
	best := d.best(f.safe)
	verified, err := d.verifyAgain(ctx, t, best.boxes)
	if err != nil {
		return nil, err
	}
	if len(verified) < len(best.boxes) {
		// The device drew other boxes: of those that were not verified again nothing is known.
		r.SafeBoxes, r.Margin = len(verified), math.NaN()
		best = d.union(verified)
	}
	r.LogP, r.Rule, r.Proof.Boxes = best.logP, best.rule, best.boxes
	return r, nil
}

// verifyAgain returns those of the boxes that are safe by their end-points.
func (d *Draws) verifyAgain(ctx context.Context, t *property.Task, boxes []int) ([]int, error) {
	var verified, drawn []int
	for _, b := range boxes {
		if d.held[b] {
			verified = append(verified, b)
		} else {
			drawn = append(drawn, b)
		}
	}
	for part := range slices.Chunk(drawn, 32) {
		var ends []bound.Explicit
		for _, b := range part {
			ends = append(ends, d.box(b))
		}
		margins, err := d.Engines[0].Verify(ctx, d.Method, t, ends)
		if err != nil {
			return nil, err
		}
		for i, m := range margins {
			if m >= 0 {
				verified = append(verified, part[i])
			}
		}
	}
	slices.Sort(verified)
	return verified, nil
}

// best is the union, among several, of which most is proved. More boxes never prove less:
// the boxes of a run are the first of every longer run, each of the unions is of the boxes
// below a fixed number, or adds box after box, and so all that a run chooses from a longer
// one does too.
func (d *Draws) best(safe []int) chosen {
	best := d.cover(safe)
	order := d.ranked(safe)
	before := 0
	for number := range checkpoints(d.Samples) {
		n, _ := slices.BinarySearch(safe, number)
		if n == before {
			continue
		}
		before = n
		if u := d.union(d.likeliest(safe, n, order)); u.logP > best.logP {
			best = u
		}
	}
	return best
}

// checkpoints are the numbers 1, 2, 5, 10, 20, 50 ... up to most: those at which the
// likeliest boxes so far are measured.
func checkpoints(most int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for decade := 1; decade <= most; decade *= 10 {
			for _, n := range []int{decade, 2 * decade, 5 * decade} {
				if n <= most && !yield(n) {
					return
				}
			}
		}
	}
}

// mostKept is the greatest number of boxes measured at a time: their end-points are held in float64
// on the host, half a gigabyte at most, and as much again for those that are known (Draws.known).
func (d *Draws) mostKept() int {
	return min(mostMeasured, max(16, (512<<20)/(16*len(d.Engines[0].Flat.Mean))))
}

// cover adds up the boxes in the order of their numbers.
func (d *Draws) cover(safe []int) chosen {
	flat := &d.Engines[0].Flat
	c, of := probability.NewCover(flat.Mean, flat.SdLo, flat.SdHi, d.mostKept()), chosen{rule: probability.RulePieces}
	for _, b := range safe {
		if c.Full() {
			break
		}
		if c.AddBox(d.measure(b)) {
			of.boxes = append(of.boxes, b)
		}
	}
	of.logP = c.LogDown()
	switch {
	case len(safe) == 0:
		of.rule = ""
	case len(of.boxes) == 0:
		of.rule = probability.RuleNone
	case len(of.boxes) == 1:
		of.rule = probability.RuleLargest
	}
	return of
}

// union measures the union of some boxes.
func (d *Draws) union(boxes []int) chosen {
	u := chosen{boxes: boxes, logP: math.Inf(-1)}
	if len(boxes) == 0 {
		return u
	}
	var measured []probability.Box
	for _, b := range boxes {
		measured = append(measured, d.measure(b))
	}
	flat := &d.Engines[0].Flat
	u.logP, u.rule = probability.UnionOfLogDown(measured, flat.Mean, flat.SdLo, flat.SdHi)
	return u
}

// ranked lists the positions of safe boxes, those with the most mass first, about; nil if
// all can be measured.
func (d *Draws) ranked(safe []int) []int {
	if len(safe) <= d.mostKept() {
		return nil
	}
	e, g := d.Engines[0], d.nearest()
	order, massApprox := make([]int, len(safe)), make([]float64, len(safe))
	for i, b := range safe {
		order[i] = i
		for a, params := range e.Normal.Params() {
			for w := range params.Mean {
				z := float64(arith.Normal(d.Seed, uint64(b), uint32(a), uint32(w)))
				massApprox[i] += math.Log(math.Erf((g+z)/math.Sqrt2) + math.Erf((g-z)/math.Sqrt2))
			}
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(massApprox[j], massApprox[i]) })
	return order
}

// likeliest returns, of the first n safe boxes, those with the most mass, as many as can be
// measured, in the order of their numbers. Which are chosen does not matter for soundness.
func (d *Draws) likeliest(safe []int, n int, order []int) []int {
	keep := d.mostKept()
	if n <= keep {
		return safe[:n]
	}
	var kept []int
	for _, i := range order {
		if i < n && len(kept) < keep {
			kept = append(kept, safe[i])
		}
	}
	slices.Sort(kept)
	return kept
}
