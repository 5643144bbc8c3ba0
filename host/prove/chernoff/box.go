package chernoff

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Boxes of some width: a row is what it is at the middle, by exact moments, and a difference ((53) and (54) of
// docs/theory.md, section 7).

const (
	// radiusShare is the part of tau that a statement about how far a neuron moves in the box fails with.
	radiusShare = 1.0 / 64
	// What the differences of a row may fail with is one of 2^-firstBudget, and so on.
	firstBudget, budgets = 4, 44
)

// Boxes bounds the tasks that Certify leaves at 0 as their boxes are no points, and cuts each box of T into up to so many
// cells; 0 leaves that to the program. Of what is known already, known has the lower bounds, nil if nothing is: what
// seems to be no more is not looked for.
func Boxes(ctx context.Context, e *engine.Engine, cells int, known []float64, results []*claim.Result) error {
	c := newChain(e.Normal)
	if len(c.hidden) > 2 || !c.relu() { // differences are for one hidden layer or two, with ReLU
		return nil
	}
	if cells == 0 && e.Normal.Inputs() <= decide.FewInputs {
		cells = mostCells
	}
	for i, r := range results {
		if r.Lower() > 0 || r.Task.Ball != nil {
			continue
		}
		least := 0.0
		if known != nil {
			least = known[i]
		}
		if err := c.certifyBoxes(ctx, r, cells, 1-least); err != nil && !e.Cut(err) {
			return err
		}
	}
	return nil
}

// certifyBoxes bounds a task: the failures of the boxes of T add up. There is nothing to be gained from enough on.
func (c *chain) certifyBoxes(ctx context.Context, r *claim.Result, cells int, enough float64) error {
	t, fail := r.Task, 0.0
	if len(t.S.Rows) > mostRows || len(t.S.Any) == 0 || len(t.S.Gates) > 0 || !slices.ContainsFunc(t.T, func(b property.Box) bool { return !nearlyPoint(b) }) {
		return nil
	}
	var trees []int
	var leaves []*boxCell
	for _, box := range t.T {
		root, err := c.cut(ctx, box, &t.S, cells, enough-fail)
		if err != nil {
			return err
		}
		if fail = arith.Up(fail + root.best()); !(fail < 1) {
			return nil
		}
		trees, leaves = root.leaves(trees, leaves)
	}
	var proofs []*claim.ChernoffProof
	var taus []float64
	for _, l := range leaves {
		proofs, taus = append(proofs, l.proof), append(taus, l.tau)
	}
	r.LogP = arith.LogComplementDown(slack.ChernoffUp(fail))
	if r.Lower() > 0 {
		r.Tau, r.Proof.Tau, r.Proof.Chernoff = slices.Max(taus), taus, proofs
		if r.Proof.Cells = claim.UncutCells(trees); r.Proof.Cells != nil {
			r.Cells = len(leaves)
		}
	}
	return nil
}

// region is what is known of a box: of its middle, as of a point, and how far pre-activations move.
type region struct {
	*point
	radius []float64   // of inputs
	reach  [][]float64 // of the neurons of each hidden layer: float32
	joint              // of two hidden layers
	laws   []law
	// quantiles[k] is that of the noise of as many layers as there are hidden ones, at 2^-(k+firstBudget).
	quantiles []float64
}

// law is about the pre-activations of a hidden layer: their means and variances, and what outline has of outputs.
type law struct {
	mean, variance []float64
	outline
}

// newRegion is nil where nothing is known.
func (c *chain) newRegion(ctx context.Context, box property.Box, tau float64) (*region, error) {
	mid, radius := middleOf(box)
	p, err := c.newPoint(ctx, property.Box{Lo: mid, Hi: mid}, tau)
	if err != nil || p == nil {
		return nil, err
	}
	b := &region{point: p, radius: radius, laws: p.lawsApprox()}
	q, statements := probability.NoiseQuantileUp(tau*radiusShare, 1), len(c.hidden[0].bias)
	b.reach = append(b.reach, c.hidden[0].reaches(radius, q))
	if len(c.hidden) > 1 {
		b.decided(tau)
		b.reach = append(b.reach, b.together(q, probability.NoiseQuantileUp(tau*radiusShare, 2)))
		statements += 1 + 2*len(c.hidden[1].bias) // its neurons move both ways
	}
	for _, moved := range b.reach {
		if slices.ContainsFunc(moved, func(r float64) bool { return !(r <= math.MaxFloat32) }) {
			return nil, nil
		}
	}
	b.budget = arith.Up(b.budget + arith.Up(float64(statements)*tau*radiusShare))
	for k := range budgets {
		b.quantiles = append(b.quantiles, probability.NoiseQuantileUp(math.Ldexp(1, -k-firstBudget), len(c.hidden)))
	}
	return b, nil
}

// reaches bounds how far pre-activations move where inputs move by at most a radius: sum_i |W_i| radius_i is convex and
// Lipschitz in the weights, so that it exceeds its mean by q of what its deviation is at most, only with the
// probability Q(q).
func (l *layer) reaches(radius []float64, q float64) []float64 {
	next := make([]float64, l.out)
	for o := range next {
		var mean, square arith.Sum
		for i, r := range radius {
			if r != 0 {
				at := i*l.out + o
				mean.Add(gauss.AbsMeanUp(l.mean[at], l.sdHi[at]), r)
				square.Add(l.squareHi[at], arith.Up(r*r))
			}
		}
		next[o] = roundUp32(arith.SumUp(mean.Hi(), arith.ProductUp(q, arith.Up(math.Sqrt(max(0, square.Hi()))))))
	}
	return next
}

// roundUp32 is a float32 at or above x >= 0.
func roundUp32(x float64) float64 {
	f := float32(x)
	if float64(f) < x {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return float64(f)
}

// spread is a row on a box: at the middle, and its difference, of which shares[k] goes through the neurons of hidden
// layer k. What is lost beyond these is in units.
type spread struct {
	*head
	shares [][]uint8
	// carried are the coefficients of the difference over the outputs of the first of two hidden layers.
	carried []float64
	// loss and variance are e and v of the linear part: it is below -loss - q sqrt(variance) with at most
	// what q is the quantile of.
	loss, variance float64
	// axis is the input that adds most to loss.
	axis int
	most float64
}

// last is neuron j of the last hidden layer.
func (s *spread) last(b *region, h float64, j int) unit {
	k := len(b.hidden) - 1
	return lastUnit(h, s.a[j], s.s[j], b.reach[k][j], s.shares[k][j])
}

// first is neuron i of the first of two hidden layers, with an exponent of its output.
func (s *spread) first(b *region, h, al, bend float64, i int) unit {
	return firstUnit(h, s.carried[i], al, bend, b.reach[0][i], s.shares[0][i])
}

// boxGuess is what the search makes of a row.
type boxGuess struct {
	*spread
	row       int
	log, rate float64 // log: about that of what it fails with
	planes    [][]slopes
	budget    int
}

// tailUp bounds the logarithm of the probability that the row is <= 0 somewhere in the box, while all that is stated
// holds, and its difference is no less than its budget allows ((53), docs/theory.md).
func (b *region) tailUp(g *boxGuess) float64 {
	h, last := g.rate, len(b.hidden)-1
	var s arith.Sum
	s.Add(-h, g.c)
	s.Plus(arith.Up(arith.Up(h*h)*g.sb) / 2)
	s.Add(h, arith.SumUp(g.loss, arith.ProductUp(b.quantiles[g.budget], arith.Up(math.Sqrt(g.variance)))))
	for j, r := range b.rects[last] {
		u, height := g.last(b, h, j), 0.0
		if last == 0 {
			height = u.momentUp(r)
		} else {
			by, l := g.planes[1][j], b.hidden[1]
			height = r.above(&u, by, fine/float64(l.out))
			s.Add(by.mean, l.bias[j])
			s.Add(by.variance, pick(by.variance, l.biasLo[j], l.biasHi[j]))
		}
		if !(height < arith.Inf) {
			return arith.Inf
		}
		s.Plus(height)
	}
	if last > 0 {
		al, bend := b.hidden[1].below(g.planes[1])
		for i, r := range b.rects[0] {
			u := g.first(b, h, al[i].Lo, bend[i], i)
			height := u.momentUp(r)
			if !(height < arith.Inf) {
				return arith.Inf
			}
			s.Plus(height)
		}
	}
	return s.Hi()
}

// wideBoxed bounds the probability that the network leaves S in a box; nil where nothing is shown, or seems to be
// shown below enough. It says along which axis the box matters most.
func (c *chain) wideBoxed(ctx context.Context, box property.Box, s *property.Safe, enough float64) (*found, int, error) {
	heads := make([]*head, len(s.Rows))
	for r := range s.Rows {
		heads[r] = c.head(&s.Rows[r])
	}
	axis := box.Widest()
	b, guesses, err := c.lookedWide(ctx, box, heads, s.Any, enough, &axis)
	if err != nil || guesses == nil {
		return nil, axis, err
	}
	f := &found{b.budget, b.tau, b.proof(len(s.Rows))}
	tails := make([]float64, len(guesses))
	err = fault.OnCores(ctx, len(guesses), func(i int) {
		g := &guesses[i]
		tails[i] = arith.Up(arith.ExpUp(b.tailUp(g)) + g.failing())
		f.proof.Rows[g.row] = g.claimed()
	})
	for _, tail := range tails {
		f.failUp = arith.Up(f.failUp + tail)
	}
	if err != nil || !(f.failUp < 1) {
		return nil, axis, err
	}
	return f, axis, nil
}

// failing is the probability that the row's difference is less than its quantile.
func (g *boxGuess) failing() float64 { return math.Ldexp(1, -g.budget-firstBudget) }

// claimed is how the row was bounded, for the record.
func (g *boxGuess) claimed() claim.ChernoffRow {
	row := claim.ChernoffRow{Rate: g.rate, Budget: g.failing()}
	for _, by := range slices.Concat(g.planes[1:]...) {
		row.AddSlopes(by.mean, by.variance)
	}
	row.Shares = slices.Concat(g.shares...)
	return row
}

// lookedWide looks at the rows of all alternatives, and chooses one, and a tau.
func (c *chain) lookedWide(ctx context.Context, box property.Box, heads []*head, any [][]int, enough float64, axis *int) (b *region, guesses []boxGuess, err error) {
	tau := firstTau
	for try := range 2 {
		next, err := c.newRegion(ctx, box, tau)
		if err != nil || next == nil {
			return b, guesses, err
		}
		spreads := make([]*spread, len(heads))
		if err := fault.OnCores(ctx, len(heads), func(r int) { spreads[r] = next.spreadApprox(heads[r]) }); err != nil {
			return nil, nil, err
		}
		of := make([]*boxGuess, len(heads))
		for _, all := range any {
			if len(all) == 0 { // holds everywhere, which needs no moments and no cut
				continue
			}
			hope, worst := next.hopeApprox(spreads, all)
			if *axis = worst.axis; !(hope < enough) {
				continue
			}
			these, err := next.guesses(ctx, spreads, of, all, enough)
			if err != nil {
				return nil, nil, err
			}
			if these == nil {
				continue
			}
			if fail := failWide(next, these); fail < enough {
				b, guesses, enough = next, these, fail
			}
		}
		if try > 0 || guesses == nil {
			break
		}
		wanted := min(max(tau*budgetShare*enough/next.budget, leastTau), mostTau)
		if !(next.budget > 0) || wanted > tau/16 && next.budget < enough/16 {
			break
		}
		tau = wanted
	}
	return b, guesses, nil
}

// failWide is about what an alternative of these rows fails with.
func failWide(b *region, rows []boxGuess) float64 {
	sum := b.budget
	for _, g := range rows {
		sum += math.Exp(min(0, g.log))
	}
	return sum
}

// guesses looks at the rows of an alternative that were not looked at yet, the least likely ones first, on all cores; nil
// if all seem to fail with enough.
func (b *region) guesses(ctx context.Context, spreads []*spread, of []*boxGuess, all []int, enough float64) (list []boxGuess, err error) {
	sorted, fail := slices.Clone(all), b.budget
	slices.SortStableFunc(sorted, func(x, y int) int { return cmp.Compare(b.deviations(spreads[x]), b.deviations(spreads[y])) })
	for some := range slices.Chunk(sorted, max(1, runtime.GOMAXPROCS(0))) {
		if err := fault.OnCores(ctx, len(some), func(i int) {
			if r := some[i]; of[r] == nil {
				g := b.rowApprox(spreads[r])
				g.row, of[r] = r, &g
			}
		}); err != nil {
			return nil, err
		}
		for _, r := range some {
			list, fail = append(list, *of[r]), fail+math.Exp(min(0, of[r].log))
		}
		if !(fail < enough) {
			return nil, nil
		}
	}
	return list, nil
}
