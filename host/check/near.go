package check

import (
	"math"
	"sync"
)

// The tail Q of the normal distribution for very many arguments: Q(z) = phi(z) R(z), with the
// Mills ratio R by its Taylor series around the nearest of fixed nodes.

// nearErr is more than the relative error of tailNear and centralNear: see tailNear.
const nearErr = unit

// mills has R and its first derivatives, divided by k!, at a node.
type mills struct {
	once  sync.Once
	value dd
	next  [13]float64
}

// nodes are at multiples of 1/8.
var nodes [8*39 + 1]mills

// at fills the node z. With m_k = R^(k)(z)/k!: R' = z R - 1, hence m_1 = z m_0 - 1 and
// (k+1) m_(k+1) = z m_k + m_(k-1).
func (n *mills) at(z float64) {
	q, e := tail(ddOf(z))
	p, f := density(ddOf(z))
	before, m := q.quotient(p).scaled(e-f), ddOf(0)
	n.value = before
	m = before.times(ddOf(z)).minus(ddOf(1))
	for k := range n.next {
		n.next[k] = m.hi
		before, m = m, m.times(ddOf(z)).plus(before).over(float64(k+2))
	}
}

// tailNear is Q(z) for z >= 0, within err.
//
// An error d of R at the node makes m_k wrong by d times the coefficients of exp(z h + h^2/2),
// so that R is wrong by at most d e^2.5 for |h| <= 1/16 and z <= 39: 13 tailErr, below 0.45
// unit. What follows m_0 is below 0.06 R, and four roundings of it below 0.25 unit. Terms from
// m_14 on are below 2^-70 R, and all else is known to 2^-58.
func tailNear(z dd) (q dd, err float64) {
	switch {
	case !(z.hi >= 0):
		return ddOf(0), 1
	case z.hi == inf:
		return ddOf(0), 0 // an infinite end
	case z.hi >= 39:
		return ddOf(0), eta // Q(39) < 1e-332
	}
	i := int(math.Round(8 * z.hi))
	n, node := &nodes[i], float64(i)/8
	n.once.Do(func() { n.at(node) })
	h := (z.hi - node) + z.lo
	p := n.next[len(n.next)-1]
	for k := len(n.next) - 2; k >= 0; k-- {
		p = p*h + n.next[k]
	}
	m, e := density(z)
	q = m.times(n.value.plus(ddOf(p * h))).scaled(e)
	return q, q.hi*nearErr + 4*eta
}

// centralNear is C(z) = 1/2 - Q(z) for z >= 0, within err. Near 0 it is phi(z) z times
// 1 + z^2/3 + z^4/15 + ..., cut before a term below 2^-64.
func centralNear(z dd) (c dd, err float64) {
	if z.hi >= 0x1p-4 || !(z.hi >= 0) {
		q, err := tailNear(z)
		return ddOf(0.5).minus(q), err
	}
	x := z.hi * z.hi
	p := 1.0 / 10395
	for _, k := range [...]float64{1.0 / 945, 1.0 / 105, 1.0 / 15, 1.0 / 3} {
		p = p*x + k
	}
	m, e := density(z)
	c = m.scaled(e).times(z)
	c = c.plus(c.times(ddOf(p * x)))
	return c, c.hi*nearErr + 0x1p-390
}
