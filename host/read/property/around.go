package property

import (
	"fmt"
	"math"
	"strings"
)

// RegionText holds in words, as flags and records do, what T is around a data point.
type RegionText struct {
	// Eps is the radius: what ParseVector reads. Empty where T is that of a template.
	Eps string
	// Norm holds the norm of the ball with the radius Eps: empty or inf, which makes it a box, 2 or 1.
	Norm string
	// Clip is empty, or the two ends of the interval that T is cut to, each of them what
	// ParseVector reads; or the name of a NumPy file of two rows, the lower ends and the upper.
	Clip []string
	// Fix lists the inputs that do not move, Free those that do, both as ParseIndex lists
	// points. At most one is given.
	Fix, Free string
}

// Region is the set around a point v whose coordinate j is a real number in v_j + from_j to
// v_j + to_j, cut to the interval from clip_0 to clip_1: of --eps, from -eps to eps. An input
// that is fixed stays at v_j. Where norm is not 0, T is what this has in common with the ball of that
// norm whose half-axes are to_j.
type Region struct {
	from, to Vector
	clip     *[2]Vector
	fixed    []bool
	norm     int
	// eps is the radius for messages, if there is one.
	eps *Vector
	// EpsSHA256 and ClipSHA256 are the digests of their files, empty if there are none.
	EpsSHA256, ClipSHA256 string
}

// ReadRegion reads what a region is for a network with so many inputs, and the files that the
// text names. An error is one line that begins with the flag: --eps, --clip, --fix, --free.
func ReadRegion(text RegionText, inputs int) (*Region, error) {
	r := &Region{}
	if text.Eps != "" {
		eps, err := ParseVector(text.Eps)
		if err == nil {
			err = eps.fits(inputs)
		}
		if err != nil {
			return nil, fmt.Errorf("--eps: %w", err)
		}
		if j := eps.find(func(d Decimal) bool { return d.Lo < 0 }); eps.each != nil && j >= 0 {
			return nil, fmt.Errorf("--eps %.60s: that of input %d is negative: a radius is at least 0", text.Eps, j)
		} else if j >= 0 {
			return nil, fmt.Errorf("--eps %s is negative: a radius is at least 0", text.Eps)
		}
		r.ball(eps)
	}
	var err error
	if r.norm, err = parseNorm(text.Norm); err != nil {
		return nil, err
	}
	if r.clip, err = parseClip(text.Clip, inputs); err != nil {
		return nil, err
	}
	if r.clip != nil {
		r.ClipSHA256 = r.clip[0].SHA256
	}
	r.fixed, err = parseFixed(text, inputs)
	return r, err
}

// SameRadius reports whether two regions move points equally far, as far as float64 tell.
func (r *Region) SameRadius(of *Region) bool { return r.from.equal(&of.from) && r.to.equal(&of.to) }

// Reach returns how far a point moves at most in any coordinate, rounded up.
func (r *Region) Reach() float64 {
	most := max(-r.from.all.Lo, r.to.all.Hi)
	for _, d := range r.from.each {
		most = max(most, -d.Lo)
	}
	for _, d := range r.to.each {
		most = max(most, d.Hi)
	}
	return most
}

// ball sets the offsets of a radius.
func (r *Region) ball(eps Vector) {
	r.from, r.to, r.eps, r.EpsSHA256 = eps.negated(), eps, &eps, eps.SHA256
}

// parseClip reads the interval that regions are cut to, nil if there is none.
func parseClip(texts []string, inputs int) (*[2]Vector, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	all := strings.Join(texts, ",")
	var ends [2]Vector
	switch {
	case len(texts) == 1 && VectorFile(texts[0]) != "":
		rows, digest, err := readRows(VectorFile(texts[0]), 2)
		if err != nil {
			return nil, fmt.Errorf("--clip: %w", err)
		}
		ends = [2]Vector{{each: rows[0], SHA256: digest}, {each: rows[1]}}
	case len(texts) != 2:
		return nil, fmt.Errorf("--clip %.60s: give two numbers, for example 0,1", all)
	default:
		for k, text := range texts {
			if VectorFile(text) != "" {
				return nil, fmt.Errorf("--clip %.60s: give one file of two rows, lower and upper ends, instead of two", all)
			}
			var err error
			if ends[k], err = ParseVector(text); err != nil {
				return nil, fmt.Errorf("--clip: %w", err)
			}
		}
	}
	for k := range ends {
		if err := ends[k].fits(inputs); err != nil {
			return nil, fmt.Errorf("--clip: %w", err)
		}
	}
	for j := range inputs {
		switch lo, hi := ends[0].at(j), ends[1].at(j); {
		case lo.Lo <= hi.Hi:
		case ends[0].each == nil && ends[1].each == nil:
			return nil, fmt.Errorf("--clip %.60s: the interval is empty: give the lower end first", all)
		default:
			return nil, fmt.Errorf("--clip %.60s: the interval of input %d, from %v to %v, is empty: give lower ends first", all, j, lo, hi)
		}
	}
	return &ends, nil
}

// parseFixed marks the inputs that do not move, nil if all do.
func parseFixed(text RegionText, inputs int) ([]bool, error) {
	flag, list := "--fix", text.Fix
	switch {
	case text.Fix != "" && text.Free != "":
		return nil, fmt.Errorf("--fix and --free cannot be combined: each says what the other leaves")
	case text.Free != "":
		flag, list = "--free", text.Free
	case text.Fix == "":
		return nil, nil
	}
	named, err := ParseIndex(list, inputs, "input")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	fixed := make([]bool, inputs)
	for j := range fixed {
		fixed[j] = text.Free != ""
	}
	for _, j := range named {
		fixed[j] = text.Fix != ""
	}
	return fixed, nil
}

// offsets returns the offsets of coordinate j.
func (r *Region) offsets(j int) (from, to Decimal) {
	if r.fixed != nil && r.fixed[j] {
		return Decimal{}, Decimal{}
	}
	return r.from.at(j), r.to.at(j)
}

// Around is the smallest box that can be told to contain the region of a point: each
// coordinate v_j is a real number in [lo[j], hi[j]], and so the offsets and the ends of the
// interval are real numbers in theirs. Lower ends are rounded down and upper ends up.
//
// lo and hi must have the same length, that of the region's vectors (it panics otherwise). A
// point that is not finite or has lo > hi, a region that is surely empty since all of it is
// outside of clip, and an overflow are errors that name the coordinate.
func (r *Region) Around(lo, hi []float64) (Box, error) {
	if len(lo) != len(hi) {
		panic(fmt.Sprintf("property: Around: %d lower and %d upper ends", len(lo), len(hi)))
	}
	b := Box{Lo: make([]float64, len(lo)), Hi: make([]float64, len(hi))}
	for j := range lo {
		if !ordered(lo[j], hi[j]) {
			return Box{}, fmt.Errorf("coordinate %d: %v to %v is not a finite number; mend the data file", j, lo[j], hi[j])
		}
		from, to := r.offsets(j)
		cutLo, cutHi := math.Inf(-1), math.Inf(1)
		if r.clip != nil {
			cutLo, cutHi = r.clip[0].at(j).Lo, r.clip[1].at(j).Hi
		}
		b.Lo[j] = max(addDown(lo[j], from.Lo), cutLo)
		b.Hi[j] = min(addUp(hi[j], to.Hi), cutHi)
		if b.Lo[j] > b.Hi[j] {
			return Box{}, fmt.Errorf("coordinate %d: no point within %s of %v lies in the clip interval from %v to %v; scale the data into it or widen it",
				j, r.reach(j), lo[j], r.clip[0].at(j), r.clip[1].at(j))
		}
		if math.IsInf(b.Lo[j], 0) || math.IsInf(b.Hi[j], 0) {
			return Box{}, fmt.Errorf("coordinate %d: %v plus or minus %s is beyond the range of float64; use a smaller one", j, lo[j], r.reach(j))
		}
	}
	return b, nil
}

// reach returns for messages how far coordinate j may be from its point.
func (r *Region) reach(j int) string {
	from, to := r.offsets(j)
	switch {
	case r.fixed != nil && r.fixed[j]:
		return "eps 0 (it is fixed)"
	case r.eps != nil:
		return fmt.Sprintf("eps %s", r.eps.at(j))
	}
	return fmt.Sprintf("[%s, %s]", from, to)
}

// Inside is the counterpart of Around from inside: a box of points that lie in the region
// whatever the real numbers are. Lower ends are rounded up and upper ends down; Lo[j] > Hi[j]
// says that no float64 is known to be inside in coordinate j, where the set is narrower than
// the enclosures of its numbers. It is the zero Box if the enclosures cannot tell that the
// region has a point at all, and for what is no point.
func (r *Region) Inside(lo, hi []float64) Box {
	if len(lo) != len(hi) {
		panic(fmt.Sprintf("property: Inside: %d lower and %d upper ends", len(lo), len(hi)))
	}
	b := Box{Lo: make([]float64, len(lo)), Hi: make([]float64, len(hi))}
	for j := range lo {
		cutLo, cutHi := math.Inf(-1), math.Inf(1)
		if r.clip != nil {
			cutLo, cutHi = r.clip[0].at(j).Hi, r.clip[1].at(j).Lo
		}
		if !ordered(lo[j], hi[j]) || !(cutLo <= cutHi) {
			return Box{}
		}
		// The real region reaches at least down to least and up to most, which may be the
		// wrong way round.
		from, to := r.offsets(j)
		least, most := addUp(hi[j], from.Hi), addDown(lo[j], to.Lo)
		if least > cutHi || most < cutLo {
			return Box{}
		}
		b.Lo[j], b.Hi[j] = max(least, cutLo), min(most, cutHi)
	}
	return b
}

// Around is region.Around point i, 0 <= i < N (it panics otherwise). Errors name the file and
// the point.
func (p *Points) Around(i int, r *Region) (Box, error) {
	lo, hi := p.At(i)
	b, err := r.Around(lo, hi)
	if err != nil {
		return Box{}, fmt.Errorf("%s: point %d: %w", p.Source, i, err)
	}
	return b, nil
}

// Inside is region.Inside around point i, 0 <= i < N (it panics otherwise).
func (p *Points) Inside(i int, r *Region) Box {
	lo, hi := p.At(i)
	return r.Inside(lo, hi)
}
