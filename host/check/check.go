package check

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"psafe/host/read/property"
)

// Files are named in place of those of records, where they have moved; empty for those of
// the record.
type Files struct{ Posterior, SDFile, Inputs string }

// Checker checks records, one at a time. It keeps files that records have in common.
type Checker struct {
	Given Files
	files files
}

// Verdict holds what is said of a line of a result file.
type Verdict struct {
	// Task of Tasks, from 0, of the run Run, if the line contradicts nothing that it says itself.
	Task, Tasks int
	Run         string
	// id is that of the record, question says what it is about, for people.
	id, question string
	// Claims says that the record claims a bound: p_lower above 0 or p_upper below 1.
	Claims bool
	// Refused is nil if every claim of the record was proved again. Otherwise it is one line
	// that begins with the field that is not as it should be.
	Refused error
	// Statistical says that there is an interval too, of which only the arithmetic was checked:
	// a record does not say which of the drawn networks were safe.
	Statistical bool
}

// Check reads a line of a result file, without its end, and proves its bounds again. With
// onlyRead, it checks only what the line says of itself. The error is ctx's or an *Absent.
func (c *Checker) Check(ctx context.Context, line []byte, onlyRead bool) (Verdict, error) {
	var v Verdict
	r, err := parseRecord(line)
	if err == nil {
		v.Statistical = r.Statistical != nil
		if err = r.consistent(); err == nil {
			v.Task, v.Tasks, v.Run, v.id = r.Task, r.Tasks, r.Run, r.ID
			v.question = r.asks()
			v.Claims = r.claims() || !r.PUpper.is(1) || r.Decision.claims() || r.OutputMean != nil
		}
		if err == nil && !onlyRead {
			err = c.prove(ctx, r)
		}
		if err == nil {
			err = r.identified(line)
		}
	}
	if _, absent := errors.AsType[*Absent](err); absent {
		return v, err
	}
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	v.Refused = err
	return v, nil
}

// prove proves the bounds of a record that is consistent.
func (c *Checker) prove(ctx context.Context, r *record) error {
	q, err := c.files.question(r, c.Given)
	if err != nil {
		return err
	}
	if err := q.fits(); err != nil {
		return err
	}
	if err := q.lower(ctx); err != nil {
		return err
	}
	if err := q.upper(ctx); err != nil {
		return err
	}
	if r.Method == "samples" { // its counts are claims too
		if _, err := q.counted(ctx); err != nil {
			return err
		}
	}
	if r.Derived != nil {
		if err := q.derivedBounds(ctx); err != nil {
			return err
		}
	}
	if r.Decision != nil {
		if err := q.decided(ctx); err != nil {
			return err
		}
	}
	if r.OutputMean != nil {
		return q.means(ctx)
	}
	return nil
}

// lowers are the methods by which a lower bound is shown. Each returns what it has proved, which
// may be as little as the record claims (question.claimed), or why it could not prove it.
var lowers = map[string]func(context.Context, *question) (chance, error){
	"ibp":       byBoxes,
	"lbp":       byBoxes,
	"clbp":      byNoise,
	"neuronsum": bySums,
	"phases":    byPhasesOrLeaves,
	"chernoff":  byMoments,
	"samples":   byNetworks,
}

// lower proves p_lower and log10_p_lower.
func (q *question) lower(ctx context.Context) error {
	if !q.claims() {
		if q.Rule == oneBox { // of no probability: what is claimed is its margin
			_, err := byBoxes(ctx, q)
			return err
		}
		return nil
	}
	prove := lowers[q.Method]
	if prove == nil {
		return fmt.Errorf("method: %.40q proves no lower bound that this program knows", q.Method)
	}
	c, err := prove(ctx, q)
	if err != nil {
		return err
	}
	q.proved = c
	switch {
	case !c.reaches(q.PLower.Rat()):
		return fmt.Errorf("p_lower: it is %v, proved is %v", q.PLower, c.float())
	case q.Log10PLower != nil && !c.reachesLog10(q.Log10PLower.Rat()):
		return fmt.Errorf("log10_p_lower: it is %v, proved is about %v", q.Log10PLower, c.log10Approx())
	}
	return nil
}

// claimed reports whether a chance is what the record claims.
func (q *question) claimed(c chance) bool {
	return c.reaches(q.PLower.Rat()) && (q.Log10PLower == nil || c.reachesLog10(q.Log10PLower.Rat()))
}

// enough reports whether a probability of failure proves what the record claims.
func (q *question) enough(fail float64) bool { return q.claimed(complement(fail)) }

// uppers are the methods by which an upper bound is shown (upper.method of a proof).
var uppers = map[string]func(context.Context, *question) (float64, error){
	"clbp":      upperByNoise,
	"neuronsum": upperBySums,
	"chernoff":  upperByMoments,
	"samples":   upperByNetworks,
}

// upper proves p_upper.
func (q *question) upper(ctx context.Context) error {
	if q.PUpper.is(1) {
		return nil
	}
	method := q.Method
	if q.Method != "samples" {
		u, err := q.Proof.upper()
		if err != nil {
			return err
		}
		method = u.Method
	}
	prove := uppers[method]
	if prove == nil {
		return fmt.Errorf("proof: %.40q proves no upper bound that this program knows", method)
	}
	p, err := prove(ctx, q)
	if err != nil {
		return err
	}
	if !(p >= 0 && p <= 1) || new(big.Rat).SetFloat64(p).Cmp(q.PUpper.Rat()) > 0 {
		return fmt.Errorf("p_upper: it is %v, proved is %v", q.PUpper, p)
	}
	return nil
}

// consistent returns what of a record contradicts itself or is none of a record: of numbers what
// they must be whatever was proved.
func (r *record) consistent() error {
	if err := r.sizes(); err != nil {
		return err
	}
	zero, one := property.Exact{}, property.MustExact("1")
	within := func(d *decimal) bool { return d.Cmp(zero) >= 0 && d.Cmp(one) <= 0 }
	switch {
	case r.PLower == nil, r.PUpper == nil, r.Require == nil:
		return errors.New("p_lower: it is missing, or p_upper or require is")
	case !within(r.PLower) || !within(r.PUpper) || r.PLower.Cmp(r.PUpper.Exact) > 0:
		return fmt.Errorf("p_lower: %v and p_upper %v are no bounds of a probability", r.PLower, r.PUpper)
	case r.Log10PLower != nil && r.Log10PLower.Cmp(zero) > 0:
		return fmt.Errorf("log10_p_lower: it is %v, which is above 0", r.Log10PLower)
	case !within(r.Require):
		return fmt.Errorf("require: %v is no probability", r.Require)
	case r.Verdict != r.verdict():
		return fmt.Errorf("verdict: it is %.40q, p_lower %v and p_upper %v make it %q", r.Verdict, r.PLower, r.PUpper, r.verdict())
	case r.Guarantee != guarantee:
		return fmt.Errorf("guarantee: it is %.80q", r.Guarantee)
	case !(0 <= r.Task && r.Task < r.Tasks) || r.Run == "":
		return fmt.Errorf("task: it is number %d of the %d of run %.40q", r.Task, r.Tasks, r.Run)
	}
	for _, of := range []func() error{r.writtenBounds, r.consistentLogarithm, r.consistentDerived, r.consistentDecision, r.consistentMean, r.Statistical.consistent, r.consistentMethod,
		r.consistentProof, r.consistentParent, r.consistentBoxes, r.consistentFlags} {
		if err := of(); err != nil {
			return err
		}
	}
	return r.Statistical.contradicts(r.PLower, r.PUpper)
}

// claims reports whether the record claims a lower bound.
func (r *record) claims() bool { return !r.PLower.is(0) || r.Log10PLower != nil }

// verdict returns what follows from the bounds.
func (r *record) verdict() string {
	switch {
	case r.PLower.Cmp(property.Exact{}) > 0 && r.PLower.Cmp(r.Require.Exact) >= 0:
		return "safe"
	case r.PUpper.Cmp(r.Require.Exact) < 0:
		return "unsafe"
	}
	return "unknown"
}
