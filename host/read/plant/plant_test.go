package plant

import (
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `state:
  x: {range: [-1, 1], cells: 4}
  v: {range: [-0.3, 2], cells: 7}
network: {inputs: [v, x], outputs: [u]}
noise: {w: [-0.1, 0.2]}
next:
  x: x + 0.1*v
  v: 2*(v - x)/4 + clip(u, -1, 1/3) + w
start: ["-0.5 <= x <= 0.5", v <= 1]
safe: [x + v >= -1.5]
goal: [x >= 0.5]
semantics: each-step
steps: 20
`

func read(t *testing.T, text string) (*Plant, error) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return Read(file)
}

// TestRead reads a file of everything.
func TestRead(t *testing.T) {
	p, err := read(t, good)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.State) != 2 || p.Cells() != 28 || p.Inputs[0] != 1 || p.Inputs[1] != 0 || !p.Fresh || p.Steps != 20 || len(p.Start) != 3 || len(p.Goal) != 1 {
		t.Errorf("%+v", p)
	}
	v := p.Next[1] // v/2 - x/2 + clip(u) + w
	want := map[int]string{0: "-1/2", 1: "1/2", 2: "1", 3: "1"}
	for _, term := range v.Terms {
		k := term.Of.Variable
		if term.Of.Of != nil {
			k = term.Of.Of.Terms[0].Of.Variable
			if term.Of.Hi.Exact.RatString() != "1/3" || term.Of.Hi.Lo >= term.Of.Hi.Hi {
				t.Errorf("the clip ends at %v", term.Of.Hi)
			}
		}
		if term.By.Exact.RatString() != want[k] {
			t.Errorf("variable %d is multiplied by %v", k, term.By.Exact)
		}
	}
	if low := p.Safe[0]; low.Constant.Exact.RatString() != "3/2" || len(low.Terms) != 2 {
		t.Errorf("safe is %v", low)
	}
}

// TestEdges: edges ascend, have few bits, and none is beyond the range; the outermost are within a 4096th of a cell of it.
func TestEdges(t *testing.T) {
	for _, of := range [][3]string{{"-1", "1", "4"}, {"-0.3", "2", "7"}, {"0.1", "0.2", "3"}, {"-1/3", "1e6", "1000"}, {"1000000", "1000001", "64"}} {
		lo, hi := new(big.Rat), new(big.Rat)
		lo.SetString(of[0])
		hi.SetString(of[1])
		a, _ := number(lo)
		b, _ := number(hi)
		n := int(of[2][0] - '0')
		if len(of[2]) > 1 {
			n = map[string]int{"1000": 1000, "64": 64}[of[2]]
		}
		edges, ok := edgesOf([2]Number{a, b}, n)
		if !ok || len(edges) != n+1 {
			t.Fatalf("%v: no edges", of)
		}
		most := new(big.Rat).Quo(new(big.Rat).Sub(hi, lo), big.NewRat(int64(n)*4096, 1))
		for k, end := range map[int]*big.Rat{0: lo, n: hi} {
			far := new(big.Rat).Sub(new(big.Rat).SetFloat64(edges[k]), end)
			if k == n {
				far.Neg(far)
			}
			if far.Sign() < 0 || far.Cmp(most) > 0 {
				t.Errorf("%v: edge %d is %v", of, k, edges[k])
			}
		}
		for k := range n {
			if !(edges[k] < edges[k+1]) {
				t.Errorf("%v: edges %v, %v", of, edges[k], edges[k+1])
			}
		}
	}
	if _, ok := edgesOf([2]Number{{Exact: big.NewRat(1, 1)}, {Exact: big.NewRat(1, 1)}}, 4); ok {
		t.Error("an empty range has edges")
	}
}

// TestNames: cells are found by their names, and by no others.
func TestNames(t *testing.T) {
	p, err := read(t, good)
	if err != nil {
		t.Fatal(err)
	}
	at := make([]int, 2)
	for number := range p.Cells() {
		p.Cell(number, at)
		for _, behind := range []string{"", " ring 3"} {
			if got, ok := p.CellOf(CellName(at) + behind); !ok || got != number || p.Number(at) != number {
				t.Errorf("cell %d at %v is %d", number, at, got)
			}
		}
	}
	for _, name := range []string{"", "cell", "cell 1", "cell 1,2,3", "cell 4,0", "cell 0,7", "cell -1,0", "cell 0,x", "0,0"} {
		if _, ok := p.CellOf(name); ok {
			t.Errorf("%q is a cell", name)
		}
	}
}

// TestRefused: what is no plant is refused in a line that names the file, the line in it, and what is wrong.
func TestRefused(t *testing.T) {
	for _, c := range [][3]string{
		{"steps: 20\n", "", "steps is missing"},
		{"semantics: each-step", "semantics: once", "steps are for each-step"},
		{"semantics: each-step", "semantics: always", "none of once, each-step"},
		{"steps: 20", "steps: 0", "no whole number"},
		{"0.1*v", "0.1*q", `speaks of "q"`},
		{"0.1*v", "x*v", "product or quotient of two variables"},
		{"0.1*v", "1/v", "product or quotient of two variables"},
		{"0.1*v", "v/0", "divides by zero"},
		{"0.1*v", "(v", "ends where )"},
		{"0.1*v", "v v", "an operator"},
		{"0.1*v", "1e999*v", "exponent beyond 400"},
		{"0.1*v", "1e399*v", "beyond the range"},
		{"0.1*v", "sin(v, x)", "sin of 2 arguments"},
		{"0.1*v", strings.Repeat("(", 60) + "v", "nests deeper"},
		{"0.1*v", strings.Repeat("-", 60) + "v", "nests deeper"},
		{"clip(u, -1, 1/3)", "clip(u, 1, -1)", "clip that is none"},
		{"  x: x + 0.1*v\n", "", "next has no x"},
		{"inputs: [v, x]", "inputs: [v, y]", "no coordinate"},
		{"outputs: [u]", "outputs: [x]", "given twice"},
		{"noise: {w", "noise: {clip", "is a function"},
		{"[-0.1, 0.2]", "[0.2, -0.1]", "is empty"},
		{"cells: 4", "cells: 4.5", "no whole number"},
		{"cells: 4", "cells: 100001", "no whole number from 1 to 100000"},
		{"cells: 7", "cells: 3000000000", "no whole number"},
		{"cells: 4", "size: 4", `no key "size"`},
		{"v <= 1]", "v < 1]", "sets are closed"},
		{"v <= 1]", "v]", "no constraint"},
		{"goal:", "gaol:", "goal"},
		{"safe: [x + v >= -1.5]", "safe: []", "at least one entry"},
		{"-0.5 <= x <= 0.5", "0.5 <= x <= -0.5", "start: no state is in it, by its constraints of x"},
		{"v <= 1]", "v <= 1, 2*v >= 2.1]", "start: no state is in it, by its constraints of v"},
		{"safe: [x + v >= -1.5]\n", "", "safe is missing"},
		{"steps: 20", "steps: 20\nsteps: 21", "is given twice"},
		{"[-1, 1]", "&a [-1, 1]", "are not read"},
		{"[-1, 1]", "[1, 1]", "too narrow"},
		{"steps: 20", "steps: 20\n---\nstate: x", "more than one document"},
	} {
		if !strings.Contains(good, c[0]) {
			t.Fatalf("%q is not there", c[0])
		}
		_, err := read(t, strings.Replace(good, c[0], c[1], 1))
		if err == nil || !strings.Contains(err.Error(), c[2]) || !strings.Contains(err.Error(), "p.yaml: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q for %q: %v", c[1], c[0], err)
		}
	}
}

// FuzzForm: no text makes the parser panic, and what it reads has numbers.
func FuzzForm(f *testing.F) {
	for _, text := range []string{"x + 0.1*v", "2*(v - x)/4 + clip(u, -1, 1/3) + w", "sin(-x)", "1e3", "--x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		form, err := parseForm(text, []string{"x", "v", "u", "w"})
		if err == nil && form.Constant.Exact == nil {
			t.Error("no constant")
		}
	})
}
