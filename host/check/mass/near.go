package mass

import (
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/check/curves"
)

// The tail Q of the normal distribution for very many arguments: Q(z) = phi(z) R(z), with the
// Mills ratio R by its Taylor series around the nearest of fixed nodes.

// nearErr is more than the relative error of tailNear and centralNear: see tailNear.
const nearErr = arith.Unit

// mills has R and its first derivatives, divided by k!, at a node.
type mills struct {
	once  sync.Once
	value arith.DD
	next  [13]float64
}

// nodes are at multiples of 1/8.
var nodes [8*39 + 1]mills

// at fills the node z. With m_k = R^(k)(z)/k!: R' = z R - 1, hence m_1 = z m_0 - 1 and
// (k+1) m_(k+1) = z m_k + m_(k-1).
func (n *mills) at(z float64) {
	q, e := curves.Tail(arith.DDOf(z))
	p, f := curves.Density(arith.DDOf(z))
	before, m := q.Quotient(p).Scaled(e-f), arith.DDOf(0)
	n.value = before
	m = before.Times(arith.DDOf(z)).Minus(arith.DDOf(1))
	for k := range n.next {
		n.next[k] = m.Hi
		before, m = m, m.Times(arith.DDOf(z)).Plus(before).Over(float64(k+2))
	}
}

// tailNear is Q(z) for z >= 0, within err.
//
// An error d of R at the node makes m_k wrong by d times the coefficients of exp(z h + h^2/2),
// so that R is wrong by at most d e^2.5 for |h| <= 1/16 and z <= 39: 13 TailErr, below 0.45
// unit. What follows m_0 is below 0.06 R, and four roundings of it below 0.25 unit. Terms from
// m_14 on are below 2^-70 R, and all else is known to 2^-58.
func tailNear(z arith.DD) (q arith.DD, err float64) {
	switch {
	case !(z.Hi >= 0):
		return arith.DDOf(0), 1
	case z.Hi == arith.Inf:
		return arith.DDOf(0), 0 // an infinite end
	case z.Hi >= 39:
		return arith.DDOf(0), arith.Eta // Q(39) < 1e-332
	}
	i := int(math.Round(8 * z.Hi))
	n, node := &nodes[i], float64(i)/8
	n.once.Do(func() { n.at(node) })
	h := (z.Hi - node) + z.Lo
	p := n.next[len(n.next)-1]
	for k := len(n.next) - 2; k >= 0; k-- {
		p = p*h + n.next[k]
	}
	m, e := curves.Density(z)
	q = m.Times(n.value.Plus(arith.DDOf(p * h))).Scaled(e)
	if z.Hi < 37 { // q > 2^-1000: nothing underflows
		return q, q.Hi * nearErr
	}
	return q, q.Hi*nearErr + 4*arith.Eta
}

// centralNear is C(z) = 1/2 - Q(z) for z >= 0, within err. Near 0 it is phi(z) z times
// 1 + z^2/3 + z^4/15 + ..., cut before a term below 2^-64.
func centralNear(z arith.DD) (c arith.DD, err float64) {
	if z.Hi >= 0x1p-4 || !(z.Hi >= 0) {
		q, err := tailNear(z)
		return arith.DDOf(0.5).Minus(q), err
	}
	x := z.Hi * z.Hi
	p := 1.0 / 10395
	for _, k := range [...]float64{1.0 / 945, 1.0 / 105, 1.0 / 15, 1.0 / 3} {
		p = p*x + k
	}
	m, e := curves.Density(z)
	c = m.Scaled(e).Times(z)
	c = c.Plus(c.Times(arith.DDOf(p * x)))
	return c, c.Hi*nearErr + 0x1p-390
}
