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

// random makes random expressions over inputs and outputs.
type random struct {
	*rand.Rand
	inputs, outputs int
}

func (r *random) pick(words ...string) string { return words[r.IntN(len(words))] }

func leaf(word string) expr { return expr{op: word} }

func (r *random) number() expr {
	return leaf(r.pick("0", "1", "-1", "0.5", "-.25", "2.", "1e-1", "+3", "-12.5E-1", "0.75"))
}

func (r *random) comparison(output bool) expr {
	op := r.pick("<=", "<", ">=", ">", "<=", ">=", "==")
	side := r.number()
	var other expr
	if output {
		y := func() expr { return leaf(fmt.Sprintf("Y_%d", r.IntN(r.outputs))) }
		other = expr{"+", []expr{{"*", []expr{leaf("2"), y()}}, {"-", []expr{r.number(), y(), r.number()}}}}
		switch r.IntN(4) {
		case 0, 1:
			other = y()
		case 2:
			other = expr{"-", []expr{y()}}
		}
	} else {
		other = leaf(fmt.Sprintf("X_%d", r.IntN(r.inputs)))
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

// TestMeaning: for random queries and points, a point is in the list of boxes and polytopes
// exactly if all assertions hold there.
func TestMeaning(t *testing.T) {
	r := &random{rand.New(rand.NewPCG(1, 2)), 2, 2}
	read, inside, outside := 0, 0, 0
	for range 6000 {
		var b strings.Builder
		var asserted []expr
		for i := range r.inputs {
			fmt.Fprintf(&b, "(declare-const X_%d Real)", i)
			asserted = append(asserted, expr{r.pick("<=", "<"), []expr{leaf(fmt.Sprintf("X_%d", i)), leaf("2")}}, expr{">=", []expr{leaf(fmt.Sprintf("X_%d", i)), leaf("-2")}})
		}
		for i := range r.outputs {
			fmt.Fprintf(&b, "(declare-const Y_%d Real)", i)
		}
		for range 1 + r.IntN(3) {
			asserted = append(asserted, r.boolean(2))
		}
		for _, a := range asserted {
			fmt.Fprintf(&b, "(assert %v)", a)
		}
		q, err := Read([]byte(b.String()))
		if err != nil { // empty boxes and outputs of which nothing is said
			continue
		}
		read++
		for range 30 {
			at := map[string]*big.Rat{}
			x, y := make([]*big.Rat, r.inputs), make([]*big.Rat, r.outputs)
			for i := range x {
				x[i] = big.NewRat(int64(r.IntN(37)-18), 8)
				at[fmt.Sprintf("X_%d", i)] = x[i]
			}
			for i := range y {
				y[i] = big.NewRat(int64(r.IntN(41)-20), 8)
				at[fmt.Sprintf("Y_%d", i)] = y[i]
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
		if in && c.Unsafe.Holds(func(r *Constraint) bool { return r.Holds(y) }) {
			return true
		}
	}
	return false
}
