package record

import "psafe/host/prove/claim"

// RadiusEndWords are the words for what psafe radius looks for: the largest radius at which what is wanted
// is certified, and the smallest at which it is refuted.
var RadiusEndWords = [2]string{"certified", "refuted"}

// Radii sums up what records at several radii say of each input: the largest at which what is wanted is
// certified, and the smallest at which it is refuted. T grows with the radius, so the first holds for
// all smaller ones, and the second for all larger ones. Its zero value is ready.
type Radii struct {
	known map[[16]byte]int
	list  []RadiusEnds
	q     Questions
	// Skipped counts the records without a radius that is one number.
	Skipped int
}

// RadiusEnds hold the ends of an input, where there are any.
type RadiusEnds struct {
	Certified, Refuted     float64
	IsCertified, IsRefuted bool
}

// Wanted is 1 if a record certifies what is wanted, the decision or the means where these were asked for,
// and -1 if it refutes it.
func (r *Record) Wanted() int {
	verdict, safe, unsafe := r.Verdict, "safe", "unsafe"
	switch {
	case r.EachLower != nil:
		verdict = r.eachVerdict()
	case r.Decision != nil:
		verdict, safe, unsafe = r.Decision.Verdict, claim.DecisionSafe, claim.DecisionUnsafe
	case r.OutputMean != nil:
		verdict, safe, unsafe = r.OutputMean.Verdict, claim.MeanSafe, claim.MeanUnsafe
	case r.flag("--target") == "mean":
		return 0 // no mean is bounded
	}
	switch verdict {
	case safe:
		return 1
	case unsafe:
		return -1
	}
	return 0
}

// WantedWords tells what Wanted is about: P_safe and what is required of it, a decision and how it is
// made, or means.
func (r *Record) WantedWords() string {
	switch target := r.flag("--target"); target {
	case "":
		return "P_safe >= " + r.Require.String()
	case "each":
		return "each_lower >= " + r.Require.String()
	default:
		for _, flag := range ruleFlags {
			if value := r.flag(flag); value != "" {
				target += " " + flag + " " + value
			}
		}
		return target
	}
}

// Add takes in a record.
func (s *Radii) Add(r *Record) {
	x, err := r.Radius()
	if err != nil || r.Eps == "" || r.EpsSHA256 != "" || !(x >= 0) {
		s.Skipped++
		return
	}
	key := s.q.family(r, 0)
	i, there := s.known[key]
	if !there {
		if s.known == nil {
			s.known = map[[16]byte]int{}
		}
		i = len(s.list)
		s.known[key], s.list = i, append(s.list, RadiusEnds{})
	}
	e := &s.list[i]
	switch r.Wanted() {
	case 1:
		if !e.IsCertified || x > e.Certified {
			e.Certified, e.IsCertified = x, true
		}
	case -1:
		if !e.IsRefuted || x < e.Refuted {
			e.Refuted, e.IsRefuted = x, true
		}
	}
}

// List has the inputs in the order in which they came.
func (s *Radii) List() []RadiusEnds { return s.list }
