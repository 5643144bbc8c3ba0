package conformal

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/testkit/oracle"
	"psafe/internal/testscale"
)

// placed is a record about point i of a file, at a radius: class, its lower bound, and class_upper.
func placed(i int, eps string, class int, lower float64, upper []float64) *record.Placed {
	d := &record.Decision{Lower: record.Down(lower)}
	for _, u := range upper {
		d.ClassUpper = append(d.ClassUpper, record.Up(u))
	}
	r := &record.Record{Index: i, Eps: eps, Label: &class, Decision: d, PosteriorSHA256: "a", InputsSHA256: "cal", Run: "r", Flags: "--method clbp --target decision"}
	return &record.Placed{Record: r, File: "r.jsonl", Line: i + 1}
}

// world has points that may be any of n + 1: what an attacked point is certified with, and the probability of its
// class.
type world struct {
	upper [][]float64
	share []float64
	class []int
}

// newWorld draws one in which pi is coarse, so that scores are often equal, and upper bounds are up to one step more
// than pi at a point to which the attacker moved: at least pi of the true class.
func newWorld(rng *rand.Rand, points, classes int) *world {
	w := &world{}
	for range points {
		pi, sum := make([]float64, classes), 0.0
		for k := range pi {
			pi[k] = float64(rng.IntN(9))
			sum += pi[k]
		}
		upper, class := make([]float64, classes), rng.IntN(classes)
		for k := range pi {
			pi[k] /= max(1, sum)
			upper[k] = min(1, pi[k]+float64(rng.IntN(2))/8)
		}
		w.upper, w.share, w.class = append(w.upper, upper), append(w.share, pi[class]), append(w.class, class)
	}
	return w
}

// sets calibrates on all points but i, with lower bounds that share makes of the truth, and returns the set of i.
func (w *world) sets(t *testing.T, i int, alpha string, lower func(float64) float64, change func(*record.Placed)) (*Set, *Quantile) {
	c := &Calibration{Alpha: property.MustExact(alpha), Delta: property.MustExact("0.01"), Labels: w.class}
	for j := range w.class {
		if j != i {
			p := placed(j, "0", w.class[j], lower(w.share[j]), w.upper[j])
			p.Tasks = len(w.class) - 1
			change(p)
			if err := c.Add(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	q, err := c.Quantile()
	if err != nil {
		t.Fatal(err)
	}
	s := &Sets{Calibration: c, Quantile: q, Labels: w.class}
	p := placed(i, "0.1", 0, 0, w.upper[i])
	p.Decision.ClassOf = record.ClassOfMean
	set, err := s.Add(p)
	if err != nil {
		t.Fatal(err)
	}
	return set, q
}

// TestSetsCover: of n + 1 exchangeable points each is as often the new one. So, over which of them it is, sets hold
// the class at least as often as promised, in every world, exactly; with exact bounds not much more often.
func TestSetsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 5))
	tight := 0
	for world := range testscale.Cases(t, 1000) {
		n := 1 + rng.IntN(14)
		w := newWorld(rng, n+1, 2+rng.IntN(4))
		alpha := []string{"0.05", "0.1", "1/4", "0.5", "0.9"}[rng.IntN(5)]
		loss := float64(rng.IntN(2)) / 16
		covered := 0
		for i := range n + 1 {
			set, _ := w.sets(t, i, alpha, func(x float64) float64 { return max(0, x-loss) }, func(*record.Placed) {})
			if set.Covers() {
				covered++
			}
		}
		least := new(big.Rat).Sub(big.NewRat(1, 1), property.MustExact(alpha).Rat())
		if got := big.NewRat(int64(covered), int64(n+1)); got.Cmp(least) < 0 {
			t.Fatalf("world %d: %d of %d sets hold the class, promised are %v", world, covered, n+1, least)
		}
		if covered <= n {
			tight++
		}
	}
	if tight == 0 {
		t.Error("every set of every world holds the class: a full set would do")
	}
}

// TestScoreOfDraws: draws count only less what Hoeffding takes off, for all points at once; at least the exact number.
func TestScoreOfDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 6))
	w := newWorld(rng, 41, 3)
	const networks = 5000
	_, q := w.sets(t, 40, "0.1", func(float64) float64 { return 0 }, func(p *record.Placed) {
		p.Decision.DrawnLower = new(record.Down(0.75))
		p.Statistical = &record.Statistical{Samples: networks}
	})
	exact := 0.25 + math.Sqrt(math.Log(40/0.01)/(2*networks))
	if got, _ := q.Q.Float64(); !(got >= exact-1e-15 && got <= exact+1e-12) || !q.Drawn {
		t.Errorf("score %v, it is %v", got, exact)
	}
	if want := big.NewRat(89, 100); q.Promise.Cmp(want) != 0 {
		t.Errorf("promise %v", q.Promise)
	}
	for n := 1; n < 2000; n += 97 {
		c := &Calibration{Delta: property.MustExact("0.01")}
		up := c.hoeffdingUp(n, 1000)
		square := oracle.New().SetRat(new(big.Rat).Mul(up, up))
		odds := oracle.Exp(square.Mul(square, oracle.Of(2*1000))) // at least n/delta, and hardly more
		if least := float64(n) * 100; odds.Cmp(oracle.Of(least)) < 0 || odds.Cmp(oracle.Of(least*(1+1e-12))) > 0 {
			t.Errorf("%d points: %v takes off too little or too much", n, up)
		}
	}
}

// TestRefusals: what would make the promise none is refused in one line.
func TestRefusals(t *testing.T) {
	labels := []int{1, 0, 2}
	upper := []float64{1, 0.25, 0.5}
	add := func(change func(*record.Placed)) error {
		c := &Calibration{Alpha: property.MustExact("0.1"), Delta: property.MustExact("0.1"), Labels: labels}
		first := placed(0, "0", 1, 0.5, upper)
		first.Tasks = 2
		if err := c.Add(first); err != nil {
			t.Fatal(err)
		}
		p := placed(1, "0", 0, 0.5, upper)
		p.Tasks = 2
		change(p)
		if err := c.Add(p); err != nil {
			return err
		}
		_, err := c.Quantile()
		return err
	}
	for want, change := range map[string]func(*record.Placed){
		"about radius":          func(p *record.Placed) { p.Eps = "0.01" },
		"class is not that of":  func(p *record.Placed) { p.Label = new(2) },
		"has no decision":       func(p *record.Placed) { p.Decision = nil },
		"not that of the first": func(p *record.Placed) { p.PosteriorSHA256 = "b" },
		"inputs are scaled":     func(p *record.Placed) { p.Std = "0.5" },
		"posterior, or how":     func(p *record.Placed) { p.Activations = []string{"tanh"} },
		"its --clip":            func(p *record.Placed) { p.Clip = []string{"0", "1"} },
		"there twice":           func(p *record.Placed) { p.Index, p.Label = 0, new(1) },
		"probit rule":           func(p *record.Placed) { p.Flags += " --link probit" },
		"1 of 2 records":        func(p *record.Placed) { p.Run = "s" },
	} {
		if err := add(change); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := add(func(*record.Placed) {}); err != nil {
		t.Fatal(err)
	}
	if err := add(func(p *record.Placed) { p.Index, p.Inputs, p.Label = 0, "x.npz:new", new(1) }); err != nil {
		t.Errorf("a point of another array of an archive: %v", err)
	}
	w := newWorld(rand.New(rand.NewPCG(1, 1)), 5, 3)
	c := &Calibration{Alpha: property.MustExact("0.1"), Delta: property.MustExact("0.1"), Labels: w.class}
	p := placed(0, "0", w.class[0], 0.5, w.upper[0])
	p.Tasks = 1
	if err := c.Add(p); err != nil {
		t.Fatal(err)
	}
	q, err := c.Quantile()
	if err != nil || q.Q.Cmp(big.NewRat(1, 1)) != 0 || q.Enough.Int64() != 9 {
		t.Fatalf("one point: %+v, %v", q, err)
	}
	for want, change := range map[string]func(*record.Placed){
		"its class was given":    func(p *record.Placed) { p.Decision.ClassOf = "" },
		"is a calibration point": func(p *record.Placed) { p.Index = 0 },
		"not that of the first":  func(p *record.Placed) { p.PosteriorSHA256 = "b" },
		"has no label":           func(p *record.Placed) { p.Index = 5 },
		"has no decision":        func(p *record.Placed) { p.Eps = "" },
	} {
		s := &Sets{Calibration: c, Quantile: q, Labels: w.class}
		p := placed(1, "0.1", 0, 0, w.upper[1])
		p.Decision.ClassOf = record.ClassOfMean
		change(p)
		if _, err := s.Add(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, fmt.Sprint(err))
		}
	}
}
