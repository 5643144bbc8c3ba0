package decide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/check/law"
	"psafe/host/prove/decide"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// TestPredictiveAsCertify: the checker's laws, softmax and means are those of certify, of which tests say
// that they are bounds, but for roundings.
func TestPredictiveAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 6))
	near := func(what string, a, b float64) {
		t.Helper()
		if !(math.Abs(a-b) <= 1e-9) {
			t.Errorf("%s: %v, certify has %v", what, a, b)
		}
	}
	for n := range 60 {
		rows := 1 + n%3
		var laws []*law.MarginLaw
		var theirs []*probability.MarginLaw
		margins := make([]float64, rows)
		for k := range rows {
			top := 2*rng.NormFloat64() + float64(n%4)
			if n%7 == 0 {
				top = 30 * rng.Float64()
			}
			margins[k] = 3 * top
			var noises []law.Noise
			var variances []float64
			for range n % 4 {
				v := math.Exp(2*rng.NormFloat64() - 2)
				noises, variances = append(noises, law.Noise{Mean: 0, Variance: v}), append(variances, v)
			}
			laws, theirs = append(laws, law.LawOf(top, noises)), append(theirs, probability.NewMarginLaw(top, variances))
		}
		budget := []float64{0, 0.003, 0.2}[n%3]
		p, is := probability.PredictiveOf(theirs, budget), predictiveOf(laws, budget)
		near("lower", is.Lower, p.LowerDown)
		for k := range rows {
			near("rival", is.Rivals[k], p.RivalsUp[k])
			near("gap", is.Gaps[k], p.GapsDown[k])
		}
	}
	nan := math.NaN()
	for _, unknown := range []*law.MarginLaw{law.LawOf(nan, nil), law.LawOf(1, []law.Noise{{Mean: 0, Variance: nan}}), law.LawOf(1, []law.Noise{{Mean: 0, Variance: -1}}), law.LawOf(1, []law.Noise{{Mean: nan, Variance: 1}})} {
		if is := predictiveOf([]*law.MarginLaw{unknown}, 0); is.Lower > 0 || is.Rivals[0] < 1 || is.Gaps[0] > -1 {
			t.Errorf("what is no number says %+v", is)
		}
	}
}

// TestPricedAsCertify: the checker's bounds of costs are no worse than those of certify, but for roundings,
// and of two classes the same.
func TestPricedAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 23))
	for n := range 40 {
		classes := 2 + n%3
		var rows []string
		for range 3 {
			row := make([]string, classes)
			for k := range row {
				row[k] = fmt.Sprint(rng.IntN(40))
			}
			rows = append(rows, strings.Join(row, ","))
		}
		costs, err := property.ParseCosts(strings.Join(rows, ";"), classes)
		if err != nil {
			t.Fatal(err)
		}
		task := &property.Task{Label: rng.IntN(classes)}
		task.S = property.ArgmaxIs(task.Label, classes)
		action, r := rng.IntN(3), rng.IntN(classes)
		own, err := PricedTask(task, costs, action, &r)
		if err != nil {
			t.Fatal(err)
		}
		theirs := decide.Rule{Costs: costs}.Priced(task, action, r)
		var laws []*law.MarginLaw
		var theirLaws []*probability.MarginLaw
		for row := range 2 * (classes - 1) {
			top, v := 2*rng.NormFloat64(), math.Exp(rng.NormFloat64()-2)
			if row >= classes-1 {
				top = -laws[row-classes+1].At[0] - 0.1*rng.Float64()
			}
			laws, theirLaws = append(laws, law.LawOf(top, []law.Noise{{Mean: 0, Variance: v}})), append(theirLaws, probability.NewMarginLaw(top, []float64{v}))
		}
		e := make([]share, classes)
		for k := range e {
			e[k] = share{rng.Float64(), 1 + rng.Float64()}
		}
		if u := own.priced.sums[0]; !shownFraction(u, e, leastFraction(u, e)) || shownFraction(u, e, leastFraction(u, e)+1e-9) {
			t.Errorf("%d: the least of %v over %v is not %v", n, u, e, leastFraction(u, e))
		}
		budget := []float64{0, 0.003, 0.2}[n/3%3]
		is, p := own.priced.byLaws(laws, budget), theirs.ByLaws(theirLaws, budget)
		worse := func(what string, a, b float64) {
			if a > b+1e-9 || classes == 2 && a < b-0.01 {
				t.Errorf("%d: %s: %v, certify has %v", n, what, b, a)
			}
		}
		worse("lower", p.LowerDown, is.Lower)
		for k := range p.RivalsUp {
			worse("rival", -p.RivalsUp[k], -is.Rivals[k])
		}
		for k := range p.GapsDown {
			worse("gap", p.GapsDown[k], is.Gaps[k])
		}
	}
}

// TestOfExp: e^x is held closely, far out too.
func TestOfExp(t *testing.T) {
	for _, x := range []float64{-499, -90.5, -40, -16, -1, 0, 0.5, 16.5, 45, 300, 500} {
		if lo, hi := ofExp(x); !(lo <= math.Exp(x)*(1+1e-12) && hi >= math.Exp(x)*(1-1e-12) && hi-lo <= 1e-6*hi) {
			t.Errorf("e^%v is from %v to %v", x, lo, hi)
		}
	}
}
