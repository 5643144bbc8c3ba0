package chernoff

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

func (u *unit) alongMeans() bool { return u.convex }

func (u *unit) corner(mean, v, down float64) corner {
	c := corner{high: arith.Up(gauss.PiecesMomentUp(u.pieces, mean, v) + down), down: down}
	for i := range u.pieces {
		p := &u.pieces[i]
		if c.open[i] = arith.Inf; p.Bend >= 0 {
			c.open[i] = arith.Up(p.PieceMomentUp(mean, v) + down)
		}
	}
	return c
}

// openUp bounds the height within a cell by (51e): the moment of each piece is the one that it would have if it were
// everywhere, which is convex, times a share of what is normal.
func (u *unit) openUp(c *cell) float64 {
	var open, share [4]float64
	top, from := math.Inf(-1), math.Inf(-1)
	for i := range u.pieces {
		open[i] = c.most(func(at *corner) float64 { return at.open[i] })
		if !(open[i] < arith.Inf) {
			return arith.Inf
		}
		share[i] = u.shareUp(i, from, c.rect)
		top, from = max(top, open[i]), u.pieces[i].To
	}
	sum := 0.0
	for i := range u.pieces {
		sum = arith.Up(sum + arith.Up(share[i]*arith.ExpUp(arith.Up(open[i]-top))))
	}
	return arith.Up(top + arith.LogUp(sum))
}

// shareUp is at least Phi(y1) - Phi(y0) of piece i, from x on, anywhere within a rect.
func (u *unit) shareUp(i int, x float64, r rect) float64 {
	p, one := &u.pieces[i], arith.Exactly(1)
	mean, v := arith.Of(r.meanLo, r.meanHi), arith.Of(r.varLo, r.varHi)
	d := one.Minus(arith.Exactly(p.Bend).Times(v))
	if !(d.Lo > 0) {
		return 1
	}
	spread, shift, share := v.Times(d).Sqrt(), mean.Plus(arith.Exactly(p.Slope).Times(v)), 1.0
	at := func(x float64) arith.Interval { return arith.Exactly(x).Times(d).Minus(shift).Over(spread) }
	if x > math.Inf(-1) {
		share = min(share, gauss.TailUp(at(x).Lo))
	}
	if p.To < math.Inf(1) {
		share = min(share, gauss.TailUp(-at(p.To).Hi))
	}
	return share
}
