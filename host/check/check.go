package check

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/read/property"
)

// Checker checks records. It keeps files that records have in common; several goroutines may call Check at one time.
type Checker struct {
	Given Files
	files files
}

// Verdict holds what is said of a line of a result file.
type Verdict struct {
	// Task of Tasks, from 0, of the run Run, if the line contradicts nothing that it says itself.
	Task, Tasks int
	Run         string
	// id holds the id of the record, question says what it is about, for people.
	id, question string
	// Claims reports whether the record claims a bound: p_lower above 0 or p_upper below 1.
	Claims bool
	// Refused is nil if every claim of the record was proved again. Otherwise it is one line
	// that begins with the field that is not as it should be.
	Refused error
	// Statistical reports whether there is an interval too, of which only the arithmetic was checked:
	// a record does not say which of the drawn networks were safe.
	Statistical bool
}

// Check reads a line of a result file, without its end, and proves its bounds again. With
// onlyRead, it checks only what the line says of itself. The error is ctx's or an *Absent.
func (c *Checker) Check(ctx context.Context, line []byte, onlyRead bool) (Verdict, error) {
	var v Verdict
	r, err := record.Parse(line)
	if err == nil {
		v.Statistical = r.Statistical != nil
		if err = r.Consistent(); err == nil {
			v.Task, v.Tasks, v.Run, v.id = r.Task, r.Tasks, r.Run, r.ID
			v.question = r.Asks()
			v.Claims = r.Claims() || !r.PUpper.Is(1) || r.EachLower != nil && !r.EachLower.Is(0) || r.Quantile != nil && r.Quantile.Lower != nil || r.Decision.Claims() || r.OutputMean != nil
		}
		if err == nil && !onlyRead {
			err = c.prove(ctx, r)
		}
		if err == nil {
			err = r.Identified(line)
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

func (c *Checker) prove(ctx context.Context, r *record.Record) error {
	q, err := c.files.question(r, c.Given)
	if err != nil {
		return err
	}
	if err := q.fits(); err != nil {
		return err
	}
	for _, of := range []struct {
		claimed bool
		proved  func(context.Context) error
	}{
		{r.Claims(), q.lower}, {!r.PUpper.Is(1), q.upper}, {r.Method == "samples", q.counts}, {r.EachLower != nil, q.eachPoint},
		{r.Quantile != nil && r.Quantile.Lower != nil, q.quantile}, {r.Derived != nil, q.derivedBounds}, {r.Decision != nil, q.decided}, {r.OutputMean != nil, q.means},
	} {
		if of.claimed {
			if err := of.proved(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowers are the methods by which a lower bound is shown. Each returns what it has proved, which
// may be as little as the record claims (question.claimed), or why it could not prove it.
var lowers = map[string]func(context.Context, *question) (law.Chance, error){
	"ibp":       byBoxes,
	"lbp":       byBoxes,
	"clbp":      byNoise,
	"neuronsum": bySums,
	"phases":    byPhasesOrLeaves,
	"chernoff":  byMoments,
	"samples":   byNetworks,
}

func (q *question) lower(ctx context.Context) error {
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
	case !c.Reaches(q.PLower.Rat()):
		return fmt.Errorf("p_lower: it is %v, proved is %v", q.PLower, c.Float())
	case q.Log10PLower != nil && !c.ReachesLog10(q.Log10PLower.Rat()):
		return fmt.Errorf("log10_p_lower: it is %v, proved is about %v", q.Log10PLower, c.Log10Approx())
	}
	return nil
}

// uppers are the methods by which an upper bound is shown (upper.method of a proof). A finite posterior's
// networks show theirs beside the lower bound, so that "samples" is no word of a proof. Others do at a witness.
var uppers = map[string]func(ctx context.Context, q *question, u *record.UpperProof, at property.Box) (float64, error){
	"clbp":      upperByNoise,
	"neuronsum": upperBySums,
	"chernoff":  upperByMoments,
}

func (q *question) upper(ctx context.Context) error {
	p, err := q.upperBound(ctx)
	if err != nil {
		return err
	}
	if !(p >= 0 && p <= 1) || new(big.Rat).SetFloat64(p).Cmp(q.PUpper.Rat()) > 0 {
		return fmt.Errorf("p_upper: it is %v, proved is %v", q.PUpper, p)
	}
	return nil
}

// upperBound is at least P_safe, by the networks of a finite posterior or as the proof says.
func (q *question) upperBound(ctx context.Context) (float64, error) {
	if q.Method == "samples" {
		c, err := q.counted(ctx)
		if err != nil {
			return 1, err
		}
		return c.pUpperUp(), nil
	}
	u, err := q.Proof.ReadUpper()
	if err != nil {
		return 1, err
	}
	prove := uppers[u.Method]
	if prove == nil {
		return 1, fmt.Errorf("proof: upper: %.40q proves no upper bound that this program knows", u.Method)
	}
	at, err := u.Witness.Around(q.task)
	if err != nil {
		return 1, err
	}
	return prove(ctx, q, u, at)
}
