package branch

import (
	"cmp"
	"slices"
)

// Trees of clauses that grow beside each other. What each finds is what it finds alone.

// inTurn are the roots of trees that grow one after the other, or all beside each other (Task.Beside). All have to be
// proved, so that only what has been tried where one is not depends on it.
func (p *phased) inTurn(roots []*knot) (turns [][]*knot) {
	mixed := slices.ContainsFunc(roots, func(k *knot) bool { return len(k.clause) > 1 })
	if p.task.Beside && !mixed && len(roots) > 0 {
		for t, k := range roots {
			k.tree = t
		}
		return [][]*knot{roots}
	}
	for _, k := range roots {
		turns = append(turns, []*knot{k})
	}
	return turns
}

// last takes the last sub-problems of each tree, as many as are cut at a time, up to so many in all.
func (p *phased) last(waiting []*knot, most int) (now, later []*knot) {
	taken := map[int]int{}
	for _, k := range slices.Backward(waiting) {
		if taken[k.tree] < p.batch && len(now) < most {
			taken[k.tree]++
			now = append(now, k)
		} else {
			later = append(later, k)
		}
	}
	slices.Reverse(now)
	slices.Reverse(later)
	return now, later
}

// packs are sub-problems, tree by tree, of which as many go down together as may: as if each tree were alone, or more.
func (p *phased) packs(knots []*knot) (packs [][]*knot) {
	knots = slices.Clone(knots)
	slices.SortStableFunc(knots, func(a, b *knot) int { return cmp.Compare(a.tree, b.tree) })
	from, end := 0, 0
	for end < len(knots) {
		n := 1 // as many of a tree as would go down together
		for end+n < len(knots) && n < p.most && knots[end+n].tree == knots[end].tree {
			n++
		}
		if end+n-from > p.most {
			packs, from = append(packs, knots[from:end]), end
		}
		end += n
	}
	if end > from {
		packs = append(packs, knots[from:])
	}
	return packs
}

// proved reports whether the rows of all trees are proved, and has those of a tree that are stay as they are.
func (a *ascent) proved() bool {
	open := map[int]bool{}
	for c, v := range a.best {
		if !(v >= 0) {
			open[a.tree[c]] = true
		}
	}
	for c, t := range a.tree {
		a.ended[c] = !open[t]
	}
	return len(open) == 0
}
