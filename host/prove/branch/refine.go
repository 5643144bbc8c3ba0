package branch

import (
	"cmp"
	"slices"

	"psafe/host/model/network"
)

// Ranges of hidden neurons are narrowed by trees of their own: the value of a neuron is a row, which is
// bounded on both sides of other neurons' kinks below it. The least bound of the leaves, which cover the
// box, is one of the neuron on the whole box, so that all rows of the property gain by it, in every
// sub-problem. That pays where layers are many: an upper layer is as wide as what is known of the lower.

const (
	// clausesFirst is how many sub-problems of clauses are looked at before hidden neurons are.
	clausesFirst = 256
	// refineFirst is how many sub-problems each side of a neuron may take at first; with every pass
	// over the layers they are twice as many.
	refineFirst = 32
	// clausesShare is how many sub-problems of hidden neurons go with one of a clause, which takes
	// longer.
	clausesShare = 4
	// refineRounds is how many steps of ascent a sub-problem of a hidden neuron gets.
	refineRounds = 3
	// refineBatch is how many of them are cut at a time.
	refineBatch = 64
	// worthRefining is up to which share of the width of all triangles a pass has to leave for the
	// next one.
	worthRefining = 0.95
)

// clauses reports whether clauses are proved, in turns with trees of hidden neurons as long as these
// narrow their ranges: each by cuts from the whole box on, as all of that is gained by it.
func (p *phased) clauses(roots []*knot) (bool, error) {
	share := p.first
	for perSide := refineFirst; p.affords(perSide); perSide *= 2 {
		var hopeless bool
		var err error
		if roots, hopeless, err = p.growEach(roots, share); err != nil || hopeless || len(roots) == 0 {
			return err == nil && !hopeless, err
		}
		from, before := p.tried, p.known.width(p.open)
		if err := p.refine(perSide); err != nil {
			return false, err
		}
		for c, k := range roots {
			roots[c] = p.root(k.clause)
		}
		if roots, err = p.raise(roots, rowRounds); err != nil {
			return false, err
		}
		if p.known.width(p.open) > worthRefining*before {
			break
		}
		share = max(p.first, (p.tried-from)/clausesShare)
	}
	for _, k := range roots {
		if proved, err := p.solve(k); !proved || err != nil {
			return false, err
		}
	}
	return true, nil
}

// affords reports whether so many sub-problems for each side of a neuron are allowed still.
func (p *phased) affords(perSide int) bool {
	return p.task.Most-p.tried >= 2*perSide*len(p.open)
}

// growEach cuts roots, one after the other, up to so many sub-problems in all, and returns those that are
// not proved; hopeless says that one of them will never be.
func (p *phased) growEach(roots []*knot, share int) (left []*knot, hopeless bool, err error) {
	most := p.tried + share
	for c, k := range roots {
		if waiting, err := p.grow([]*knot{k}, most); err != nil || len(waiting) > 0 {
			return roots[c:], p.hopeless(waiting), err
		}
	}
	return nil, false, nil
}

// side is one side of a hidden neuron: the row that bounds it, and the leaves of its tree that are below
// 0. Where none is left, the neuron has one sign.
type side struct {
	row    int
	leaves []*knot
	tried  int
	stuck  bool
}

// bound returns the bound of the row, at most 0.
func (s *side) bound() (b float64) {
	for _, k := range s.leaves {
		b = min(b, k.bound)
	}
	return b
}

// refine narrows the ranges of all hidden layers, from below, by trees of up to so many sub-problems for
// each side of a neuron. Layers that are not dense keep the ranges they have.
func (p *phased) refine(perSide int) error {
	cut := false
	for k, l := range p.net[:len(p.net)-1] {
		if _, dense := l.Map.(network.Dense); dense && cut && p.known.phases[k] {
			if err := p.refineLayer(k, perSide); err != nil {
				return err
			}
		}
		cut = cut || p.known.phases[k]
	}
	p.open = slices.DeleteFunc(slices.Clone(p.open), func(n neuronAt) bool { return !p.known.open(n.layer, n.unit) })
	return nil
}

// refineLayer is refine for hidden layer k.
func (p *phased) refineLayer(k, perSide int) error {
	q := *p
	q.layer, q.open = k, nil
	defer func() { p.tried, p.bounds = q.tried, q.bounds }()
	for _, n := range p.open {
		if n.layer < k && p.known.open(n.layer, n.unit) {
			q.open = append(q.open, n)
		}
	}
	if len(q.open) == 0 {
		return nil
	}
	sides, err := q.sides(k)
	if err != nil || len(sides) == 0 {
		return err
	}
	for {
		now, of := q.worst(sides, perSide)
		if len(now) == 0 {
			break
		}
		if q.tried+2*len(now) > p.task.Most {
			for i, s := range of { // they are parts of the box still
				s.leaves = append(s.leaves, now[i])
			}
			break
		}
		if err := q.cutSides(now, of); err != nil {
			return err
		}
	}
	if p.trees[k] = nil; q.lowest() {
		p.trees[k] = sides
	}
	return q.tightenSides(k, sides)
}

// lowest reports whether one layer alone has neurons that sub-problems can be cut at: the first, whose
// ranges are what they are.
func (p *phased) lowest() bool {
	return !slices.ContainsFunc(p.open, func(n neuronAt) bool { return n.layer != p.open[0].layer })
}

// sides returns the sides of the open neurons of layer k. Trees of the pass before go on where nothing
// is known better now; elsewhere they would have been cut at others.
func (p *phased) sides(k int) (list []*side, err error) {
	n := p.net[k].Outputs()
	var roots []*knot
	for i := range n {
		if !p.known.open(k, i) {
			continue
		}
		for _, row := range []int{i, n + i} {
			s := &side{row: row}
			if at := slices.IndexFunc(p.trees[k], func(old *side) bool { return old.row == row }); at >= 0 {
				s = p.trees[k][at]
			} else {
				s.leaves = []*knot{p.root([]int{row})}
				roots = append(roots, s.leaves[0])
			}
			list = append(list, s)
		}
	}
	for chunk := range slices.Chunk(roots, p.most) {
		if p.stopped() {
			return nil, errStopped
		}
		if _, err := p.raise(chunk, unitRounds); err != nil {
			return nil, err
		}
	}
	for _, s := range list {
		s.leaves = slices.DeleteFunc(s.leaves, func(k *knot) bool { return k.bound >= 0 })
	}
	return list, nil
}

// worst takes from every side the leaves whose bounds are least, a quarter of them, unless it has had its
// share.
func (p *phased) worst(sides []*side, perSide int) (now []*knot, of []*side) {
	for _, s := range sides {
		if s.stuck || len(s.leaves) == 0 || s.tried+2 > perSide {
			continue
		}
		slices.SortStableFunc(s.leaves, func(x, y *knot) int { return cmp.Compare(y.bound, x.bound) })
		for range max(1, len(s.leaves)/4) {
			last := len(s.leaves) - 1
			if s.stuck = p.linear(s.leaves[last]); s.stuck {
				break
			}
			now, of = append(now, s.leaves[last]), append(of, s)
			s.leaves = s.leaves[:last]
			s.tried += 2
		}
	}
	return now, of
}

// cutSides cuts sub-problems, which are of these sides, in two.
func (p *phased) cutSides(now []*knot, of []*side) error {
	at := map[int]*side{}
	for _, s := range of {
		at[s.row] = s
	}
	for chunk := range slices.Chunk(now, refineBatch) {
		if p.stopped() {
			return errStopped
		}
		if p.tried += 2 * len(chunk); p.task.Count != nil {
			p.task.Count(2 * len(chunk))
		}
		parts, err := p.branch(chunk)
		if err == nil {
			parts, err = p.raise(parts, refineRounds)
		}
		if err != nil {
			return err
		}
		for _, k := range parts {
			s := at[k.clause[0]]
			s.leaves = append(s.leaves, k)
		}
	}
	return nil
}

// tightenSides has layer k range as far as the trees of its neurons say.
func (p *phased) tightenSides(k int, sides []*side) error {
	var rows []int
	var bounds []float64
	for _, s := range sides {
		rows, bounds = append(rows, s.row), append(bounds, s.bound())
	}
	return p.s.TightenTo(k, rows, bounds)
}
