package branch

import (
	"cmp"
	"math"
	"slices"
)

// knot is a sub-problem: a clause, an OR of rows of the property, on the inputs for which some neurons
// have given phases.
type knot struct {
	clause []int
	// tree tells apart trees that grow beside each other.
	tree int
	// theta are the factors of its rows in the mixture that is bounded.
	theta []float64
	bound float64
	// slope has the lower slopes of the open neurons, in their order.
	slope  []float32
	phases []phaseAt
	// at is its place in the tree of a proof; nil if there is none.
	at *piece
}

// phaseAt is a neuron that is taken to be active (+1) or not (-1), and the multiplier of that.
type phaseAt struct {
	neuronAt
	phase, beta float64
}

// with is the part of a sub-problem where a neuron has this phase.
func (k *knot) with(n neuronAt, phase float64) *knot {
	return &knot{clause: k.clause, tree: k.tree, theta: k.theta, bound: k.bound, slope: slices.Clone(k.slope), phases: append(slices.Clone(k.phases), phaseAt{n, phase, 0})}
}

const (
	// branchBatch is how many sub-problems are cut at a time, and candidates how many neurons are
	// tried for each.
	branchBatch, candidates = 512, 8
)

// tree reports whether all clauses of the property are proved: at once, or each for itself.
func (p *phased) tree() (bool, error) {
	all := p.roots()
	waiting, err := p.raise(all, rowRounds)
	if err != nil {
		return false, err
	}
	if p.task.Noise == nil {
		return p.clauses(waiting)
	}
	for _, some := range p.inTurn(waiting) {
		if waiting, err := p.grow(some, p.task.Most); len(waiting) > 0 || err != nil {
			return false, err
		}
	}
	p.noteTrees(all)
	return true, nil
}

// roots are all clauses of the property.
func (p *phased) roots() (all []*knot) {
	for _, clause := range Clauses(p.task.Safe) {
		all = append(all, p.root(clause))
	}
	return all
}

// root is a clause on the whole box.
func (p *phased) root(clause []int) *knot {
	k := &knot{clause: clause, theta: evenly(len(clause)), bound: math.Inf(-1), at: p.rootPiece()}
	for _, n := range p.open {
		k.slope = append(k.slope, float32(p.known.usual(n.layer, n.unit)))
	}
	return k
}

// evenly are n factors that add up to 1.
func evenly(n int) []float64 { return slices.Repeat([]float64{1 / float64(n)}, n) }

// aimAfter is the number of sub-problems looked at for each open neuron before neurons are bounded
// again, which takes about as long.
const aimAfter = 4

// solve reports whether a sub-problem is proved: by cuts, and where these do not do soon, with bounds
// of the open neurons for the inputs that it is about, and so on in each part that is left of it.
func (p *phased) solve(k *knot) (bool, error) {
	waiting, err := p.grow([]*knot{k}, p.tried+aimAfter*len(p.open))
	if len(waiting) == 0 || err != nil || p.hopeless(waiting) || p.tried+2 > p.task.Most {
		return len(waiting) == 0 && err == nil, err
	}
	if k.bound < p.aimFrom {
		return p.solveAll(waiting)
	}
	q, proved, err := p.aiming(k)
	defer func() { p.tried, p.bounds = q.tried, q.bounds }()
	defer q.release()
	if proved || err != nil {
		return proved, err
	}
	if waiting, err = q.raise(q.taken(waiting, p), childRounds); err != nil {
		return false, err
	}
	return q.solveAll(waiting)
}

// solveAll solves the last first.
func (p *phased) solveAll(knots []*knot) (bool, error) {
	for _, k := range slices.Backward(knots) {
		if proved, err := p.solve(k); !proved || err != nil {
			return false, err
		}
	}
	return true, nil
}

// hopeless reports of sub-problems whether one is linear: nothing is left to do about it.
func (p *phased) hopeless(waiting []*knot) bool { return slices.ContainsFunc(waiting, p.linear) }

// taken are sub-problems of from, whose ranges are wider, without those that are about no inputs: a
// neuron that has one sign now has the other phase there.
func (p *phased) taken(knots []*knot, from *phased) (list []*knot) {
	for _, k := range knots {
		there, empty := &knot{clause: k.clause, theta: k.theta, bound: k.bound}, false
		for o, n := range from.open {
			if p.known.open(n.layer, n.unit) {
				there.slope = append(there.slope, k.slope[o])
			}
		}
		for _, f := range k.phases {
			there.phases = append(there.phases, f)
			lo, hi := p.known.lo[f.layer][f.unit], p.known.hi[f.layer][f.unit]
			empty = empty || f.phase > 0 && hi < 0 || f.phase < 0 && lo > 0
		}
		if !empty {
			list = append(list, there)
		}
	}
	return list
}

// grow cuts sub-problems, up to so many in all, and returns those that are not proved. The sub-problems
// of a tree that were found last are cut first: all have to be proved, and few wait.
func (p *phased) grow(waiting []*knot, most int) ([]*knot, error) {
	most = min(most, p.task.Most)
	for len(waiting) > 0 && !p.hopeless(waiting) && len(p.open) > 0 {
		if p.stopped() {
			return waiting, errStopped
		}
		now, later := p.last(waiting, (most-p.tried)/2)
		n := len(now)
		if n == 0 {
			break
		}
		if p.tried += 2 * n; p.task.Count != nil {
			p.task.Count(2 * n)
		}
		parts, err := p.cut(now)
		if err != nil {
			return waiting, err
		}
		waiting = append(later, parts...)
	}
	return waiting, nil
}

// cut cuts sub-problems in two and returns the parts that are not proved.
func (p *phased) cut(knots []*knot) ([]*knot, error) {
	parts, err := p.branch(knots)
	if err == nil {
		parts, err = p.raise(parts, childRounds)
	}
	if err != nil {
		return nil, err
	}
	var last []*knot
	parts = slices.DeleteFunc(parts, func(k *knot) bool {
		if p.linear(k) {
			p.settle(k)
			last = append(last, k)
			return true
		}
		return false
	})
	last, err = p.raise(last, lastRounds)
	return append(parts, last...), err
}

// linear reports whether no neuron is left to cut at.
func (p *phased) linear(k *knot) bool {
	cut := 0
	for _, f := range k.phases {
		if p.known.open(f.layer, f.unit) {
			cut++
		}
	}
	return cut == len(p.open)
}

// settle has a sub-problem say of all neurons that have one sign where it is asked, but not on the whole
// box, that they have it: each with a multiplier, as it would have had if it had been cut at.
func (p *phased) settle(k *knot) {
	root := p
	for root.from != nil {
		root = root.from
	}
	for _, n := range root.open {
		if !p.known.open(n.layer, n.unit) && !slices.ContainsFunc(k.phases, func(f phaseAt) bool { return f.neuronAt == n }) {
			phase := -1.0
			if p.known.lo[n.layer][n.unit] >= 0 {
				phase = 1
			}
			k.phases = append(k.phases, phaseAt{n, phase, 0})
		}
	}
}

// raise raises the bounds of sub-problems and returns those that are not proved.
func (p *phased) raise(knots []*knot, rounds int) ([]*knot, error) {
	var open []*knot
	for _, chunk := range p.packs(knots) {
		a := p.columns(chunk)
		if err := a.climb(rounds); err != nil {
			return nil, err
		}
		p.bounds = append(p.bounds, a.best...)
		for c, k := range chunk {
			from := &a.q
			if a.kept != nil {
				from = a.kept
			}
			for o, n := range p.open {
				k.slope[o] = float32(from.Slope[n.layer][n.unit*len(chunk)+c])
			}
			for i, f := range k.phases {
				k.phases[i].beta = from.Beta[f.layer][f.unit*len(chunk)+c]
			}
			if a.q.Theta != nil {
				k.theta = a.mixtures.best[c]
			}
			if k.bound = max(k.bound, a.best[c]); k.bound >= 0 {
				k.proved()
				continue
			}
			open = append(open, k)
		}
	}
	return open, nil
}

// columns are sub-problems as rows for the device.
func (p *phased) columns(knots []*knot) *ascent {
	rows, r, mixed := make([]int, len(knots)), len(knots), false
	for c, k := range knots {
		rows[c], mixed = k.clause[0], mixed || len(k.clause) > 1
	}
	a := newAscent(p, p.layer, rows)
	a.withPhases()
	if mixed {
		a.withMixtures(knots, len(p.task.Safe.Rows))
	}
	for c, k := range knots {
		a.tree[c] = k.tree
		for o, n := range p.open {
			a.q.Slope[n.layer][n.unit*r+c] = p.s.Precision().Nearest(float64(k.slope[o]))
		}
		for _, f := range k.phases {
			a.q.Phase[f.layer][f.unit*r+c], a.q.Beta[f.layer][f.unit*r+c] = f.phase, f.beta
		}
	}
	return a
}

// branch cuts sub-problems in two, each at the neuron that raises the bounds of its parts most among
// those that promise most. Parts that are proved by that are left out.
func (p *phased) branch(knots []*knot) (parts []*knot, err error) {
	var tries []*knot
	from := []int{0}
	for chunk := range slices.Chunk(knots, max(p.most, p.batch)) {
		a := p.columns(chunk)
		if err := a.evaluate(true); err != nil {
			return nil, err
		}
		if p.task.Noise != nil {
			if refuted, err := a.refutedApprox(); refuted || err != nil {
				return nil, cmp.Or(err, errStopped)
			}
		}
		if err := a.forward(); err != nil {
			return nil, err
		}
		for c, k := range chunk {
			for _, n := range p.promising(a, c) {
				tries = append(tries, k.with(n, 1), k.with(n, -1))
			}
			from = append(from, len(tries))
		}
	}
	for chunk := range slices.Chunk(tries, p.most) {
		b := p.columns(chunk)
		if err := b.climb(1); err != nil {
			return nil, err
		}
		p.bounds = append(p.bounds, b.best...)
		for c, k := range chunk {
			k.bound = max(k.bound, b.best[c])
		}
	}
	for c := range knots {
		best := from[c]
		for at := from[c]; at < from[c+1]; at += 2 {
			if gain(tries[at:]) > gain(tries[best:]) {
				best = at
			}
		}
		p.place(knots[c], tries[best:best+2])
		for _, k := range tries[best : best+2] {
			if !(k.bound >= 0) { // NaN proves nothing
				parts = append(parts, k)
			} else {
				k.proved()
			}
		}
	}
	return parts, nil
}

// gain returns what is left to prove of both parts of a sub-problem, negative.
func gain(parts []*knot) float64 { return min(parts[0].bound, 0) + min(parts[1].bound, 0) }

// promising lists the neurons where a row loses most between what its lines say and max(t, 0), in
// column c, and which have no phase yet.
func (p *phased) promising(a *ascent, c int) []neuronAt {
	type scored struct {
		neuronAt
		score float64
	}
	var list []scored
	for _, n := range p.open {
		if at := n.unit*len(a.q.Rows) + c; a.q.Phase[n.layer][at] == 0 {
			list = append(list, scored{n, a.lossApprox(n.layer, n.unit, at)})
		}
	}
	slices.SortStableFunc(list, func(x, y scored) int { return cmp.Compare(y.score, x.score) })
	var best []neuronAt
	for _, s := range list[:min(candidates, len(list))] {
		best = append(best, s.neuronAt)
	}
	return best
}

// lossApprox returns what a row loses at neuron i of layer l: the coefficient times the distance of
// its line from max(t, 0), at the pre-activation that the gradient has found, and a share of the
// greatest such distance.
func (a *ascent) lossApprox(l, i, at int) float64 {
	s, t, lo, hi := a.coefficients[l+1][at], a.zeta[l][at], a.known.lo[l][i], a.known.hi[l][i]
	if s >= 0 {
		return s * (max(t, 0) - a.q.Slope[l][at]*t)
	}
	const share = 0.1
	return -s * (hi/(hi-lo)*(t-lo) - max(t, 0) + share*hi*-lo/(hi-lo))
}
