package gauss

// Normal is a normal distribution of which the mean and the standard deviation
// are known up to intervals: MeanLo <= mean <= MeanHi, 0 <= SdLo <= sd <= SdHi.
// What is said of it holds for every member.
type Normal struct{ MeanLo, MeanHi, SdLo, SdHi float64 }

// cut bounds the distribution function of a Normal at one point x from the side
// where it is small: P(N <= x), or P(N >= x) where right says so.
type cut struct {
	right    bool
	up, down float64
}

// spread reports whether every member has a density, and nothing is NaN.
func (n *Normal) spread() bool {
	return n.SdLo > 0 && n.SdLo <= n.SdHi && n.MeanLo <= n.MeanHi
}

// cut is valid where spread.
//
// Every member's z = (x - mean)/sd lies in [zLo, zHi]: the difference and the
// quotient are rounded outward, and the quotient by the sd that takes it
// farthest. zLo is monotone in x, hence so is right.
func (n *Normal) cut(x float64) cut {
	dLo, dHi := down(x-n.MeanHi), up(x-n.MeanLo)
	zLo, zHi := dLo, dHi
	if dLo >= 0 {
		zLo /= n.SdHi
	} else {
		zLo /= n.SdLo
	}
	if dHi >= 0 {
		zHi /= n.SdLo
	} else {
		zHi /= n.SdHi
	}
	zLo, zHi = down(zLo), up(zHi)
	if zLo >= 0 {
		return cut{right: true, up: TailUp(zLo), down: TailDown(zHi)}
	}
	return cut{up: TailUp(-zHi), down: TailDown(-zLo)}
}

// betweenUp is an upper bound of P(x <= N <= y) for cuts a at x and b at y >= x.
func betweenUp(a, b cut) float64 {
	var p float64
	switch {
	case a.right:
		p = up(a.up - b.down)
	case !b.right:
		p = up(b.up - a.down)
	default:
		p = up(up(1-a.down) - b.down)
	}
	if p <= 1 {
		return max(p, 0)
	}
	return 1 // NaN as well
}

// BelowUp returns an upper bound of P(N <= x), at most 1. It is 1 for NaN and
// wherever SdLo = 0 unless all members are constants above x.
func (n *Normal) BelowUp(x float64) float64 {
	if !n.spread() {
		if n.SdLo == 0 && n.SdHi == 0 && n.MeanLo > x && n.MeanLo <= n.MeanHi {
			return 0
		}
		return 1
	}
	c := n.cut(x)
	if c.right {
		return min(1, up(1-c.down))
	}
	return c.up
}

// AboveUp returns an upper bound of P(N >= x); as BelowUp.
func (n *Normal) AboveUp(x float64) float64 {
	mirrored := Normal{-n.MeanHi, -n.MeanLo, n.SdLo, n.SdHi}
	return mirrored.BelowUp(-x)
}

// BinsUp returns upper bounds of P(nodes[k] <= N <= nodes[k+1]), one fewer than
// the ascending nodes, each at most 1. They are 1 where SdLo = 0. Away from
// SdLo = SdHi and MeanLo = MeanHi the looseness is that of the intervals; there
// it is a few units of the larger of the two tails taken.
func (n *Normal) BinsUp(nodes []float64) []float64 {
	if len(nodes) < 2 {
		return nil
	}
	p := make([]float64, len(nodes)-1)
	if !n.spread() {
		for k := range p {
			p[k] = 1
		}
		return p
	}
	last := n.cut(nodes[0])
	for k := range p {
		next := n.cut(nodes[k+1])
		p[k] = betweenUp(last, next)
		last = next
	}
	return p
}
