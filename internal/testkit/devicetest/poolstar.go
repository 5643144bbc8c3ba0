package devicetest

import (
	"math"

	"psafe/host/bound"
)

type poolStarCase struct {
	bound.PoolStar
	pre     ends
	members []float64
}

func drawPoolStar(g *gen) opCase {
	c := &poolStarCase{PoolStar: bound.PoolStar{P: 1 + g.IntN(3), N: g.size(), U: g.count(40), Window: 1 + g.IntN(6)}}
	c.pre = g.poolEnds(c.P * c.N)
	c.members = g.members(c.U, c.Window, c.N)
	return c
}

// poolEnds draws intervals of which several have the same middle; some ends are infinite.
func (g *gen) poolEnds(n int) ends {
	e := g.intervals(n)
	for i := range n {
		if i > 0 && g.oneIn(4) {
			j := g.IntN(i)
			e.lo[i], e.hi[i] = e.lo[j], e.hi[j]
		}
	}
	if i := g.IntN(n); g.oneIn(3) && n > 1 { // hardly above the other's lower end
		j := (i + 1) % n
		e.lo[j] = min(e.lo[j], e.lo[i])
		e.hi[j] = max(e.lo[j], g.p.Nearest(e.lo[i]+math.Abs(e.lo[i])*4*g.p.Unit()))
	}
	if g.oneIn(8) { // their differences overflow
		for i := range n {
			e.lo[i], e.hi[i] = g.p.Nearest(-g.p.Max()*g.Float64()), g.p.Nearest(g.p.Max()*g.Float64())
		}
	}
	if g.oneIn(4) {
		g.unbound(&e)
	}
	return e
}

// members draws windows: of neighbours mostly, here and there without one in a place, and
// rarely without any.
func (g *gen) members(units, window, n int) []float64 {
	v := make([]float64, units*window)
	for u := range units {
		first, step := g.IntN(n), 1+g.IntN(3)
		for s := range window {
			v[u*window+s] = float64((first + s*step) % n)
			if s > 0 && g.oneIn(5) {
				v[u*window+s] = -1
			}
		}
		switch { // the first place is not always there
		case g.oneIn(6):
			v[u*window], v[u*window+window-1] = -1, v[u*window]
		case g.oneIn(40):
			for s := range window {
				v[u*window+s] = -1
			}
		}
	}
	return v
}

// middle returns what PoolStar compares.
func middle(p bound.Precision, lo, hi float64) float64 {
	m := lo + hi
	if p == bound.Float32 {
		m = float64(float32(lo) + float32(hi))
	}
	if m != m {
		return math.Inf(-1)
	}
	return m
}

func (c *poolStarCase) call(e *env) error {
	a := c.PoolStar
	a.Slot, a.Unit = e.out("Slot", a.P*a.U), e.out("Unit", a.P*a.U)
	a.Pre, a.Members = e.pair("Pre", c.pre), e.in("Members", c.members)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// starOf is the slot that PoolStar has to choose.
func starOf(p bound.Precision, pre ends, item int, window []float64) int {
	star, most := -1, 0.0
	for s, j := range window {
		if j < 0 {
			continue
		}
		if m := middle(p, pre.lo[item+int(j)], pre.hi[item+int(j)]); star < 0 || m > most {
			star, most = s, m
		}
	}
	return max(star, 0)
}

func (c *poolStarCase) check(k *checker, out []output) {
	for i := range c.P * c.U {
		window := c.members[i%c.U*c.Window:][:c.Window]
		want := starOf(k.p, c.pre, i/c.U*c.N, window)
		if out[0].v[i] != float64(want) || out[1].v[i] != window[want] {
			k.failf("unit %d has star %v in slot %v, want %v in %d", i, out[1].v[i], out[0].v[i], window[want], want)
		}
	}
}
