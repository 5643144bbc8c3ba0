package lower

import (
	"errors"
	"fmt"
	"math"

	"psafe/internal/infile"
)

// adder adds coef times element k of v to the element that is being made. id, if not 0,
// names the random number that coef is.
type adder func(v *value, k int, coef float64, id int32)

// combination makes elements as sums of products, each checked to be exact.
type combination struct {
	out   *value
	exact bool
	steps int64
	// The element that is being made: coefficients by output of the base, and which are
	// there (mark equals stamp), in the order of their coming.
	v     []float64
	id    []int32
	mark  []int32
	stamp int32
	there []int32
	c     float64
	cID   int32
}

// combine makes a tensor whose element i is what fill adds up. Where that is not exact, the
// operands become a layer first (flush), after which it needs no arithmetic.
func (l *lowering) combine(shape []int, operands []*value, fill func(i int, add adder)) (*value, error) {
	n, err := l.count(shape)
	if err != nil {
		return nil, err
	}
	linear := false
	for _, v := range operands {
		if err := l.current(v); err != nil {
			return nil, err
		}
		linear = linear || !v.isConst()
	}
	for range 2 {
		v, err := l.try(shape, n, linear, fill)
		if v != nil || err != nil {
			return v, err
		}
		if !linear {
			break
		}
		if err := l.flush(operands...); err != nil {
			return nil, err
		}
	}
	for _, v := range operands {
		if v.isConst() && v.id != nil {
			return nil, l.sharedError(l.nameOf(v), "it is multiplied with or added to other constants")
		}
	}
	return nil, errors.New("its constants overflow, or cannot be combined exactly in float64: fold them before the export")
}

// try is nil, without an error, where a sum or product is not exact.
func (l *lowering) try(shape []int, n int, linear bool, fill func(i int, add adder)) (*value, error) {
	if linear {
		l.steps += int64(l.size)
	}
	c := &combination{out: &value{shape: shape, base: -1, c: make([]float64, n)}, exact: true}
	if linear {
		c.out.base, c.out.start = l.top, make([]int, 1, n+1)
		c.v, c.id, c.mark = make([]float64, l.size), make([]int32, l.size), make([]int32, l.size)
	}
	add := c.add
	asked := 1 << 22
	for i := range n {
		c.stamp++
		c.there, c.c, c.cID = c.there[:0], 0, 0
		fill(i, add)
		if !c.exact {
			return nil, nil
		}
		if l.steps += c.steps; l.steps > mostSteps {
			return nil, fmt.Errorf("more than %d products of coefficients: the network is too large", int64(mostSteps))
		}
		c.steps = 0
		if err := l.spend(int64(len(c.there))); err != nil {
			return nil, err
		}
		c.store(i)
		if m := len(c.out.terms); m > asked {
			asked *= 2
			if err := infile.Afford(int64(asked) * 32); err != nil {
				return nil, err
			}
		}
	}
	return c.out, nil
}

// store ends element i.
func (c *combination) store(i int) {
	out := c.out
	for _, j := range c.there {
		if c.v[j] != 0 || c.id[j] != 0 {
			out.terms = append(out.terms, term{j: j, id: c.id[j], v: c.v[j]})
		}
	}
	if out.start != nil {
		out.start = append(out.start, len(out.terms))
	}
	out.c[i] = c.c
	if c.cID != 0 {
		if out.id == nil {
			out.id = make([]int32, len(out.c))
		}
		out.id[i] = c.cID
	}
}

// add is an adder.
func (c *combination) add(v *value, k int, coef float64, id int32) {
	if coef == 0 && id == 0 || !c.exact {
		return
	}
	c.steps++
	row := v.row(k)
	if id != 0 && (len(row) > 1 || len(row) == 1 && v.c[k] != 0) {
		c.exact = false // it would be in several places
		return
	}
	for _, t := range row {
		c.steps++
		p, pid := c.times(t.v, t.id, coef, id)
		if c.mark[t.j] != c.stamp {
			c.mark[t.j], c.v[t.j], c.id[t.j] = c.stamp, p, pid
			c.there = append(c.there, t.j)
			continue
		}
		c.v[t.j], c.id[t.j] = c.plus(c.v[t.j], c.id[t.j], p, pid)
	}
	p, pid := c.times(v.c[k], v.idOf(k), coef, id)
	c.c, c.cID = c.plus(c.c, c.cID, p, pid)
}

// times is a product, of which c.exact says whether it is exact and, if a factor is random,
// whether it is that number itself.
func (c *combination) times(a float64, aID int32, b float64, bID int32) (float64, int32) {
	switch {
	case a == 0 && aID == 0 || b == 0 && bID == 0:
		return 0, 0
	case a == 1 && aID == 0:
		return b, bID
	case b == 1 && bID == 0:
		return a, aID
	case aID != 0 || bID != 0:
		c.exact = false
		return 0, 0
	}
	p, exact := timesExact(a, b)
	c.exact = c.exact && exact
	return p, 0
}

// plus is a sum, as times is a product.
func (c *combination) plus(a float64, aID int32, b float64, bID int32) (float64, int32) {
	switch {
	case b == 0 && bID == 0:
		return a, aID
	case a == 0 && aID == 0:
		return b, bID
	case aID != 0 || bID != 0:
		c.exact = false
		return 0, 0
	}
	s, exact := plusExact(a, b)
	c.exact = c.exact && exact
	return s, 0
}

// tiny is above every product whose error could underflow: the error of a product of
// float64 is a multiple of 2^-106 of it, and 2^-1074 is the smallest float64.
const tiny = 1e-290

// timesExact is a b, and whether that is a b exactly: FMA gives the error, rounded once,
// which is 0 only if it is 0, since it cannot underflow above tiny.
func timesExact(a, b float64) (float64, bool) {
	p := a * b
	return p, math.Abs(p) >= tiny && math.Abs(p) <= math.MaxFloat64 && math.FMA(a, b, -p) == 0
}

// plusExact is a + b, and whether that is a + b exactly: the error of a sum is a float64,
// and these six operations find it (Knuth's TwoSum).
func plusExact(a, b float64) (float64, bool) {
	s := a + b
	bb := s - a
	return s, math.Abs(s) <= math.MaxFloat64 && (a-(s-bb))+(b-bb) == 0
}
