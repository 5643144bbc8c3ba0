package loop

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"psafe/host/arith"
	check "psafe/host/check/loop"
	"psafe/host/read/plant"
	"psafe/internal/testscale"
)

// line is a one-dimensional plant x' = c x + d clip(y, -h, h) + v whose network is one of several functions
// y = a_i + b_i x, all equally likely; all numbers are few sixteenths.
type line struct {
	c, d, h, noise, lo, hi, startLo, startHi *big.Rat
	goal                                     *big.Rat // reached from here on, nil for none
	beyond                                   *big.Rat // how far the grid goes beyond the safe set
	a, b                                     []*big.Rat
	cells, steps                             int
}

func sixteenths(r *rand.Rand, most int) *big.Rat {
	return big.NewRat(r.Int64N(int64(2*most+1))-int64(most), 16)
}

func drawLine(r *rand.Rand) *line {
	l := &line{
		c: sixteenths(r, 20), d: sixteenths(r, 16), h: big.NewRat(r.Int64N(16)+1, 8), noise: big.NewRat(r.Int64N(3), 32),
		lo: big.NewRat(-1, 1), hi: big.NewRat(1, 1), cells: 1 << (1 + r.IntN(5)), steps: 1 + r.IntN(4), beyond: new(big.Rat),
	}
	if r.IntN(2) == 0 { // of which more is proved
		l.c, l.d = sixteenths(r, 8), sixteenths(r, 6)
	}
	l.startLo = big.NewRat(r.Int64N(7)-4, 8)
	if r.IntN(20) == 0 {
		l.startLo = big.NewRat(-9, 8)
	}
	if r.IntN(2) == 0 {
		l.beyond = big.NewRat(1, 4)
	}
	l.startHi = new(big.Rat).Add(l.startLo, big.NewRat(r.Int64N(4), 8))
	if r.IntN(3) == 0 {
		l.goal = big.NewRat(r.Int64N(7), 8)
	}
	for range 2 + r.IntN(3) {
		l.a, l.b = append(l.a, sixteenths(r, 8)), append(l.b, sixteenths(r, 16))
	}
	return l
}

// read is the plant, by way of a file.
func (l *line) read(t testing.TB, semantics string) *Loop {
	text := fmt.Sprintf(`state: {x: {range: [%s, %s], cells: %d}}
network: {inputs: [x], outputs: [y]}
noise: {v: ["-%s", "%s"]}
next: {x: "%s*x + %s*clip(y, -%s, %s) + v"}
start: ["%s <= x <= %s"]
safe: ["%s <= x <= %s"]
semantics: %s
`, new(big.Rat).Sub(l.lo, l.beyond).RatString(), new(big.Rat).Add(l.hi, l.beyond).RatString(), l.cells, l.noise.RatString(), l.noise.RatString(), l.c.RatString(), l.d.RatString(), l.h.RatString(), l.h.RatString(),
		l.startLo.RatString(), l.startHi.RatString(), l.lo.RatString(), l.hi.RatString(), semantics)
	if l.goal != nil {
		text += fmt.Sprintf("goal: [\"x >= %s\"]\n", l.goal.RatString())
	}
	file := filepath.Join(t.TempDir(), "plant.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := plant.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return New(p)
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// next is the next state without noise.
func (l *line) next(i int, x *big.Rat) *big.Rat {
	y := new(big.Rat).Add(l.a[i], new(big.Rat).Mul(l.b[i], x))
	if minus := new(big.Rat).Neg(l.h); y.Cmp(minus) < 0 {
		y = minus
	} else if y.Cmp(l.h) > 0 {
		y = l.h
	}
	y = new(big.Rat).Mul(l.d, y)
	return y.Add(y, new(big.Rat).Mul(l.c, x))
}

// image is the exact set of next states of an interval, with noise: the map is linear between its ends and kinks.
func (l *line) image(i int, lo, hi *big.Rat) (first, last *big.Rat) {
	points := []*big.Rat{lo, hi}
	if l.b[i].Sign() != 0 {
		for _, h := range []*big.Rat{l.h, new(big.Rat).Neg(l.h)} {
			x := new(big.Rat).Sub(h, l.a[i])
			if x.Quo(x, l.b[i]); x.Cmp(lo) > 0 && x.Cmp(hi) < 0 {
				points = append(points, x)
			}
		}
	}
	for _, x := range points {
		y := l.next(i, x)
		if first == nil || y.Cmp(first) < 0 {
			first = y
		}
		if last == nil || y.Cmp(last) > 0 {
			last = y
		}
	}
	return new(big.Rat).Sub(first, l.noise), new(big.Rat).Add(last, l.noise)
}

// rings asks for boxes of outputs at random around what a cell has, with the exact shares of functions that keep to them.
func (l *line) rings(r *rand.Rand, lo, hi float64, count int) (rings []Ring) {
	for j := range count {
		i, k := r.IntN(len(l.a)), r.IntN(len(l.a))
		y := func(i int, x float64) float64 {
			f, _ := new(big.Rat).Add(l.a[i], new(big.Rat).Mul(l.b[i], rat(x))).Float64()
			return f
		}
		out := arith.Of(min(y(i, lo), y(i, hi), y(k, lo), y(k, hi)), max(y(i, lo), y(i, hi), y(k, lo), y(k, hi)))
		if r.IntN(2) == 0 {
			out = arith.Of(out.Lo-float64(j)/16, out.Hi+float64(j)/16)
		}
		kept := 0
		for i := range l.a {
			if min(y(i, lo), y(i, hi)) >= out.Lo && max(y(i, lo), y(i, hi)) <= out.Hi {
				kept++
			}
		}
		p := float64(kept) / float64(len(l.a))
		if rat(p).Cmp(big.NewRat(int64(kept), int64(len(l.a)))) > 0 {
			p = arith.Down(p)
		}
		rings = append(rings, Ring{[]arith.Interval{out}, p})
	}
	return rings
}

func (l *line) cellsOf(r *rand.Rand, of *Loop, rings int) (cells []Cell) {
	for c := range of.Cells() {
		e := of.State[0].Edges
		cells = append(cells, Cell{c, l.rings(r, e[c], e[c+1], rings)})
	}
	return cells
}

// again is what the checker proves of the same cells: at least lower, or it would refuse what is true.
func (l *line) again(t *testing.T, of *Loop, cells []Cell, lower float64) (*big.Rat, int) {
	rings := map[int][]check.Ring{}
	for _, c := range cells {
		for _, r := range c.Rings {
			rings[c.Number] = append(rings[c.Number], check.Ring{Lo: []*big.Rat{rat(r.Out[0].Lo)}, Hi: []*big.Rat{rat(r.Out[0].Hi)}, P: rat(r.P)})
		}
	}
	checked, steps, err := check.Lower(of.Plant, rings)
	if err != nil {
		checked = new(big.Rat)
	}
	if lower > 0 && checked.Cmp(rat(lower)) < 0 {
		t.Errorf("%v is proved, the checker proves %v (%v): %+v", lower, checked, err, l)
	}
	return checked, steps
}

// violates reports whether a trajectory of function i surely does what was to be proved not to be: it leaves the safe set, or
// is never in the goal, for 40 steps. The set of all states that trajectories may have been in is followed exactly.
func (l *line) violates(i int) bool {
	lo, hi := l.startLo, l.startHi
	for range 40 {
		if lo.Cmp(l.lo) < 0 || hi.Cmp(l.hi) > 0 {
			return true
		}
		if l.goal != nil {
			if lo.Cmp(l.goal) >= 0 {
				return false // all have been there
			}
			if hi.Cmp(l.goal) >= 0 { // those that have not
				hi = l.goal // from below, as near as is wanted; the map is continuous
			}
		}
		lo, hi = l.image(i, lo, hi)
	}
	return l.goal != nil
}

// TestOnce compares with exact trajectories of every function: what is proved is at most the share of those that keep.
func TestOnce(t *testing.T) {
	proved := 0
	for seed := range uint64(testscale.Cases(t, 1000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := drawLine(r)
		of := l.read(t, plant.Once)
		cells := l.cellsOf(r, of, 1)
		got := of.Once(cells)
		kept := int64(0)
		for i := range l.a {
			if !l.violates(i) {
				kept++
			}
		}
		share := big.NewRat(kept, int64(len(l.a)))
		if rat(got.Lower).Cmp(share) > 0 {
			t.Errorf("case %d: %v proved, %d of %d functions keep to it: %+v", seed, got.Lower, kept, len(l.a), l)
		}
		checked, steps := l.again(t, of, cells, got.Lower)
		if checked.Cmp(share) > 0 {
			t.Errorf("case %d: %v proved by the checker, %d of %d functions keep to it: %+v", seed, checked, kept, len(l.a), l)
		}
		if got.Lower > 0 && steps > slices.Max(got.Ranks) {
			t.Errorf("case %d: %d steps by the checker, %d proved", seed, steps, slices.Max(got.Ranks))
		}
		if got.Lower > 0 {
			proved++
		}
	}
	t.Logf("%d cases prove something", proved)
	if all := testscale.Cases(t, 1000); all >= 100 && proved*20 < all {
		t.Errorf("only %d cases prove anything", proved)
	}
}

// TestUnion: of four functions the first leaves the grid from the cell on the left alone, the second from that on the right.
func TestUnion(t *testing.T) {
	l := &line{
		c: new(big.Rat), d: big.NewRat(1, 1), h: big.NewRat(4, 1), noise: new(big.Rat), lo: big.NewRat(-1, 1), hi: big.NewRat(1, 1),
		startLo: big.NewRat(-1, 1), startHi: big.NewRat(1, 1), beyond: new(big.Rat), cells: 2,
	}
	all := []arith.Interval{arith.Of(-1, 1)}
	if got := l.read(t, plant.Once).Once([]Cell{{0, []Ring{{all, 0.75}}}, {1, []Ring{{all, 0.75}}}}); got.Lower != 0.5 {
		t.Errorf("%v proved, it is 0.5", got.Lower)
	}
}

// TestSecond: of two coordinates the second leaves the grid, and the first stays where it is: nothing is proved of that,
// nor by the checker.
func TestSecond(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plant.yaml")
	text := `state: {x: {range: [0, 4], cells: 4}, y: {range: [0, 4], cells: 4}}
network: {inputs: [x, y], outputs: [u]}
next: {x: x, y: y + u}
start: [0 <= x <= 4, 0 <= y <= 4]
safe: [x <= 4]
semantics: once
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := plant.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var cells []Cell
	rings := map[int][]check.Ring{}
	for c := range p.Cells() {
		cells = append(cells, Cell{c, []Ring{{[]arith.Interval{arith.Exactly(2)}, 1}}})
		rings[c] = []check.Ring{{Lo: []*big.Rat{rat(2)}, Hi: []*big.Rat{rat(2)}, P: rat(1)}}
	}
	if got := New(p).Once(cells); got.Lower != 0 {
		t.Errorf("%v is proved", got.Lower)
	}
	if lower, _, err := check.Lower(p, rings); err == nil {
		t.Errorf("the checker proves %v", lower)
	}
}

// TestRoundedEdge: an image that ends beyond an edge by less than float64 can say is in the next cell too, of which nothing is
// known: neither semantics proves anything.
func TestRoundedEdge(t *testing.T) {
	grids := []string{"[0, 2], cells: 2", "[0, 1], cells: 1"} // the edge is between cells, or the last
	for i, semantics := range []string{plant.Once, plant.Once, plant.EachStep + "\nsteps: 2", plant.EachStep + "\nsteps: 2"} {
		for end, want := range map[string]float64{"1": 1, "1000000000000000000000001/1000000000000000000000000": 0} {
			file := filepath.Join(t.TempDir(), "plant.yaml")
			text := "state: {x: {range: " + grids[i%2] + "}}\nnetwork: {inputs: [x], outputs: [u]}\nnext: {x: " + end + "*x}\nstart: [0 <= x <= 0.5]\nsafe: [x <= 2]\nsemantics: " + semantics + "\n"
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			p, err := plant.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			l, cells := New(p), []Cell{{0, []Ring{{[]arith.Interval{arith.Exactly(0)}, 1}}}}
			got := l.Once(cells)
			if l.Fresh {
				got = l.EachStep(cells)
			}
			checked, _, err := check.Lower(p, map[int][]check.Ring{0: {{Lo: []*big.Rat{rat(0)}, Hi: []*big.Rat{rat(0)}, P: rat(1)}}})
			if err != nil {
				checked = new(big.Rat)
			}
			if got.Lower != want || checked.Cmp(rat(want)) != 0 {
				t.Errorf("%s, x' = %s x: %v is proved, by the checker %v", semantics, end, got.Lower, checked)
			}
		}
	}
}

// TestNoStart: where no cell has a start nothing is proved, and psafe check says the same.
func TestNoStart(t *testing.T) {
	l := drawLine(rand.New(rand.NewPCG(1, 1)))
	l.startLo, l.startHi = big.NewRat(-1, 2), big.NewRat(1, 2)
	for _, semantics := range []string{plant.Once, plant.EachStep + "\nsteps: 1"} {
		of := l.read(t, semantics)
		of.Start = append(of.Start, &plant.Form{Constant: plant.Number{Exact: big.NewRat(-1, 1), Lo: -1, Hi: -1}})
		of = New(of.Plant)
		got := of.Once(nil)
		if of.Fresh {
			got = of.EachStep(nil)
		}
		if got.Lower != 0 || got.Why == "" {
			t.Errorf("%s: %+v", semantics, got)
		}
		if lower, _, err := check.Lower(of.Plant, nil); err == nil {
			t.Errorf("%s: the checker proves %v", semantics, lower)
		}
	}
}

// TestRings: values by rings whose images are not nested, and of which the probabilities are no multiples of each other.
func TestRings(t *testing.T) {
	l := &line{
		c: new(big.Rat), d: big.NewRat(1, 1), h: big.NewRat(4, 1), noise: new(big.Rat), lo: big.NewRat(-1, 1), hi: big.NewRat(1, 1),
		startLo: big.NewRat(-1, 1), startHi: big.NewRat(1, 1), beyond: new(big.Rat), cells: 8,
	}
	of := l.read(t, plant.EachStep+"\nsteps: 1")
	ring := func(lo, hi, p float64) Ring { return Ring{[]arith.Interval{arith.Of(lo, hi)}, p} }
	steps := of.steps(&Cell{0, []Ring{ring(-0.5, 0, 0.5), ring(0, 0.5, 0.5), ring(-0.75, 0.75, 0.75), ring(-2, 2, 1)}})
	if len(steps) != 3 || steps[1].to.First[0] != 2 || steps[1].to.Last[0] != 5 {
		t.Fatalf("images are %v", steps)
	}
	// Outputs are in the first image, the rest of the second and of the third, and outside, with 1/4 each at least; then the
	// exact value may be as little as 1/2 + 1/4 * 1/2.
	now := []float64{0, 0.25, 0.5, 1, 1, 0.5, 0.25, 0}
	steps = of.steps(&Cell{0, []Ring{ring(-0.25, 0.25, 0.5), ring(-0.5, 0.5, 0.625), ring(-0.75, 0.75, 0.75)}})
	if v := of.value(steps, now); v != 0.5+0.125*0.5+0.125*0.25 {
		t.Errorf("the value is %v", v)
	}
}

// valueAt is at least the exact probability from x: of noise only the ends are looked at.
func (l *line) valueAt(x *big.Rat, steps int) *big.Rat {
	switch {
	case x.Cmp(l.lo) < 0 || x.Cmp(l.hi) > 0:
		return new(big.Rat)
	case l.goal != nil && x.Cmp(l.goal) >= 0:
		return big.NewRat(1, 1)
	case steps == 0:
		if l.goal != nil {
			return new(big.Rat)
		}
		return big.NewRat(1, 1)
	}
	sum := new(big.Rat)
	for i := range l.a {
		y := l.next(i, x)
		least := l.valueAt(new(big.Rat).Sub(y, l.noise), steps-1)
		if l.noise.Sign() > 0 {
			if other := l.valueAt(new(big.Rat).Add(y, l.noise), steps-1); other.Cmp(least) < 0 {
				least = other
			}
		}
		sum.Add(sum, least)
	}
	return sum.Quo(sum, big.NewRat(int64(len(l.a)), 1))
}

// TestEachStep compares with the exact probability at the ends of each cell, by all sequences of functions.
func TestEachStep(t *testing.T) {
	proved := 0
	for seed := range uint64(testscale.Cases(t, 1000)) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := drawLine(r)
		l.cells, l.steps = min(l.cells, 8), min(l.steps, 3)
		of := l.read(t, fmt.Sprintf("%s\nsteps: %d", plant.EachStep, l.steps))
		cells := l.cellsOf(r, of, 3)
		got := of.EachStep(cells)
		checked, _ := l.again(t, of, cells, got.Lower)
		for c, v := range got.Values {
			if check.Starts(of.Plant, c) != slices.Contains(of.Starts(), c) {
				t.Errorf("case %d: cell %d has a start by the checker: %v", seed, c, check.Starts(of.Plant, c))
			}
			for k := range 2 {
				if exact := l.valueAt(rat(of.State[0].Edges[c+k]), l.steps); rat(v).Cmp(exact) > 0 {
					t.Errorf("case %d: %v proved for cell %d, at its end %d it is %v: %+v", seed, v, c, k, exact, l)
				}
			}
		}
		for _, c := range of.Starts() {
			for k := range 2 {
				x := rat(of.State[0].Edges[c+k])
				if x.Cmp(l.startLo) >= 0 && x.Cmp(l.startHi) <= 0 && checked.Cmp(l.valueAt(x, l.steps)) > 0 {
					t.Errorf("case %d: %v proved by the checker, at %v it is %v: %+v", seed, checked, x, l.valueAt(x, l.steps), l)
				}
			}
			if got.Lower > got.Values[c] {
				t.Errorf("case %d: %v is above the value %v of a start", seed, got.Lower, got.Values[c])
			}
		}
		if got.Lower > 0 {
			proved++
		}
	}
	t.Logf("%d cases prove something", proved)
	if proved*20 < testscale.Cases(t, 1000) {
		t.Errorf("only %d cases prove anything", proved)
	}
}
