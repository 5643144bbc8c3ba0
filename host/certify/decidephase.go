package certify

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"psafe/host/bound"
	"psafe/host/property"
)

var errStopped = errors.New("stopped")

type phased struct {
	s     *bound.Splits
	box   property.Box
	known ranges16
	last  int
	over func() bool
	rows  int
}

func note(format string, args ...any) {
	if os.Getenv("PHASE_DEBUG") != "" {
		fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format("05.000")}, args...)...)
	}
}

func (p *phased) root(layers int, iterations int) error {
	for k := range layers - 1 {
		lo, hi, err := p.s.Next()
		if err != nil {
			return err
		}
		p.known.lo, p.known.hi = append(p.known.lo, lo), append(p.known.hi, hi)
		if k == 0 {
			note("layer 0: %d open of %d", p.count(0), len(lo))
			continue
		}
		before := p.count(k)
		var rows []int
		for i := range lo {
			if p.known.open(k, i) {
				rows = append(rows, i, len(lo)+i)
			}
		}
		var w0, w1 float64
		for i := range lo { w0 += hi[i]-lo[i] }
		for chunk := range slices.Chunk(rows, 512) {
			a := newAscent(p.s, p.box, &p.known, k, chunk, false)
			for t := range iterations {
				if err := a.evaluate(t < iterations-1); err != nil {
					return err
				}
				if t < iterations-1 {
					if err := a.step(); err != nil {
						return err
					}
				}
			}
			if err := p.s.Tighten(&a.q, a.best); err != nil {
				return err
			}
		}
		for i := range lo { w1 += hi[i]-lo[i] }
		note("layer %d: %d open of %d, was %d; width %.4g was %.4g", k, p.count(k), len(lo), before, w1, w0)
	}
	return nil
}

func (p *phased) count(k int) (n int) {
	for i := range p.known.lo[k] {
		if p.known.open(k, i) {
			n++
		}
	}
	return n
}

// knot is a sub-problem.
type knot struct {
	row   int
	bound float64
	slope []float32 // by open neuron, in order
	split []split
}

type split struct {
	l, i  int
	phase float64
	beta  float64
}

// opens lists open neurons.
func (p *phased) opens() (list [][2]int) {
	for l := range p.known.lo {
		for i := range p.known.lo[l] {
			if p.known.open(l, i) {
				list = append(list, [2]int{l, i})
			}
		}
	}
	return list
}

func (p *phased) pack(nodes []*knot, open [][2]int) *ascent {
	rows := make([]int, len(nodes))
	for c, n := range nodes {
		rows[c] = n.row
	}
	a := newAscent(p.s, p.box, &p.known, p.last, rows, true)
	r := len(nodes)
	for c, n := range nodes {
		for o, at := range open {
			a.q.Slope[at[0]][at[1]*r+c] = float64(n.slope[o])
		}
		for _, s := range n.split {
			a.q.Phase[s.l][s.i*r+c], a.q.Beta[s.l][s.i*r+c] = s.phase, s.beta
		}
	}
	return a
}

func (p *phased) unpack(a *ascent, nodes []*knot, open [][2]int) {
	r := len(nodes)
	for c, n := range nodes {
		for o, at := range open {
			n.slope[o] = float32(a.q.Slope[at[0]][at[1]*r+c])
		}
		for k, s := range n.split {
			n.split[k].beta = a.q.Beta[s.l][s.i*r+c]
		}
		n.bound = max(n.bound, a.best[c])
	}
}

func (p *phased) tree(rootIts, its int, candidates, batch int) error {
	open := p.opens()
	var all []*knot
	for r := range p.rows {
		n := &knot{row: r, bound: math.Inf(-1), slope: make([]float32, len(open))}
		for o, at := range open {
			n.slope[o] = float32(p.known.usual(at[0], at[1]))
		}
		all = append(all, n)
	}
	if err := p.climb(&all, open, rootIts); err != nil {
		return err
	}
	for _, n := range all {
		note("row %d: %.4g", n.row, n.bound)
	}
	done, began := 0, time.Now()
	for len(all) > 0 {
		if p.over() {
			return errStopped
		}
		slices.SortStableFunc(all, func(a, b *knot) int {
			switch {
			case a.bound < b.bound:
				return 1
			case a.bound > b.bound:
				return -1
			}
			return 0
		})
		n := min(batch, len(all))
		now := slices.Clone(all[len(all)-n:])
		all = all[:len(all)-n]
		children, err := p.branch(now, open, candidates)
		if err != nil {
			return err
		}
		if err := p.climb(&children, open, its); err != nil {
			return err
		}
		done += 2 * n
		all = append(all, children...)
		if len(all) > 0 {
			least := math.Inf(1)
			depth := 0
			for _, k := range all {
				least = min(least, k.bound)
				depth = max(depth, len(k.split))
			}
			note("%d done, %d open, least %.4g depth %d; %.3g per s", done, len(all), least, depth, float64(done)/time.Since(began).Seconds())
		}
	}
	note("done after %d", done)
	return nil
}

// climb raises the bounds of nodes and drops those that are proved.
func (p *phased) climb(nodes *[]*knot, open [][2]int, its int) error {
	a := p.pack(*nodes, open)
	for t := range its {
		if err := a.evaluate(t < its-1); err != nil {
			return err
		}
		if t < its-1 {
			if err := a.step(); err != nil {
				return err
			}
		}
	}
	p.unpack(a, *nodes, open)
	*nodes = slices.DeleteFunc(*nodes, func(n *knot) bool { return n.bound >= 0 })
	return nil
}

func (n *knot) child(s split) *knot {
	return &knot{row: n.row, bound: n.bound, slope: slices.Clone(n.slope), split: append(slices.Clone(n.split), s)}
}

func (p *phased) branch(nodes []*knot, open [][2]int, candidates int) ([]*knot, error) {
	a := p.pack(nodes, open)
	if err := a.evaluate(true); err != nil {
		return nil, err
	}
	if err := a.forward(); err != nil {
		return nil, err
	}
	r := len(nodes)
	var tries []*knot
	var owner []int
	for c, n := range nodes {
		type cand struct {
			o     int
			score float64
		}
		var list []cand
		for o, at := range open {
			l, i := at[0], at[1]
			k := i*r + c
			if a.q.Phase[l][k] != 0 {
				continue
			}
			list = append(list, cand{o, p.score(a, l, i, k)})
		}
		slices.SortStableFunc(list, func(x, y cand) int {
			switch {
			case x.score > y.score:
				return -1
			case x.score < y.score:
				return 1
			}
			return 0
		})
		for _, x := range list[:min(candidates, len(list))] {
			at := open[x.o]
			tries = append(tries, n.child(split{at[0], at[1], 1, 0}), n.child(split{at[0], at[1], -1, 0}))
			owner = append(owner, c)
		}
	}
	if candidates > 1 {
		b := p.pack(tries, open)
		if err := b.evaluate(false); err != nil {
			return nil, err
		}
		for i, t := range tries {
			t.bound = max(t.bound, b.best[i])
		}
		best := make([]int, r)
		value := make([]float64, r)
		for c := range best {
			best[c] = -1
		}
		for k, c := range owner {
			x, y := b.best[2*k], b.best[2*k+1]
			v := min(x, 0) + min(y, 0)
			if best[c] < 0 || v > value[c] {
				best[c], value[c] = k, v
			}
		}
		var chosen []*knot
		for c := range best {
			if best[c] >= 0 {
				chosen = append(chosen, tries[2*best[c]], tries[2*best[c]+1])
			}
		}
		return chosen, nil
	}
	return tries, nil
}

func (p *phased) score(a *ascent, l, i, k int) float64 {
	s, t := a.coefficients[l+1][k], a.zeta[l][k]
	lo, hi := p.known.lo[l][i], p.known.hi[l][i]
	gap := 0.0
	if s < 0 {
		gap = -s * (hi / (hi - lo) * (t - lo) - max(t, 0))
		return gap + 0.1 * -s * hi * -lo / (hi - lo)
	}
	gap = s * (max(t, 0) - a.q.Slope[l][k]*t)
	return gap
}
