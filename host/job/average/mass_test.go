package average

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	checked "psafe/host/check/average"
	"psafe/host/read/inputlaw"
	"psafe/host/read/property"
	"psafe/internal/testkit/oracle"
)

// massOf is what psafe check says of the mass of cells.
func massOf(t *testing.T, l *inputlaw.Law, boxes ...property.Box) *big.Rat {
	t.Helper()
	var cells []checked.Cell
	for _, b := range boxes {
		cells = append(cells, checked.Cell{Box: b, Safe: new(big.Rat), Fails: new(big.Rat)})
	}
	b, err := checked.Of(l, cells)
	if err != nil {
		t.Fatal(err)
	}
	return b.Mass
}

// TestMasses: what certifies bounds the mass of a side no higher than what checks, and that is no more than it is, by 400 bits: masses
// that are rounded to nearest are caught.
func TestMasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 1))
	for range oracle.Cases(t, 4000) {
		mean, sd := float64(rng.NormFloat64()*2), math.Exp(rng.NormFloat64())
		from := float64(rng.NormFloat64() * 3)
		to := from + math.Exp(rng.NormFloat64())
		lo := float64(rng.NormFloat64() * 3)
		hi := lo + math.Exp(rng.NormFloat64()*2)
		if rng.IntN(3) == 0 { // shared ends
			lo = from
		}
		kind := []inputlaw.Kind{inputlaw.Normal, inputlaw.Uniform, inputlaw.Truncated}[rng.IntN(3)]
		text := map[inputlaw.Kind]string{
			inputlaw.Normal: fmt.Sprintf("normal:%v,%v", mean, sd), inputlaw.Uniform: fmt.Sprintf("uniform:%v,%v", from, to),
			inputlaw.Truncated: fmt.Sprintf("truncated:%v,%v,%v,%v", mean, sd, from, to),
		}[kind]
		l, err := inputlaw.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		a, b := max(lo, from), min(hi, to)
		truth := oracle.New()
		switch {
		case kind == inputlaw.Normal:
			truth = oracle.Interval(lo, hi, mean, sd)
		case a >= b:
		case kind == inputlaw.Uniform:
			truth.Sub(oracle.Of(b), oracle.Of(a)).Quo(truth, oracle.New().Sub(oracle.Of(to), oracle.Of(from)))
		default:
			truth.Quo(oracle.Interval(a, b, mean, sd), oracle.Interval(from, to, mean, sd))
		}
		box := property.Box{Lo: []float64{lo}, Hi: []float64{hi}}
		of := massOf(t, l, box)
		if of.Cmp(new(big.Rat)) < 0 || oracle.New().SetRat(of).Cmp(oracle.Widen(truth, 1)) > 0 {
			t.Fatalf("%s on [%v, %v]: psafe check has %s, it is %v", text, lo, hi, of.FloatString(20), truth)
		}
		down := massDown(l, &box, box.Hi)
		if of.Cmp(new(big.Rat).SetFloat64(down)) < 0 || down < 0 {
			t.Fatalf("%s on [%v, %v]: %v is above %s of psafe check", text, lo, hi, down, of.FloatString(20))
		}
		far := kind == inputlaw.Truncated && ((from-mean)/sd > 8 || (to-mean)/sd < -8)
		if f, _ := truth.Float64(); !far && f > 1e-3 && down < f*(1-1e-7) {
			t.Fatalf("%s on [%v, %v]: %v is loose, it is %v", text, lo, hi, down, f)
		}
	}
}

// TestWide: where mean and deviation are known up to intervals, the mass is no more than it is for any of them.
func TestWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 5))
	for range oracle.Cases(t, 100) {
		s := inputlaw.Side{Kind: inputlaw.Normal, Mean: property.Decimal{Lo: -0.5, Hi: 0.25}, SD: property.Decimal{Lo: 0.5, Hi: 2}}
		lo := rng.NormFloat64() * 2
		box := property.Box{Lo: []float64{lo}, Hi: []float64{lo + math.Exp(rng.NormFloat64())}}
		l := &inputlaw.Law{Sides: []inputlaw.Side{s}}
		of, down := massOf(t, l, box), massDown(l, &box, box.Hi)
		for _, mean := range []float64{s.Mean.Lo, 0, s.Mean.Hi} {
			for _, sd := range []float64{s.SD.Lo, 1, s.SD.Hi} {
				truth := oracle.Widen(oracle.Interval(box.Lo[0], box.Hi[0], mean, sd), 1)
				if oracle.New().SetRat(of).Cmp(truth) > 0 || oracle.Of(down).Cmp(truth) > 0 {
					t.Fatalf("%v with mean %v, deviation %v: %v and %v, it is %v", box, mean, sd, of, down, truth)
				}
			}
		}
	}
}

// TestMeet: psafe check refuses cells of which an input is in two.
func TestMeet(t *testing.T) {
	l, err := inputlaw.Read("uniform:0,4;uniform:0,4")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		boxes [][4]float64
		meet  bool
	}{
		{[][4]float64{{0, 2, 0, 4}, {2, 4, 0, 4}}, false}, {[][4]float64{{0, 2, 0, 4}, {0, 2, 0, 4}}, true}, {[][4]float64{{0, 2, 0, 2}, {2, 4, 0, 4}, {0, 2, 2, 4}}, false},
		{[][4]float64{{0, 2, 0, 3}, {2, 4, 0, 4}, {0, 2, 2, 4}}, true}, {[][4]float64{{0, 3, 0, 4}, {2, 4, 3, 4}}, true}, {[][4]float64{{0, 4, 0, 4}, {1, 2, 1, 2}}, true},
		{[][4]float64{{0, 4, 0, 4}, {4, 4, 4, 4}}, true}, {[][4]float64{{0, 2, 0, 4}, {2, 2, 0, 4}, {3, 4, 0, 4}}, false}, {[][4]float64{{2, 4, 0, 4}, {2, 2, 0, 4}}, true},
	} {
		var cells []checked.Cell
		for _, b := range c.boxes {
			cells = append(cells, checked.Cell{Box: property.Box{Lo: []float64{b[0], b[2]}, Hi: []float64{b[1], b[3]}}, Safe: new(big.Rat), Fails: new(big.Rat)})
		}
		if _, err := checked.Of(l, cells); (err != nil) != c.meet {
			t.Errorf("%v: %v", c.boxes, err)
		}
	}
}

// TestMeetRow: of cells in a row along the last input each is compared with its neighbours alone: with all others it would take minutes.
func TestMeetRow(t *testing.T) {
	l, err := inputlaw.Read("atoms:0=1;atoms:7=1")
	if err != nil {
		t.Fatal(err)
	}
	boxes := make([]property.Box, 1<<16)
	for i := range boxes {
		boxes[i] = property.Box{Lo: []float64{0, float64(i)}, Hi: []float64{1, float64(i + 1)}}
	}
	if mass := massOf(t, l, boxes...); mass.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("mass %v", mass)
	}
}

// TestAtomsOnce: an atom on the edge of cells is in one of them, in that at the end of all or in the upper one.
func TestAtomsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 2))
	for range oracle.Cases(t, 2000) {
		var words []string
		inside := new(big.Rat)
		for range 1 + rng.IntN(6) {
			x := float64(rng.IntN(13)-6) / 4
			words = append(words, fmt.Sprintf("%v=0.125", x))
			if x >= -1 && x <= 1 {
				inside.Add(inside, big.NewRat(1, 8))
			}
		}
		l, err := inputlaw.Read("atoms:" + strings.Join(words, ","))
		if err != nil {
			t.Fatal(err)
		}
		var boxes []property.Box
		sum := new(big.Rat)
		for lo := -1.0; lo < 1; {
			hi := min(lo+float64(1+rng.IntN(4))/4, 1)
			b := property.Box{Lo: []float64{lo}, Hi: []float64{hi}}
			boxes, lo = append(boxes, b), hi
			sum.Add(sum, new(big.Rat).SetFloat64(massDown(l, &b, []float64{1})))
		}
		if sum.Cmp(inside) != 0 || massOf(t, l, boxes...).Cmp(inside) != 0 {
			t.Fatalf("%v on %v: masses are %v and %v, atoms in there have %v", words, boxes, sum, massOf(t, l, boxes...), inside)
		}
	}
}

// TestHoeffding: what the job keeps off is what psafe check finds enough, and little more.
func TestHoeffding(t *testing.T) {
	for _, n := range []int{1, 7, 1000, 1 << 17} {
		for text, confidence := range map[string]float64{"0.9": 0.9, "0.99": 0.99, "0.999999": 0.999999} {
			exact, _ := new(big.Rat).SetString(text)
			off := hoeffding(n, confidence)
			if !checked.Hoeffding(n, new(big.Rat).SetFloat64(off), exact) || checked.Hoeffding(n, new(big.Rat).SetFloat64(off*(1-1e-9)), exact) {
				t.Errorf("%d points, confidence %s: %v", n, text, off)
			}
		}
	}
}
