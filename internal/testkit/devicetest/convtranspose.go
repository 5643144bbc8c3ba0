package devicetest

import "psafe/host/bound"

type convTransposeCase struct {
	bound.ConvTranspose
	out, a, start, entry, needed []float64
	w                            ends
}

func drawConvTranspose(g *gen) opCase {
	c := &convTransposeCase{ConvTranspose: bound.ConvTranspose{
		PerBox: 1 + g.IntN(3), P: 1 + g.IntN(3), R: g.count(5), J: 1 + g.IntN(9), Positions: 1 + g.IntN(4), K: 1 + g.IntN(6), Channels: g.size(),
	}}
	c.Add = g.oneIn(2)
	// Most places are under taps of the positions of the place before, as channels of one pixel are.
	var last []float64
	for range c.J {
		c.start = append(c.start, float64(len(c.entry)))
		if last == nil || g.oneIn(3) {
			n := g.IntN(4)
			if g.oneIn(6) {
				n = g.size()
			}
			last = nil
			for range n {
				last = append(last, float64(g.IntN(c.Positions)))
			}
		}
		for _, q := range last {
			c.entry = append(c.entry, q*float64(c.K)+float64(g.IntN(c.K)))
		}
	}
	c.start, c.E = append(c.start, float64(len(c.entry))), len(c.entry)
	if c.E == 0 { // an array has an entry
		c.entry, c.E = []float64{0}, 1
	}
	c.out, c.a = g.numbers(c.P*c.J*c.R), g.numbers(c.P*c.Positions*c.Channels*c.R)
	for i, tile := 0, g.IntN(3); i < len(c.a); i++ {
		// Channels of zeros are left out, in each vector of rows by themselves.
		if i/c.R%3 == 0 && g.oneIn(2) || i/c.R%2 == 0 && i%c.R/16 == tile {
			c.a[i] = 0
		}
	}
	c.w = g.intervals((c.P + c.PerBox - 1) / c.PerBox * c.K * c.Channels)
	if g.oneIn(2) {
		c.w.hi = c.w.lo
	}
	if g.oneIn(2) {
		for range c.P * c.J {
			c.needed = append(c.needed, float64(g.IntN(3))/2)
		}
	}
	return c
}

func (c *convTransposeCase) call(e *env) error {
	a := c.ConvTranspose
	if n := a.P * a.J * a.R; a.Add {
		a.Out = e.inOut("Out", c.out)
	} else {
		a.Out = e.out("Out", n)
	}
	a.A, a.W, a.Start, a.Entry = e.in("A", c.a), e.pair("W", c.w), e.in("Start", c.start), e.in("Entry", c.entry)
	if c.needed != nil {
		a.Needed = e.in("Needed", c.needed)
	}
	if &c.w.lo[0] == &c.w.hi[0] { // one array says that weights are numbers
		a.W.Hi = a.W.Lo
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// check: sums within the roundings that are charged for, those of a BackSubstitute and of a GatherSum.
func (c *convTransposeCase) check(k *checker, out []output) {
	for i, got := range out[0].v {
		p, j, r := i/c.R/c.J, i/c.R%c.J, i%c.R
		sum, size, n := newNum(), newNum(), int(c.start[j+1]-c.start[j])
		if c.needed != nil && c.needed[p*c.J+j] == 0 {
			want := 0.0
			if c.Add {
				want = c.out[i]
			}
			k.near("Out", i, got, exact(want), newNum())
			continue
		}
		for e := int(c.start[j]); e < int(c.start[j+1]); e++ {
			s, m := c.tap(p, int(c.entry[e]), r)
			sum, size = add(sum, s), add(size, m)
		}
		if c.Add {
			sum, size = add(sum, exact(c.out[i])), add(size, absOf(exact(c.out[i])))
		}
		if !k.far(size) {
			steps := roundings(c.Channels) - 1 + bound.SumRoundings(n, c.Add)
			k.near("Out", i, got, sum, add(mul(mul(k.ulps(steps), exact(1.01)), size), k.etas(c.Channels*n)))
		}
	}
}

// tap is S at an entry, and the sum of magnitudes.
func (c *convTransposeCase) tap(p, at, r int) (sum, size num) {
	sum, size = newNum(), newNum()
	q, w := at/c.K, (p/c.PerBox*c.K+at%c.K)*c.Channels
	for o := range c.Channels {
		a := c.a[((p*c.Positions+q)*c.Channels+o)*c.R+r]
		l, _ := products(a, a, c.w.lo[w+o], c.w.hi[w+o])
		sum, size = add(sum, l), add(size, mul(absOf(exact(a)), exact(c.w.mostAbs(w+o))))
	}
	return sum, size
}
