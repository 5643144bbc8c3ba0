package vnnlib

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// expr is an expression of a random query that the test evaluates by itself.
type expr struct {
	op   string // a number, X_i, Y_i, an operator, a comparison, and, or
	kids []expr
}

func (e expr) String() string {
	if e.kids == nil {
		return e.op
	}
	parts := []string{e.op}
	for _, k := range e.kids {
		parts = append(parts, k.String())
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// value of an arithmetic expression at a point.
func (e expr) value(at map[string]*big.Rat) *big.Rat {
	if v := at[e.op]; v != nil {
		return v
	}
	if e.kids == nil {
		r, ok := new(big.Rat).SetString(e.op)
		if !ok {
			panic(e.op)
		}
		return r
	}
	total := new(big.Rat).Set(e.kids[0].value(at))
	if e.op == "-" && len(e.kids) == 1 {
		return total.Neg(total)
	}
	for _, k := range e.kids[1:] {
		switch v := k.value(at); e.op {
		case "+":
			total.Add(total, v)
		case "-":
			total.Sub(total, v)
		case "*":
			total.Mul(total, v)
		}
	}
	return total
}

// holds reports whether a boolean expression holds at a point.
func (e expr) holds(at map[string]*big.Rat) bool {
	switch e.op {
	case "and", "or":
		for _, k := range e.kids {
			if k.holds(at) == (e.op == "or") {
				return e.op == "or"
			}
		}
		return e.op == "and"
	}
	order := e.kids[0].value(at).Cmp(e.kids[1].value(at))
	return map[string]bool{"<=": order <= 0, "<": order < 0, ">=": order >= 0, ">": order > 0, "=": order == 0, "==": order == 0}[e.op]
}

// random makes random expressions over inputs and outputs of these names.
type random struct {
	*rand.Rand
	inputs, outputs []string
}

func (r *random) pick(words ...string) string { return words[r.IntN(len(words))] }

func leaf(word string) expr { return expr{op: word} }

func (r *random) number() expr {
	return leaf(r.pick("0", "1", "-1", "0.5", "-.25", "2.", "1e-1", "+3", "-12.5E-1", "0.75"))
}

// related is a comparison of inputs with each other, or with outputs.
func (r *random) related() expr {
	x, y := expr{"*", []expr{leaf(r.pick("1", "1", "-2")), leaf(r.inputs[0])}}, leaf(r.inputs[1])
	if r.IntN(4) == 0 {
		y = leaf(r.pick(r.outputs...))
	}
	return expr{r.pick("<=", "<", ">=", ">", "=="), []expr{expr{r.pick("+", "-"), []expr{x, r.number()}}, y}}
}

func (r *random) comparison(output bool) expr {
	if r.IntN(5) == 0 {
		return r.related()
	}
	op := r.pick("<=", "<", ">=", ">", "<=", ">=", "==")
	side := r.number()
	var other expr
	if output {
		y := func() expr { return leaf(r.pick(r.outputs...)) }
		other = expr{"+", []expr{{"*", []expr{leaf("2"), y()}}, {"-", []expr{r.number(), y(), r.number()}}}}
		switch r.IntN(4) {
		case 0, 1:
			other = y()
		case 2:
			other = expr{"-", []expr{y()}}
		}
	} else {
		other = leaf(r.pick(r.inputs...))
		if r.IntN(3) == 0 {
			other = expr{"*", []expr{leaf(r.pick("2", "-0.5", "4")), other}}
		}
	}
	if r.IntN(2) == 0 {
		return expr{op, []expr{side, other}}
	}
	return expr{op, []expr{other, side}}
}

func (r *random) boolean(depth int) expr {
	if depth == 0 || r.IntN(3) == 0 {
		return r.comparison(r.IntN(3) > 0)
	}
	e := expr{op: r.pick("and", "or")}
	for range 1 + r.IntN(3) {
		e.kids = append(e.kids, r.boolean(depth-1))
	}
	return e
}

// TestMeaning: for random queries about one network or two, and points, a point is in the list of boxes
// and polytopes exactly if all assertions hold there.
func TestMeaning(t *testing.T) {
	r := &random{Rand: rand.New(rand.NewPCG(1, 2))}
	read, inside, outside := 0, 0, 0
	for round := range 6000 {
		var b strings.Builder
		var asserted []expr
		if r.inputs, r.outputs = []string{"X_0", "X_1"}, []string{"Y_0", "Y_1"}; round%2 == 0 {
			b.WriteString("(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)")
		} else {
			r.inputs, r.outputs = []string{"A", "C[0]"}, []string{"B", "D[0]"}
			b.WriteString("(declare-network f (declare-input A Real [])(declare-output B Real []))(declare-network g (declare-input C Real [1])(declare-output D Real [1]))")
		}
		for i, x := range r.inputs {
			for _, e := range []expr{{r.pick("<=", "<"), []expr{leaf(x), leaf("2")}}, {">=", []expr{leaf(x), leaf("-2")}}} {
				if i == 0 || r.IntN(4) > 0 { // the other may be bounded by what relates it
					asserted = append(asserted, e)
				}
			}
		}
		for range 1 + r.IntN(3) {
			asserted = append(asserted, r.boolean(2))
		}
		for _, a := range asserted {
			fmt.Fprintf(&b, "(assert %v)", a)
		}
		q, err := Read([]byte(b.String()))
		if err != nil { // nothing but empty boxes, and outputs of which nothing is said
			continue
		}
		read++
		for range 30 {
			at := map[string]*big.Rat{}
			x, y := make([]*big.Rat, 2), make([]*big.Rat, 2)
			for i := range x {
				if x[i] = big.NewRat(int64(r.IntN(37)-18), 8); r.IntN(4) == 0 {
					x[i] = big.NewRat(int64(4*r.IntN(2)-2), 1)
				}
				at[r.inputs[i]] = x[i]
			}
			for i := range y {
				y[i] = big.NewRat(int64(r.IntN(41)-20), 8)
				at[r.outputs[i]] = y[i]
			}
			want := true
			for _, a := range asserted {
				want = want && a.holds(at)
			}
			if got := q.has(x, y); got != want {
				t.Fatalf("%s at %v, %v: %v, want %v", b.String(), x, y, got, want)
			}
			if want {
				inside++
			} else {
				outside++
			}
		}
	}
	if read < 1500 || inside < 1000 || outside < 1000 {
		t.Errorf("%d queries read, %d points inside and %d outside: too few to say something", read, inside, outside)
	}
}

// has reports whether inputs x and outputs y are what the query looks for.
func (q *Query) has(x, y []*big.Rat) bool {
	for _, c := range q.Cases {
		in := true
		for j := range x {
			in = in && c.Box[j].Contains(x[j])
		}
		if in && c.Unsafe.Holds(func(r *Constraint) bool { return r.Holds(x, y) }) {
			return true
		}
	}
	return false
}
