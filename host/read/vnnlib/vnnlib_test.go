package vnnlib

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// old is a query of version 1 with one input in [0, 1] and two outputs, and more text.
func old(more string) string {
	return "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n(assert (<= X_0 1))\n(assert (>= X_0 0))\n" + more
}

// modern is a query of version 2 with a 1 x 2 input in [0, 1] and two outputs.
func modern(more string) string {
	return `(vnnlib-version <2.0>)
(declare-network f (declare-input X Real [1,2]) (declare-output Y Real [2]))
(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] 0) (<= X[0,1] 1)))
` + more
}

// polytopes returns what a small set is the union of.
func (s *Set) polytopes() (all [][]*Constraint) {
	if s.Constraint != nil {
		return [][]*Constraint{{s.Constraint}}
	}
	if !s.Or {
		all = [][]*Constraint{nil}
	}
	for _, of := range s.Of {
		if s.Or {
			all = append(all, of.polytopes()...)
			continue
		}
		var next [][]*Constraint
		for _, a := range all {
			for _, b := range of.polytopes() {
				next = append(next, append(a[:len(a):len(a)], b...))
			}
		}
		all = next
	}
	return all
}

// text writes a query in short: boxes, and what is unsafe.
func (q *Query) text() string {
	var b strings.Builder
	for _, c := range q.Cases {
		for _, i := range c.Box {
			open, shut := "[", "]"
			if i.LoStrict {
				open = "("
			}
			if i.HiStrict {
				shut = ")"
			}
			fmt.Fprintf(&b, "%s%s,%s%s", open, i.Lo.RatString(), i.Hi.RatString(), shut)
		}
		for _, p := range c.Unsafe.polytopes() {
			b.WriteString(" {")
			for k, r := range p {
				if k > 0 {
					b.WriteString(" ")
				}
				for _, t := range r.Terms {
					fmt.Fprintf(&b, "%s%s%d+", t.Coef.RatString(), map[bool]string{false: "y", true: "x"}[t.Input], t.Of)
				}
				b.WriteString(r.Offset.RatString())
				if r.Strict {
					b.WriteString(">0")
				} else {
					b.WriteString(">=0")
				}
			}
			b.WriteString("}")
		}
		b.WriteString(";")
	}
	return b.String()
}

// TestAccepts: what a well-behaved reader reads, and what it means.
func TestAccepts(t *testing.T) {
	unsafe := "(assert (<= Y_0 3))"
	for _, c := range []struct{ name, text, want string }{
		{"plain", old(unsafe), "[0,1] {-1y0+3>=0};"},
		{"strict", old("(assert (< Y_0 3))"), "[0,1] {-1y0+3>0};"},
		{"other way round", old("(assert (>= 3 Y_0))"), "[0,1] {-1y0+3>=0};"},
		{"exponents", old("(assert (<= Y_0 1e-05))(assert (> Y_1 2E1))"), "[0,1] {-1y0+1/100000>=0 1y1+-20>0};"},
		{"plus and points", old("(assert (<= Y_0 +.5))(assert (>= Y_1 -5.))"), "[0,1] {-1y0+1/2>=0 1y1+5>=0};"},
		{"exact", old("(assert (<= Y_0 0.1000000000000000000000000000001))"), "[0,1] {-1y0+1000000000000000000000000000001/10000000000000000000000000000000>=0};"},
		{"comments and blanks", old("; a ) comment\n ( assert\t( <= Y_0 ; another\n 3 ) )\r\n"), "[0,1] {-1y0+3>=0};"},
		{"no blanks", old("(assert(<=Y_0 3))"), "[0,1] {-1y0+3>=0};"},
		{"repeated bounds", old("(assert (<= X_0 0.5))(assert (<= X_0 0.75))" + unsafe), "[0,1/2] {-1y0+3>=0};"},
		{"strict bound", old("(assert (< X_0 1))(assert (> X_0 -1))" + unsafe), "[0,1) {-1y0+3>=0};"},
		{"equality of an input", old("(assert (= X_0 0.25))" + unsafe), "[1/4,1/4] {-1y0+3>=0};"},
		{"== and reversed", old("(assert (== 0.25 X_0))" + unsafe), "[1/4,1/4] {-1y0+3>=0};"},
		{"equality of outputs", old("(assert (= Y_0 Y_1))"), "[0,1] {-1y0+1y1+0>=0 1y0+-1y1+0>=0};"},
		{"scaled input", old("(assert (<= (* -2 X_0) -1))" + unsafe), "[1/2,1] {-1y0+3>=0};"},
		{"linear", old("(assert (<= (+ (* 2 Y_0) (- Y_1) 1 (* Y_1 3 0.5)) (- 7 Y_0 2)))"), "[0,1] {-3y0+-1/2y1+4>=0};"},
		{"negation", old("(assert (<= (- Y_0) (- 2 3 4)))"), "[0,1] {1y0+-5>=0};"},
		{"conjunction", old("(assert (and (<= Y_0 3) (and (>= Y_1 2) (>= Y_1 Y_0))))"), "[0,1] {-1y0+3>=0 1y1+-2>=0 -1y0+1y1+0>=0};"},
		{"disjunction", old("(assert (or (and (<= Y_0 3)) (< Y_1 2)))"), "[0,1] {-1y0+3>=0} {-1y1+2>0};"},
		{"boxes", old("(assert (or (and (<= X_0 0.5) (<= Y_0 3)) (and (>= X_0 0.5) (<= Y_1 2))))"), "[0,1/2] {-1y0+3>=0};[1/2,1] {-1y1+2>=0};"},
		{"same boxes", old("(assert (or (and (<= X_0 0.5) (<= Y_0 3)) (and (<= X_0 1/1)(<= Y_1 2))))"), "!line 6:56"},
		{"equal boxes join", old("(assert (or (and (<= X_0 0.5) (<= Y_0 3)) (and (<= X_0 5e-1) (<= Y_1 2))))"), "[0,1/2] {-1y0+3>=0} {-1y1+2>=0};"},
		{"boxes times outputs", old("(assert (or (<= X_0 0.5) (>= X_0 0.75)))(assert (or (<= Y_0 3) (<= Y_1 2)))"),
			"[0,1/2] {-1y0+3>=0} {-1y1+2>=0};[3/4,1] {-1y0+3>=0} {-1y1+2>=0};"},
		{"common outputs", old("(assert (<= Y_0 3))(assert (or (<= X_0 0.5) (>= Y_1 2)))"), "[0,1/2] {-1y0+3>=0};[0,1] {-1y0+3>=0 1y1+-2>=0};"},
		{"declare-fun", strings.ReplaceAll(old(unsafe), "declare-const X_0", "declare-fun X_0 ()"), "[0,1] {-1y0+3>=0};"},
		{"version 1.0", "(vnnlib-version <1.0>)" + old(unsafe), "[0,1] {-1y0+3>=0};"},
		{"SMT-LIB around it", "(set-logic QF_LRA)" + old(unsafe) + "(check-sat)(get-model)(exit)", "[0,1] {-1y0+3>=0};"},
		{"version 2", modern("(assert (> Y[1] Y[0]))"), "[0,1][0,1] {-1y0+1y1+0>0};"},
		{"version 2.1, blanks", strings.ReplaceAll(strings.ReplaceAll(modern("(assert (> Y [ 1 ] Y[0]))"), "<2.0>", "<2.1>"), "[1,2]", " [1, 2]"), "[0,1][0,1] {-1y0+1y1+0>0};"},
		{"names in the ONNX file", strings.ReplaceAll(modern("(assert (> Y[1] 0))"), "[1,2])", `[1,2] "in\"put")`), "[0,1][0,1] {1y1+0>0};"},
		{"scalars", "(vnnlib-version <2.0>)(declare-network f (declare-input X Real []) (declare-output Y float32 []))(assert (>= X 0))(assert (<= X 1))(assert (< Y 0))", "[0,1] {-1y0+0>0};"},
		{"two networks", two("", "(assert (== U[0] A))"), "[0,1][0,1] {1x0+-1x1+0>=0 -1x0+1x1+0>=0 -1y0+1y1+0>0};"},
		{"a copy with a dash", strings.Replace(two("", "(assert (== U[0] A))"), "network g", "network g-copy", 1), "[0,1][0,1] {1x0+-1x1+0>=0 -1x0+1x1+0>=0 -1y0+1y1+0>0};"},
		{"two networks, at least", two("(isomorphic-to f)", "(assert (and (> U[0] A) (<= (* 2 U[0]) (+ A B 3))))(assert (<= U[0] 2))"), "!U is declared as Real [1]"},
		{"two networks, a bound of one", two("", "(assert (and (> U[0] A) (<= (* 2 U[0]) (+ A 3))))"), "[0,1](0,2] {-1x0+1x1+0>0 1x0+-2x1+3>=0 -1y0+1y1+0>0};"},
		{"a choice that contradicts", old("(assert (or (and (<= X_0 0.5) (<= Y_0 3)) (>= X_0 2) (and (> X_0 1) (<= Y_1 2))))"), "[0,1/2] {-1y0+3>=0};"},
		{"choices that contradict", two("", "(assert (<= U[0] A))(assert (or (>= U[0] 2) (== U[0] 0.5)))"), "[1/2,1][1/2,1/2] {1x0+-1x1+0>=0 -1y0+1y1+0>0};"},
		{"inputs and outputs", modern("(assert (<= (+ X[0,0] X[0,1]) 1))(assert (<= Y[0] (* 2 X[0,1])))"), "[0,1][0,1] {-1x0+-1x1+1>=0 -1y0+2x1+0>=0};"},
	} {
		q, err := Read([]byte(c.text))
		if place, refused := strings.CutPrefix(c.want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), place) {
				t.Errorf("%s: %v, want an error at %s", c.name, err, place)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := q.text(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// two is a query about networks f and g, of which more is said, with inputs A from 0 to 1 and U.
func two(more, asserted string) string {
	return "(vnnlib-version <2.0>)(declare-network f (declare-input A Real []) (declare-output B Real []))\n(declare-network g " + more +
		" (declare-input U Real [1]) (declare-output W Real [1]))" + asserted + "(assert (>= A 0))(assert (<= A 1))(assert (< B W[0]))"
}

// TestRefuses: each trap is an error of one line with its line, its column and a reason.
func TestRefuses(t *testing.T) {
	unsafe := "(assert (<= Y_0 3))"
	deep := strings.Repeat("(and ", 200)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1:1: no X_0 is declared"},
		{"no upper bound", "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 0))" + unsafe, "line 1:16: input X_0 has no upper bound"},
		{"no lower bound", strings.Replace(modern("(assert (<= Y[0] 3))"), "(>= X[0,0] 0)", "", 1), "line 2:1: input X[0,0] has no lower bound"},
		{"bound in one alternative only", "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 0))\n(assert (or (and (<= X_0 1) (<= Y_0 3)) (<= Y_0 3)))", "input X_0 has no upper bound"},
		{"empty box", old("(assert (<= X_0 -1))" + unsafe), "line 6:9: no input is in this box: X_0 has to be at least 0 and at most -1 (line 5:9)"},
		{"empty by strictness", old("(assert (< X_0 0))" + unsafe), "line 6:9: no input is in this box"},
		{"half open point", old("(assert (<= X_0 0))(assert (> X_0 0))" + unsafe), "no input is in this box"},
		{"every box empty", old("(assert (or (<= X_0 -1) (and (> X_0 1) (<= Y_0 2))))"), "line 6:13: no input is in this box"},
		{"product of outputs", old("(assert (<= (* Y_0 Y_1) 3))"), "line 6:20: this product of variables is not linear"},
		{"product of inputs", old("(assert (<= (* X_0 X_0) 3))"), "not linear"},
		{"hidden", strings.Replace(modern("(assert (<= Y[0] 3))"), "(declare-output", `(declare-hidden H Real [1,2] "relu")(declare-output`, 1), "line 2:49: declare-hidden"},
		{"empty by a relation", two("", "(assert (and (> U[0] (+ A 3)) (<= U[0] 2)))"), "no input is in this box: A has to be at least 0 and at most -1"},
		{"unbounded by relations", two("", "(assert (<= U[0] W[0]))") + "(assert (<= U[0] A))", "input U[0] has no lower bound"},
		{"unbounded in a choice", two("", "(assert (or (== U[0] A) (>= W[0] 0)))"), "input U[0] has no lower bound"},
		{"declared twice in two", strings.Replace(two("", ""), "U Real", "A Real", 1), "line 2:1: A is declared twice"},
		{"network after assertions", two("", "(assert (== U[0] A))(declare-network h (declare-input V Real [1]) (declare-output Z Real [1]))"), "networks are declared before"},
		{"like a later network", strings.Replace(modern(""), "network f ", "network f (isomorphic-to g) ", 1), `"g" is no network that was declared before`},
		{"like a variable", two("(equal-to A)", ""), `"A" is no network`},
		{"like two", two("(equal-to f) (isomorphic-to f)", ""), "write (isomorphic-to NAME) once"},
		{"like one that is like another", strings.ReplaceAll(two("(isomorphic-to f)", "(declare-network h (equal-to g) (declare-input V Real [1]) (declare-output Z Real [1]))"), "[1]", "[]"), "network g is like another itself"},
		{"another shape", two("(equal-to f)", ""), "U is declared as Real [1] and A as Real []"},
		{"another type", strings.ReplaceAll(strings.Replace(two("(equal-to f)", ""), "[1]", "[]", 2), "U Real", "U float32"), "U is declared as float32 [] and A as Real []"},
		{"network for a variable", two("", "(assert (<= f 3))"), `"f" is no declared input or output`},
		{"two inputs declared", strings.Replace(modern(""), "(declare-output", "(declare-input Z Real [1])(declare-output", 1), "a second (declare-input ...)"},
		{"initialized", strings.Replace(modern(""), "[1,2]", "[1,2] initialized", 1), "initialized"},
		{"integers", strings.Replace(modern(""), "X Real", "X int64", 1), `element type "int64"`},
		{"not equal", old("(assert (!= Y_0 3))"), "line 6:9: != is not supported"},
		{"undeclared", old("(assert (<= Y_2 3))"), `line 6:13: "Y_2" is not declared`},
		{"undeclared input", old("(assert (<= X_1 3))" + unsafe), `"X_1" is not declared`},
		{"other name", old("(assert (<= Z 3))"), `"Z" is not declared`},
		{"declared later", old("(assert (<= Y_2 3))(declare-const Y_2 Real)"), `line 6:13: "Y_2" is not declared`},
		{"gap in indices", old(unsafe + "(declare-const Y_4 Real)"), "Y_4 is declared, but not all of Y_0 to Y_3"},
		{"declared twice", old(unsafe + "(declare-const Y_1 Real)"), `"Y_1" is declared in line 3 already`},
		{"leading zero", old("(declare-const Y_02 Real)"), "inputs are X_0, X_1"},
		{"integer variable", old("(declare-const Y_2 Int)"), "only Real is supported"},
		{"index out of range", modern("(assert (<= Y[2] 3))"), "line 4:13: \"Y[2]\": index 2 is not among the 2 of axis 0"},
		{"too few indices", modern("(assert (<= X[0] 3))"), "has 1 indices, X has 2 axes"},
		{"no index", modern("(assert (<= Y 3))"), "has 0 indices, Y has 1 axes"},
		{"negative index", modern("(assert (<= Y[-1] 3))"), "whole numbers"},
		{"huge shape", strings.Replace(modern(""), "[1,2]", "[4000,4000,4000]", 1), "is empty or has more than"},
		{"no axis length", strings.Replace(modern(""), "[1,2]", "[0,2]", 1), "is empty or has more than"},
		{"mixed versions", "(declare-const X_0 Real)" + modern("")[23:], "use one of both"},
		{"version 3", strings.Replace(modern(""), "2.0", "3.0", 1), "line 1:17: version \"<3.0>\" is not known"},
		{"version 2 without a network", "(vnnlib-version <2.0>)", "needs a (declare-network ...)"},
		{"version twice", "(vnnlib-version <2.0>)" + modern(""), "the version stands once"},
		{"no outputs asserted", old(""), "this says nothing about the outputs"},
		{"one alternative without outputs", old("(assert (or (<= Y_0 3) (<= X_0 0.5)))"), "line 6:24: this says nothing about the outputs"},
		{"no variable left", old("(assert (<= (- Y_0 Y_0) 3))"), "this comparison has no variable left"},
		{"no variable", old("(assert (<= 2 3))"), "this comparison has no variable left"},
		{"no number", old("(assert (<= Y_0 3x))"), `line 6:17: "3x" is no number`},
		{"hexadecimal", old("(assert (<= Y_0 0x10))"), `"0x10" is no number`},
		{"fraction", old("(assert (<= Y_0 1/3))"), `"1/3" is no number`},
		{"underscore", old("(assert (<= Y_0 1_000))"), `"1_000" is no number`},
		{"infinity", old("(assert (<= Y_0 inf))"), `"inf" is not declared`},
		{"huge exponent", old("(assert (<= Y_0 1e999999999))"), "exponent beyond 400"},
		{"many digits", old("(assert (<= Y_0 " + strings.Repeat("1", 2000) + "))"), "too many digits"},
		{"product of many numbers", old("(assert (<= Y_0 (* " + strings.Repeat("1e400 ", 1000) + ")))"), "more digits than psafe is ready for"},
		{"division", old("(assert (<= (/ Y_0 2) 3))"), "none of the operators"},
		{"ite", old("(assert (ite (<= Y_0 2) (<= Y_0 3) (<= Y_1 3)))"), "none of the comparisons"},
		{"not", old("(assert (not (<= Y_0 2)))"), "none of the comparisons"},
		{"chain", old("(assert (<= 0 Y_0 2))"), "compares two expressions, found 3"},
		{"empty and", old("(assert (and))"), "(and) is empty"},
		{"empty sum", old("(assert (<= (+) 2))"), "(+) has no operand"},
		{"two assertions in one", old("(assert (<= Y_0 2) (<= Y_1 2))"), "takes one expression, found 2"},
		{"bare", old("X_0"), `expected a statement in brackets, found "X_0"`},
		{"unknown statement", old("(minimize Y_0)"), "(minimize ...) is no statement of VNN-LIB"},
		{"closing", old(")"), "line 6:1: a closing bracket that nothing opened"},
		{"cut off", old("(assert (<= Y_0"), "line 6:9: this bracket is never closed"},
		{"deep", old("(assert " + deep + "(<= Y_0 3)" + strings.Repeat(")", 201)), "brackets nest deeper than 100"},
		{"exploding", old("(assert (and " + strings.Repeat("(or (<= X_0 0.5) (<= Y_1 3)) ", 60) + "))"), " boxes, and takes"},
		{"exploding over statements", old(strings.Repeat("(assert (or (<= X_0 0.5) (<= Y_1 3)))", 60)), "with every \"or\" about inputs written out, the query has"},
		{"bytes", old("(assert (<= Y_0 3\x00))"), "the byte 0x0"},
		{"not UTF-8", old("(assert (<= Y_\xff 3))"), "the byte 0xff"},
		{"open text", old("(assert \"abc\n\")"), "no closing quote"},
		{"JSON", `{"properties": []}`, "expected a statement in brackets"},
	} {
		_, err := Read([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGzip: packed files are read; damaged ones and bombs are refused.
func TestGzip(t *testing.T) {
	text := old("(assert (<= Y_0 3))")
	packed := zipped(t, text)
	q, err := Read(packed)
	if err != nil || q.text() != "[0,1] {-1y0+3>=0};" {
		t.Fatal(q, err)
	}
	plain, err := Read([]byte(text))
	if err != nil || plain.SHA256 == q.SHA256 || len(q.SHA256) != 64 {
		t.Errorf("%v: digests %s and %s", err, plain.SHA256, q.SHA256)
	}
	if _, err := Read(packed[:len(packed)-9]); err == nil || !strings.Contains(err.Error(), "damaged gzip") {
		t.Error(err)
	}
	if _, err := unpack(zipped(t, strings.Repeat(" ", 1001)), 1000); err == nil || !strings.Contains(err.Error(), "unpacked") {
		t.Error(err)
	}
	marked := "\xef\xbb\xbf" + text
	for _, file := range [][]byte{[]byte(marked), zipped(t, marked)} {
		if q, err := Read(file); err != nil || q.text() != "[0,1] {-1y0+3>=0};" {
			t.Errorf("with a byte order mark: %v", err)
		}
	}
	for text, want := range map[string]bool{text: true, marked: true, " ; x": true, "{}": false, "": false, "1,2\n": false} {
		if Recognises([]byte(text)) != want || Recognises(zipped(t, text)) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
	path := filepath.Join(t.TempDir(), "q.vnnlib.gz")
	if err := os.WriteFile(path, packed[:20], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.HasPrefix(err.Error(), path+": damaged gzip") {
		t.Error(err)
	}
}

// TestWideRelation: what a relation of many inputs says of each is found in one pass over them.
func TestWideRelation(t *testing.T) {
	const n = 6000
	var b strings.Builder
	fmt.Fprintf(&b, "(declare-network f (declare-input X Real [%d]) (declare-output Y Real []))(assert (> Y 0))", n)
	total := "(assert (< (- (+"
	for i := range n {
		fmt.Fprintf(&b, "(assert (and (>= X[%d] 0.5) (<= X[%[1]d] 7)))", i)
		total += fmt.Sprintf(" X[%d]", i)
	}
	q, err := Read([]byte(b.String() + total + fmt.Sprintf(") %d.25) 0))", n/2)))
	if err != nil {
		t.Fatal(err)
	}
	for i, side := range q.Cases[0].Box {
		if side.Hi.Cmp(big.NewRat(3, 4)) != 0 || !side.HiStrict || side.Lo.Cmp(big.NewRat(1, 2)) != 0 || side.LoStrict {
			t.Fatalf("input %d is from %v to %v", i, side.Lo, side.Hi)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(old("(assert (or (and (<= X_0 0.5) (<= Y_0 3)) (and (>= X_0 5e-1) (< (+ Y_1 (* 2 Y_0)) (- 2 .5)))))"))
	f.Add(modern("(assert (or (> Y[1] Y[0]) (== Y[0] -0.25)))"))
	f.Add(two("", "(assert (and (== U[0] A) (<= (* 2 U[0]) (+ A B 3))))"))
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Read([]byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 500 {
				t.Fatalf("%q", err)
			}
			return
		}
		for _, c := range q.Cases {
			if len(c.Box) != q.Inputs() || c.Unsafe == nil {
				t.Fatal("a case without a box or a polytope")
			}
			for _, i := range c.Box {
				if order := i.Lo.Cmp(i.Hi); order > 0 || order == 0 && (i.LoStrict || i.HiStrict) {
					t.Fatal("an empty box")
				}
			}
			c.Unsafe.Holds(func(r *Constraint) bool {
				for k, term := range r.Terms {
					if term.Coef.Sign() == 0 || term.Of >= map[bool]int{true: q.Inputs(), false: q.Outputs()}[term.Input] || k > 0 && r.Terms[k-1].Input == term.Input && r.Terms[k-1].Of >= term.Of {
						t.Fatal("terms are not as promised")
					}
				}
				return true
			})
		}
	})
}
