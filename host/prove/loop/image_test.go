package loop

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"psafe/host/arith"
	"psafe/host/read/plant"
	"psafe/internal/testscale"
)

// TestCover: the cells of a stretch hold all of an interval, ends on edges and one ulp beyond too, and no cell could be
// left out of either end.
func TestCover(t *testing.T) {
	edges := []float64{-1, -0.5, 0.25, 1, 2}
	var ends []float64
	for _, e := range edges {
		ends = append(ends, arith.Down(e), e, arith.Up(e))
	}
	for i, lo := range ends {
		for _, hi := range ends[i:] {
			first, last, ok := cover(edges, arith.Of(lo, hi))
			if want := lo >= -1 && hi <= 2; ok != want {
				t.Errorf("[%v, %v]: inside is %v", lo, hi, ok)
			} else if !ok {
				continue
			}
			if edges[first] > lo || edges[last+1] < hi || first > last {
				t.Errorf("[%v, %v] is not within cells %d to %d", lo, hi, first, last)
			}
			if first < last && (edges[first+1] <= lo || edges[last] >= hi) {
				t.Errorf("[%v, %v]: cells %d to %d are too many", lo, hi, first, last)
			}
		}
	}
	for _, v := range []arith.Interval{arith.Of(math.NaN(), 0), arith.Of(0, math.NaN()), arith.Of(1, 0), arith.Of(math.Inf(-1), 0), arith.Of(0, math.Inf(1))} {
		if _, _, ok := cover(edges, v); ok {
			t.Errorf("%v is inside", v)
		}
	}
}

// TestEach: the cells of an image are all those between its ends, along one, two and three coordinates, each once.
func TestEach(t *testing.T) {
	for _, cells := range [][]int{{5}, {3, 4}, {4, 2, 3}} {
		l := &Loop{Plant: &plant.Plant{}}
		for _, n := range cells {
			l.State = append(l.State, plant.Coordinate{Edges: make([]float64, n+1)})
		}
		at := make([]int, len(cells))
		for a := range l.Cells() {
			for b := range l.Cells() {
				m := Image{make([]int, len(cells)), make([]int, len(cells))}
				l.Cell(a, m.First)
				l.Cell(b, m.Last)
				want, is := map[int]bool{}, true
				for c := range l.Cells() {
					l.Cell(c, at)
					inside := true
					for i := range at {
						is = is && m.First[i] <= m.Last[i]
						inside = inside && m.First[i] <= at[i] && at[i] <= m.Last[i]
					}
					if inside {
						want[c] = true
					}
				}
				met := 0
				if !is {
					continue
				}
				if !l.each(m, func(c int) bool { met++; return want[c] }) || met != len(want) {
					t.Errorf("%v: from %v to %v: %d cells, there are %d, or others", cells, m.First, m.Last, met, len(want))
				}
			}
		}
	}
}

// forms reads a plant with these forms as next states of x, z and w, and outputs y.
func forms(t testing.TB, texts [3]string) []*plant.Form {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plant.yaml")
	text := `state: {x: {range: [-1, 1], cells: 2}, z: {range: [-1, 1], cells: 2}, w: {range: [-1, 1], cells: 2}}
network: {inputs: [x], outputs: [y]}
next: {x: "` + texts[0] + `", z: "` + texts[1] + `", w: "` + texts[2] + `"}
start: [x <= 1]
safe: [x <= 1]
semantics: once
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := plant.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return p.Next
}

// exactly is the value of a form at a point, exact but for sines.
func exactly(f *plant.Form, x []*big.Rat) *big.Rat {
	sum := new(big.Rat).Set(f.Constant.Exact)
	for _, term := range f.Terms {
		var v *big.Rat
		switch a := term.Of; {
		case a.Of == nil:
			v = x[a.Variable]
		case a.Sine:
			f, _ := exactly(a.Of, x).Float64()
			v = rat(math.Sin(f))
		default:
			if v = exactly(a.Of, x); v.Cmp(a.Lo.Exact) < 0 {
				v = a.Lo.Exact
			} else if v.Cmp(a.Hi.Exact) > 0 {
				v = a.Hi.Exact
			}
		}
		sum.Add(sum, new(big.Rat).Mul(term.By.Exact, v))
	}
	return sum
}

// TestValues: values of forms at random points of boxes are within what is said of the boxes; the points are often corners,
// the boxes often single points. Sines have an error of 1e-12 there, all else has none.
func TestValues(t *testing.T) {
	all := forms(t, [3]string{"0.1*x - 1/3*(2*y - z) + 0.7", "-x/7 + 3*clip(0.3*x - y + 0.01*z, -0.4, 1/3) - clip(y, 0.1, 0.1)", "0.9*w + sin(3*x - 1/7*y) - 0.2*sin(z)"})
	r := rand.New(rand.NewPCG(3, 0))
	for range testscale.Cases(t, 20000) {
		box, point := make([]arith.Interval, 4), make([]*big.Rat, 4)
		for i := range box {
			a, b := r.Float64()*2-1, r.Float64()*2-1
			switch r.IntN(3) {
			case 0:
				b = a
			case 1:
				b = a + b/64
			}
			box[i] = arith.Of(min(a, b), max(a, b))
			switch r.IntN(3) {
			case 0:
				a = b
			case 1:
				a = arith.Middle(box[i].Lo, box[i].Hi)
			}
			point[i] = rat(a)
		}
		for i, f := range all {
			v, x := valueOf(f, box), exactly(f, point)
			slack := new(big.Rat)
			if i == 2 {
				slack = rat(1e-12)
			}
			if new(big.Rat).Add(x, slack).Cmp(rat(v.Lo)) < 0 || new(big.Rat).Sub(x, slack).Cmp(rat(v.Hi)) > 0 {
				f, _ := x.Float64()
				t.Fatalf("form %d: %v is not within %v, at %v of %v", i, f, v, point, box)
			}
		}
	}
}

// TestSine: sines of points are enclosed, by Taylor's series in exact arithmetic.
func TestSine(t *testing.T) {
	for x := -8.0; x <= 8; x += 0.37 {
		term, sum := rat(x), rat(x)
		square := new(big.Rat).Mul(rat(x), rat(x))
		for k := int64(3); k < 80; k += 2 { // the rest is below 1e-40
			term = new(big.Rat).Mul(term, square)
			term.Quo(term, big.NewRat(-k*(k-1), 1))
			sum.Add(sum, term)
		}
		v := sineAt(x)
		if sum.Cmp(rat(v.Lo)) < 0 || sum.Cmp(rat(v.Hi)) > 0 || v.Radius() > 1e-11 {
			f, _ := sum.Float64()
			t.Errorf("sin %v = %v is not within %v, or that is wide", x, f, v)
		}
	}
	if v := sine(arith.Of(1, 2.5)); v.Hi < 1 || v.Lo > 0.598 { // pi/2 is between
		t.Errorf("sines from 1 to 2.5 are within %v", v)
	}
	if v := sineAt(9); v != arith.Of(-1, 1) {
		t.Errorf("sin 9 is within %v", v)
	}
}
