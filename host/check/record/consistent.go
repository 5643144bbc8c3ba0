package record

import (
	"errors"
	"fmt"
	"math/big"

	"psafe/host/read/property"
)

// Consistent returns what of a record contradicts itself or is none of a record: of numbers what
// they must be whatever was proved.
func (r *Record) Consistent() error {
	if err := r.sizes(); err != nil {
		return err
	}
	zero, one := property.Exact{}, property.MustExact("1")
	within := func(d *Decimal) bool { return d.Cmp(zero) >= 0 && d.Cmp(one) <= 0 }
	switch {
	case r.PLower == nil, r.PUpper == nil, r.Require == nil:
		return errors.New("p_lower: it is missing, or p_upper or require is")
	case !within(r.PLower) || !within(r.PUpper) || r.PLower.Cmp(r.PUpper.Exact) > 0:
		return fmt.Errorf("p_lower: %v and p_upper %v are no bounds of a probability", r.PLower, r.PUpper)
	case r.Log10PLower != nil && r.Log10PLower.Cmp(zero) > 0:
		return fmt.Errorf("log10_p_lower: it is %v, which is above 0", r.Log10PLower)
	case !within(r.Require):
		return fmt.Errorf("require: %v is no probability", r.Require)
	case r.Verdict != r.Follows():
		return fmt.Errorf("verdict: it is %.40q, p_lower %v and p_upper %v make it %q", r.Verdict, r.PLower, r.PUpper, r.Follows())
	case r.Guarantee != Guarantee:
		return fmt.Errorf("guarantee: it is %.80q", r.Guarantee)
	case !(0 <= r.Task && r.Task < r.Tasks) || r.Run == "":
		return fmt.Errorf("task: it is number %d of the %d of run %.40q", r.Task, r.Tasks, r.Run)
	}
	for _, of := range []func() error{r.writtenBounds, r.consistentLogarithm, r.consistentEach, r.consistentQuantile, r.consistentDerived, r.consistentDecision, r.consistentMean, r.consistentStatistical, r.consistentMethod,
		r.consistentProof, r.consistentParent, r.consistentBoxes, r.consistentFlags} {
		if err := of(); err != nil {
			return err
		}
	}
	return r.Statistical.contradicts(r.PLower, r.PUpper)
}

// consistentEach compares what is said of the worst point of T with the bounds: it is at least p_lower and, as p_upper
// is a bound at a point but for finite sets, at most p_upper.
func (r *Record) consistentEach() error {
	most := r.PUpper.Exact
	if r.Method == "samples" { // whose networks may each be unsafe somewhere else
		most = property.MustExact("1")
	}
	if e := r.EachLower; e != nil && (e.Cmp(r.PLower.Exact) < 0 || e.Cmp(most) > 0) {
		return fmt.Errorf("each_lower: it is %v, below p_lower %v or above p_upper %v", e, r.PLower, r.PUpper)
	}
	return nil
}

// consistentQuantile compares a quantile with the upper bound: where the margin is 0 or more T is safe.
func (r *Record) consistentQuantile() error {
	one := property.MustExact("1")
	switch q := r.Quantile; {
	case q == nil:
		return nil
	case q.Level == nil || q.Level.Cmp(property.Exact{}) <= 0 || q.Level.Cmp(one) >= 0:
		return fmt.Errorf("quantile: the level is %v, not between 0 and 1", q.Level)
	case q.Lower != nil && q.Lower.Cmp(property.Exact{}) >= 0 && new(big.Rat).Add(q.Level.Rat(), r.PUpper.Rat()).Cmp(one.Rat()) < 0:
		return fmt.Errorf("quantile: margins are above 0 but for %v, p_upper is %v", q.Level, r.PUpper)
	}
	return nil
}

// consistentDerived compares what is said of single points x of T with the bounds: Prob(f(x) in S)
// is at least P_safe, and at its least at most what bounds P_safe from above by way of a point.
func (r *Record) consistentDerived() error {
	switch d := r.Derived; {
	case d == nil:
		return nil
	case d.InfProbLower == nil || d.InfProbUpper == nil:
		return errors.New("derived: inf_prob_lower is null, or inf_prob_upper is")
	case d.InfProbLower.Cmp(property.Exact{}) < 0 || d.InfProbLower.Cmp(r.PLower.Exact) > 0:
		return fmt.Errorf("derived: inf_prob_lower is %v, below 0 or above p_lower", d.InfProbLower)
	case d.InfProbUpper.Cmp(property.MustExact("1")) > 0 || d.InfProbUpper.Cmp(r.PUpper.Exact) < 0:
		return fmt.Errorf("derived: inf_prob_upper is %v, above 1 or below p_upper", d.InfProbUpper)
	}
	return nil
}
