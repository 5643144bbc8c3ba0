package record

import (
	"fmt"
	"math/big"

	"psafe/host/read/property"
)

// stepsUnasked is the number of steps in the largest radius if the flags do not say.
const stepsUnasked = 256

// ConsistentEnd checks what is said of radii that were looked for: eps is one of them, and what was wanted
// is certified or refuted there, or nowhere. That no other is larger, or smaller, is no claim.
func (r *Record) ConsistentEnd(f flagList) error {
	switch {
	case (r.RadiusEnd != "") != f.Has("--most") || f.Has("--step") && !f.Has("--most"):
		return fmt.Errorf("radius_end: it is %.20q, and the flags are %.99q", r.RadiusEnd, r.Flags)
	case r.RadiusEnd == "":
		return nil
	case r.RadiusEnd != "certified" && (r.RadiusEnd != "refuted" || f.Has("--no-upper")) || f.Has("--time-limit") || r.Boxed():
		return fmt.Errorf("radius_end: it is %.20q, and the flags are %.99q", r.RadiusEnd, r.Flags)
	}
	eps, err := property.NewExact(r.Eps)
	most, err2 := property.NewExact(f["--most"])
	if err != nil || err2 != nil || most.Cmp(property.Exact{}) <= 0 {
		return fmt.Errorf("eps: %.40q is none of the radii up to %.40q", r.Eps, f["--most"])
	}
	step := new(big.Rat).Quo(most.Rat(), big.NewRat(stepsUnasked, 1))
	if f.Has("--step") {
		text, err := property.NewExact(f["--step"])
		if err != nil || text.Cmp(property.Exact{}) <= 0 {
			return fmt.Errorf("flags: the step is none: %.99q", r.Flags)
		}
		step = text.Rat()
	}
	number := new(big.Rat).Quo(eps.Rat(), step)
	rest := new(big.Rat).Sub(most.Rat(), eps.Rat())
	if number.Sign() < 0 || !number.IsInt() || rest.Sign() < 0 {
		return fmt.Errorf("eps: %.40q is no multiple of the step up to %.40q", r.Eps, f["--most"])
	}
	wanted, last := r.wanted(f), number.Sign()
	if r.RadiusEnd == "refuted" {
		wanted, last = -wanted, max(0, rest.Cmp(step)+1) // 0 at the largest multiple
	}
	if wanted <= 0 && last != 0 {
		return fmt.Errorf("radius_end: nothing is %s at eps %.40q", r.RadiusEnd, r.Eps)
	}
	return nil
}

// wanted is 1 if the verdict that was wanted is that it holds, -1 if it does not.
func (r *Record) wanted(f flagList) int {
	verdict := r.Verdict
	switch {
	case f["--target"] == "each" && r.EachLower != nil:
		of := *r
		if of.PLower = r.EachLower; r.Method == "samples" { // whose p_upper is about no single point
			of.PUpper = &Decimal{Exact: property.MustExact("1")}
		}
		verdict = of.Follows()
	case f["--target"] == "decision" && r.Decision != nil:
		verdict = r.Decision.Verdict
	case f["--target"] == "mean" && r.OutputMean == nil:
		return 0
	case f["--target"] == "mean":
		verdict = r.OutputMean.Verdict
	}
	switch verdict {
	case "safe", "decision_safe", "mean_safe":
		return 1
	case "unsafe", "decision_unsafe", "mean_unsafe":
		return -1
	}
	return 0
}
