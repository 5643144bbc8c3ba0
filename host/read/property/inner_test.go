package property

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/internal/testscale"
)

// ratOf is the real number that decimal text, or a ratio, writes.
func ratOf(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

func ratMax(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// trueBall is the real interval around v, which may be empty.
func trueBall(v, eps *big.Rat, clip []string) (lo, hi *big.Rat) {
	lo, hi = new(big.Rat).Sub(v, eps), new(big.Rat).Add(v, eps)
	if clip != nil {
		lo = ratMax(lo, ratOf(clip[0]))
		hi.Neg(ratMax(hi.Neg(hi), new(big.Rat).Neg(ratOf(clip[1]))))
	}
	return lo, hi
}

// checkNested demands inner <= real <= outer in one coordinate, with no tolerance,
// and that neither is more than slack away.
func checkNested(t *testing.T, what string, outer, inner Box, j int, lo, hi *big.Rat, slack float64) {
	t.Helper()
	if exact(outer.Lo[j]).Cmp(lo) > 0 || exact(outer.Hi[j]).Cmp(hi) < 0 {
		t.Errorf("%s: outer [%v, %v] does not contain [%s, %s]", what, outer.Lo[j], outer.Hi[j], lo, hi)
	}
	a, b := inner.Lo[j], inner.Hi[j]
	if a <= b && (exact(a).Cmp(lo) < 0 || exact(b).Cmp(hi) > 0) {
		t.Errorf("%s: inner [%v, %v] is not in [%s, %s]", what, a, b, lo.FloatString(25), hi.FloatString(25))
	}
	for _, gap := range []*big.Rat{new(big.Rat).Sub(exact(a), lo), new(big.Rat).Sub(hi, exact(b)),
		new(big.Rat).Sub(lo, exact(outer.Lo[j])), new(big.Rat).Sub(exact(outer.Hi[j]), hi)} {
		if gap.Cmp(exact(slack)) > 0 {
			f, _ := gap.Float64()
			t.Errorf("%s: an end is %g from the real one", what, f)
		}
	}
}

// ballCase is a random ball: the point's own text, decimal or a byte over 255.
func ballCase(r *rand.Rand) (csv, eps string, scale string, clip []string) {
	csv = fmt.Sprintf("%.*f", r.IntN(6), 1.2*r.Float64()-0.1)
	eps = []string{"0", "0.1", "0.05", "1e-17", "1e-16", "0.3", "2", "1e-300"}[r.IntN(8)]
	if r.IntN(3) == 0 {
		csv, scale = fmt.Sprint(r.IntN(256)), "1/255"
	}
	if r.IntN(3) > 0 {
		clip = [][]string{{"0", "1"}, {"0.1", "0.7"}, {"0.2", "0.8"}, {"0.3", "0.3"}, {"-0.1", "1e3"}}[r.IntN(5)]
	}
	return csv, eps, scale, clip
}

func decimals(t *testing.T, texts ...string) (out []Decimal) {
	t.Helper()
	for _, text := range texts {
		d, err := NewDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// TestInnerBall holds inner and outer boxes of data files to the real ball.
func TestInnerBall(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 1))
	empty, unknown, accepted, cases := 0, 0, 0, testscale.Cases(t, 20000)
	for range cases {
		text, epsText, scale, clipText := ballCase(r)
		points, err := decodePoints(textSource(t, text+"\n"), "", InputOptions{}, nil)
		v := ratOf(text)
		if scale != "" {
			var byteValue byte
			_, _ = fmt.Sscan(text, &byteValue)
			points, err = (&array{shape: []int{1, 1}, bytes: []byte{byteValue}}).points(nil)
			v.Mul(v, ratOf(scale))
		}
		if err != nil {
			t.Fatal(err)
		}
		eps := decimals(t, epsText)[0]
		var clip *[2]Decimal
		if clipText != nil {
			clip = (*[2]Decimal)(decimals(t, clipText...))
		}
		what := fmt.Sprintf("%s%s eps %s clip %v", text, strings.TrimPrefix(scale, "1"), epsText, clipText)
		lo, hi := trueBall(v, ratOf(epsText), clipText)
		outer, err := points.Ball(0, eps, clip)
		inner := points.InnerBall(0, eps, clip)
		if err != nil {
			if lo.Cmp(hi) <= 0 || inner.Lo != nil {
				t.Errorf("%s: %v; inner %v", what, err, inner)
			}
			continue
		}
		accepted++
		if inner.Lo == nil {
			unknown++
			// Only where the intervals just touch.
			if wide, _ := new(big.Rat).Sub(hi, lo).Float64(); math.Abs(wide) > 1e-15 {
				t.Errorf("%s: a set of width %g is not known to have a point", what, wide)
			}
			continue
		}
		if lo.Cmp(hi) > 0 {
			t.Errorf("%s: an empty set is said to have a point", what)
		}
		if inner.Lo[0] > inner.Hi[0] {
			empty++
		}
		scaleOf := math.Abs(outer.Lo[0]) + math.Abs(outer.Hi[0]) + eps.Hi + 1
		checkNested(t, what, outer, inner, 0, lo, hi, 3*scaleOf*0x1p-52)
		task := Task{Label: -1, T: []Box{outer}, Inner: []Box{inner}, S: Safe{Any: [][]int{nil}}}
		if err := task.Check(1, 1); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		checkWitness(t, what, &task, anyFloat(r), lo, hi)
	}
	if empty < cases/30 || unknown < cases/300 || accepted < cases/2 {
		t.Errorf("%d empty and %d unknown of %d: the test misses its cases", empty, unknown, accepted)
	}
}

// checkWitness demands that the witness near x meets the real interval: a point in
// it, or an interval that contains it.
func checkWitness(t *testing.T, what string, task *Task, x float64, lo, hi *big.Rat) {
	t.Helper()
	for _, x := range []float64{x, task.T[0].Lo[0], task.T[0].Hi[0], math.NaN(), math.Inf(1), math.Inf(-1)} {
		w := task.Witness(0, []float64{x})
		a, b := exact(w.Lo[0]), exact(w.Hi[0])
		point := a.Cmp(b) == 0 && a.Cmp(lo) >= 0 && b.Cmp(hi) <= 0
		whole := a.Cmp(lo) <= 0 && b.Cmp(hi) >= 0
		if !point && !whole {
			t.Errorf("%s: witness [%v, %v] near %v", what, w.Lo[0], w.Hi[0], x)
		}
		if in := task.Inner[0]; in.Lo[0] <= x && x <= in.Hi[0] && w.Lo[0] != x {
			t.Errorf("%s: %v is inside, and the witness is at %v", what, x, w.Lo[0])
		}
	}
}

// TestInnerOfFile holds both boxes of a property file to the text.
func TestInnerOfFile(t *testing.T) {
	pairs := [][2]string{{"0.1", "0.3"}, {"0.3", "0.3"}, {"-0.7", "-0.1"}, {"0", "0"}, {"0.25", "0.25"}, {"1e-400", "1e-399"},
		{"0.1", "0.1000000000000000000001"}, {"-1e300", "1e300"}}
	var texts []string
	for _, p := range pairs {
		texts = append(texts, "["+p[0]+", "+p[1]+"]")
	}
	tasks, err := parseTasks([]byte(one(`"kind": "argmax_is", "class": 0, "boxes": [[`+strings.Join(texts, ", ")+`]]`)), 2)
	if err != nil {
		t.Fatal(err)
	}
	task := tasks[0]
	if err := task.Check(len(pairs), 2); err != nil {
		t.Fatal(err)
	}
	w := task.Witness(0, make([]float64, len(pairs)))
	for j, p := range pairs {
		lo, hi := ratOf(p[0]), ratOf(p[1])
		slack := max(math.Abs(task.T[0].Lo[j]), math.Abs(task.T[0].Hi[j]))*0x1p-52 + 5e-324
		checkNested(t, p[0], task.T[0], task.Inner[0], j, lo, hi, slack)
		a, b := exact(w.Lo[j]), exact(w.Hi[j])
		if !(a.Cmp(b) == 0 && a.Cmp(lo) >= 0 && b.Cmp(hi) <= 0) && !(a.Cmp(lo) <= 0 && b.Cmp(hi) >= 0) {
			t.Errorf("%v: witness [%v, %v]", p, w.Lo[j], w.Hi[j])
		}
	}
}

func TestInnerBallRefuses(t *testing.T) {
	one := []float64{1}
	for _, c := range []struct {
		lo, hi []float64
		eps    Decimal
		clip   *[2]Decimal
	}{
		{one, one, exactly(-1), nil},
		{one, one, Decimal{math.NaN(), 1}, nil},
		{[]float64{math.NaN()}, one, exactly(1), nil},
		{[]float64{2}, one, exactly(1), nil},
		{one, []float64{math.Inf(1)}, exactly(1), nil},
		{one, one, exactly(1), &[2]Decimal{exactly(1), exactly(0)}},
		{one, one, exactly(1), &[2]Decimal{{0, 0.5}, {0.25, 1}}}, // perhaps reversed
		{one, one, exactly(1), &[2]Decimal{exactly(up(2)), exactly(3)}},
		{one, one, exactly(1), &[2]Decimal{exactly(-3), exactly(down(0))}},
		{one, one, Decimal{0.5, 2}, &[2]Decimal{exactly(2), exactly(3)}}, // perhaps too short
		{[]float64{1}, []float64{2}, exactly(0.5), &[2]Decimal{exactly(1.75), exactly(3)}},
	} {
		if b := InnerBall(c.lo, c.hi, c.eps, c.clip); b.Lo != nil || b.Hi != nil {
			t.Errorf("%v: %v", c, b)
		}
	}
	b := InnerBall(one, []float64{1.25}, Decimal{0.5, 0.75}, &[2]Decimal{{0, 0.5}, {1.25, 2}})
	if !slices.Equal(b.Lo, []float64{0.75}) || !slices.Equal(b.Hi, []float64{1.25}) {
		t.Errorf("%v", b)
	}
	wantPanic(t, func() { InnerBall(one, nil, exactly(0), nil) }, "1", "0")
}

func TestWitness(t *testing.T) {
	task := Task{
		T:     []Box{{}, {Lo: []float64{-1, -1}, Hi: []float64{2, 2}}},
		Inner: []Box{{}, {Lo: []float64{0, 0.5}, Hi: []float64{1, 0.25}}},
	}
	for x, want := range map[float64]float64{-5: 0, 0: 0, 0.5: 0.5, 1: 1, 7: 1, math.Inf(-1): 0} {
		if w := task.Witness(1, []float64{x, x}); !slices.Equal(w.Lo, []float64{want, -1}) || !slices.Equal(w.Hi, []float64{want, 2}) {
			t.Errorf("near %v: %v", x, w)
		}
	}
	if w := task.Witness(0, nil); w.Lo != nil {
		t.Errorf("an unknown region has the witness %v", w)
	}
	task.Inner = nil
	if w := task.Witness(1, []float64{0, 0}); w.Lo != nil {
		t.Errorf("a task without inner boxes has the witness %v", w)
	}
	wantPanic(t, func() { task.Witness(1, []float64{0}) }, "1 coordinates for a box of 2")
}
