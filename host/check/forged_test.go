package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// genuine is a record and what is proved of it.
type genuine struct {
	line  []byte
	lower law.Chance
}

// genuineRecords are records of every kind of weight boxes that prove something.
func genuineRecords(t *testing.T) []genuine {
	t.Helper()
	var jobs []*certify.Job
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, word := range []prove.Method{prove.IBP, prove.LBP} {
			jobs = append(jobs, images("glyphs-64-32-10.npz", 2, "0.01", certify.Method{By: new(word), NoUpper: true, Draws: new(1), Gamma: new(3.0)}, p),
				file("advisory-4-32-9.npz", "advisory-property.json", certify.Method{By: new(word), NoUpper: true, Draws: new(1), Gamma: new(2.5)}, p))
			for _, m := range []certify.Method{{Draws: new(60), Gamma: new(0.5)}, {Draws: new(3), Gamma: new(1.0)}} {
				m.By, m.NoUpper = new(word), true
				j := file("two-weights-product.npz", "", m, p)
				j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "points.csv"), Eps: "0.1", Property: "output_box:[-3,1]"}}
				jobs = append(jobs, j)
			}
		}
	}
	var all []genuine
	var f files
	for _, j := range jobs {
		for _, line := range written(t, j) {
			r, err := record.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			q, err := f.question(r, Files{})
			if err != nil {
				t.Fatal(err)
			}
			if r.PLower.Is(0) {
				continue
			}
			g := genuine{line: line}
			if g.lower, err = byBoxes(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			all = append(all, g)
		}
	}
	return all
}

// more is a number above x: the float64 after the next, whose decimal is above x too, or a random
// one up to most.
func more(rng *rand.Rand, x, most float64) float64 {
	y := math.Nextafter(math.Nextafter(x, arith.Inf), arith.Inf)
	if rng.IntN(3) > 0 {
		y = max(y, x+(most-x)*math.Exp(-36*rng.Float64()))
	}
	return min(y, most)
}

// TestForged: no record passes that claims more than the checker can prove, be it two units
// in the last place.
func TestForged(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	records := genuineRecords(t)
	if len(records) < 20 {
		t.Fatalf("only %d records", len(records))
	}
	var c Checker
	count := map[string]int{}
	for range testscale.Cases(t, 10000/testscale.By(t, 3)) {
		g := records[rng.IntN(len(records))]
		var what string
		line := g.line
		switch rng.IntN(3) {
		case 0:
			p := more(rng, g.lower.Float(), 1)
			if p == g.lower.Float() {
				continue
			}
			what, line = "p_lower", claiming(t, line, p)
		case 1:
			l := log10Proved(g.lower)
			what = "log10_p_lower" // by less than what contradicts p_lower
			line = changed(t, line, `"log10_p_lower":[^,]*`, `"log10_p_lower":`+property.DecimalDown(more(rng, l, min(0, l+5e-7))))
		case 2:
			what, line = "p_upper", changed(t, changed(t, line, ` --no-upper`, ``), `"p_upper":1,`, fmt.Sprintf(`"p_upper":%s,`, property.DecimalUp(1-0x1p-53-0.01*rng.Float64())))
		}
		if r, err := record.Parse(line); err == nil && r.Follows() != r.Verdict {
			line = changed(t, line, `"verdict":"\w+"`, `"verdict":"`+r.Follows()+`"`)
		}
		v, err := c.Check(t.Context(), line, false)
		if err != nil {
			t.Fatal(err)
		}
		if v.Refused == nil {
			t.Fatalf("%s passes: %s", what, line)
		}
		count[what]++
	}
	t.Log(count)
}

// TestUnsafeBoxes: a sampled box that is not safe is not counted, though it is listed.
func TestUnsafeBoxes(t *testing.T) {
	j := file("two-weights-product.npz", "", certify.Method{By: new(prove.IBP), NoUpper: true, Draws: new(40), Gamma: new(0.5)}, bound.Float32)
	j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "points.csv"), Index: new("1"), Eps: "0.1", Property: "output_box:[-0.5,0]"}}
	line := written(t, j)[0]
	r, err := record.Parse(line)
	if err != nil || r.PLower.Is(0) || *r.SafeBoxes == r.Samples {
		t.Fatalf("%v: %s", err, line)
	}
	var c Checker
	refused := 0
	for n := range r.Samples {
		if slices.Contains(r.Proof.Boxes, n) {
			continue
		}
		more := changed(t, line, `"proof":{"boxes":\[`, fmt.Sprintf(`"proof":{"boxes":[%d,`, n))
		if v, err := c.Check(t.Context(), changed(t, more, `"safe_boxes":\d+`, `"safe_boxes":40`), false); err != nil {
			t.Fatal(err)
		} else if v.Refused != nil {
			refused++
		}
	}
	if want := r.Samples - *r.SafeBoxes; refused != want {
		t.Errorf("%d boxes are refused, %d are not safe", refused, want)
	}
}

// log10Proved is the greatest float64 that a chance reaches as a decimal logarithm, about: not
// below it by bisection.
func log10Proved(c law.Chance) float64 {
	lo, hi := -400.0, 0.0
	if c.ReachesLog10(checktest.Exactly(hi)) {
		return hi
	}
	for range 1100 {
		m := lo/2 + hi/2
		if m == lo || m == hi {
			break
		}
		if c.ReachesLog10(checktest.Exactly(m)) {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}
