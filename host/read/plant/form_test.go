package plant

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// written is a text with the value that it has at a point, by another way than the parser's. bind says how tightly it binds:
// 0 sums, 1 products, 2 a sign, 3 what stands by itself.
type written struct {
	text     string
	value    *big.Rat
	bind     int
	constant bool
}

// within is the text as an operand that has to bind so tightly.
func (w written) within(bind int) string {
	if w.bind < bind {
		return "(" + w.text + ")"
	}
	return w.text
}

// cube stands for the sine, which has no exact values.
func cube(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, new(big.Rat).Mul(x, x)) }

// draw writes a form of some depth over variables called names, which have the values at.
func draw(r *rand.Rand, names []string, at []*big.Rat, depth int) written {
	if depth == 0 || r.IntN(6) == 0 {
		if r.IntN(2) == 0 {
			k := r.IntN(len(names))
			return written{names[k], at[k], 3, false}
		}
		return drawNumber(r)
	}
	a := draw(r, names, at, depth-1)
	b := draw(r, names, at, depth-1)
	v := new(big.Rat)
	space := [...]string{"", " "}[r.IntN(2)]
	switch r.IntN(7) {
	case 0:
		return written{a.within(0) + space + "+" + space + b.within(1), v.Add(a.value, b.value), 0, a.constant && b.constant}
	case 1:
		return written{a.within(0) + space + "-" + space + b.within(1), v.Sub(a.value, b.value), 0, a.constant && b.constant}
	case 2:
		if !a.constant {
			b = drawNumber(r)
		}
		return written{a.within(1) + space + "*" + space + b.within(2), v.Mul(a.value, b.value), 1, a.constant && b.constant}
	case 3:
		if b = drawNumber(r); b.value.Sign() == 0 {
			b = written{"-7", big.NewRat(-7, 1), 2, true}
		}
		return written{a.within(1) + space + "/" + space + b.within(2), v.Quo(a.value, b.value), 1, a.constant}
	case 4:
		return written{"-" + space + a.within(2), v.Neg(a.value), 2, a.constant}
	case 5:
		return written{"sin(" + a.text + ")", cube(a.value), 3, false}
	}
	lo, hi := drawNumber(r), drawNumber(r)
	if lo.value.Cmp(hi.value) > 0 {
		lo, hi = hi, lo
	}
	v.Set(a.value)
	if v.Cmp(lo.value) < 0 {
		v = lo.value
	} else if v.Cmp(hi.value) > 0 {
		v = hi.value
	}
	return written{fmt.Sprintf("clip(%s,%s%s, %s)", a.text, space, lo.text, hi.text), v, 3, false}
}

// drawNumber writes a number.
func drawNumber(r *rand.Rand) written {
	n := r.Int64N(30)
	switch r.IntN(4) {
	case 0:
		return written{fmt.Sprintf("%d.%02d", n, n), big.NewRat(101*n, 100), 3, true}
	case 1:
		return written{fmt.Sprintf("%de-1", n), big.NewRat(n, 10), 3, true}
	case 2:
		return written{fmt.Sprintf("%d/3", n), big.NewRat(n, 3), 1, true}
	}
	return written{fmt.Sprint(n), big.NewRat(n, 1), 3, true}
}

// exactly is the value of a form, with cubes for sines.
func exactly(f *Form, at []*big.Rat) *big.Rat {
	sum := new(big.Rat).Set(f.Constant.Exact)
	for _, t := range f.Terms {
		v := at[t.Of.Variable]
		if t.Of.Of != nil {
			if v = exactly(t.Of.Of, at); t.Of.Sine {
				v = cube(v)
			} else if v.Cmp(t.Of.Lo.Exact) < 0 {
				v = t.Of.Lo.Exact
			} else if v.Cmp(t.Of.Hi.Exact) > 0 {
				v = t.Of.Hi.Exact
			}
		}
		sum.Add(sum, new(big.Rat).Mul(t.By.Exact, v))
	}
	return sum
}

// TestForms: random texts are read as what they say, by precedence, signs and brackets.
func TestForms(t *testing.T) {
	names := []string{"x", "v", "sinus", "e1", "clipped"}
	for seed := range uint64(testscale.Cases(t, 5000)) {
		r := rand.New(rand.NewPCG(seed, 4))
		at := make([]*big.Rat, len(names))
		for i := range at {
			at[i] = big.NewRat(r.Int64N(41)-20, 7)
		}
		w := draw(r, names, at, 1+r.IntN(5))
		f, err := parseForm(w.text, names)
		if err != nil {
			t.Fatalf("%s: %v", w.text, err)
		}
		if got := exactly(f, at); got.Cmp(w.value) != 0 {
			t.Fatalf("%s is read as %v at %v, it is %v", w.text, got, at, w.value)
		}
		var enclosed func(f *Form)
		enclosed = func(f *Form) {
			numbers := []Number{f.Constant}
			for _, term := range f.Terms {
				if numbers = append(numbers, term.By); term.Of.Of != nil {
					if enclosed(term.Of.Of); !term.Of.Sine {
						numbers = append(numbers, term.Of.Lo, term.Of.Hi)
					}
				}
			}
			for _, n := range numbers {
				if lo, hi := new(big.Rat).SetFloat64(n.Lo), new(big.Rat).SetFloat64(n.Hi); lo.Cmp(n.Exact) > 0 || hi.Cmp(n.Exact) < 0 {
					t.Fatalf("%s: %v is enclosed by %v and %v", w.text, n.Exact, n.Lo, n.Hi)
				}
			}
		}
		enclosed(f)
	}
}
