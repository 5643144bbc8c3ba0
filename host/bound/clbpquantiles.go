package bound

import "math"

// Quantiles say how many standard deviations of noise a hidden bound allows for:
// what the probability of more is, is the caller's affair (docs/theory.md (13), (13a)).
type Quantiles struct {
	// Single is for bounds with the noise of one layer, Many[k] for those of hidden
	// layer k by back-substitution, which have that of k+1 layers; Radius is for
	// how far neurons vary over T. Of a network that is no chain Many[l-1] is for rows that met the
	// noise of l levels, and Loose for bounds that only roundings need.
	Single, Radius float64
	Loose          float64
	Many           []float64
}

// Which of Quantiles: ofMany + l is Many[l].
const (
	ofSingle = iota
	ofRadius
	ofLoose
	ofMany
)

func (q *Quantiles) list() []float64 {
	return append([]float64{q.Single, q.Radius, q.Loose}, q.Many...)
}

// passQuantiles are those of all items or, if there are arrays, those of each item.
type passQuantiles struct {
	lists [][]float64
	// arrays are [Items], one for each of a list. They are made before all others: arrays that are made
	// while a pass sees the network by windows do not outlive that (pass.through).
	arrays []Array
}

// prepareQuantiles makes passQuantiles. Lists of different length are a mistake, and panic.
func (p *clbpPass) prepareQuantiles() {
	q := &p.quantiles
	if p.query.Apart == nil {
		q.lists = [][]float64{p.query.Quantiles.list()}
		return
	}
	for i := range p.query.Apart {
		q.lists = append(q.lists, p.query.Apart[i].list())
	}
	if len(q.lists) != p.query.Inputs.count {
		panic("bound: PropagateCLBP: quantiles for another number of inputs")
	}
	for which := range q.lists[0] {
		of := make([]float64, len(q.lists))
		for i, list := range q.lists {
			if len(list) != len(q.lists[0]) {
				panic("bound: PropagateCLBP: quantiles of items for networks of different depth")
			}
			of[i] = list[which]
		}
		q.arrays = append(q.arrays, p.holding(of))
	}
}

// quantile is what Widen and Vary take for n numbers, as many of each item: one for all, or an array, without
// which nothing would be known.
func (p *clbpPass) quantile(which, n int) (all float64, of Array, each int) {
	if p.quantiles.arrays == nil {
		return p.quantiles.lists[0][which], nil, 0
	}
	return math.Inf(1), p.quantiles.arrays[which], n / p.query.Inputs.count
}

// quantileOf is that of an item.
func (p *clbpPass) quantileOf(which, item int) float64 {
	return p.quantiles.lists[min(item, len(p.quantiles.lists)-1)][which]
}

// widenBy launches a Widen of n numbers.
func (p *clbpPass) widenBy(which, n int, w Widen) {
	w.N = n
	w.Quantile, w.Quantiles, w.Each = p.quantile(which, n)
	p.launch(w)
}
