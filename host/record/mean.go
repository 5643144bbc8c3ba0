package record

import (
	"fmt"
	"math/big"
)

// Mean holds what several records say on average. Lower is rounded down and Upper up, so that they
// bound the mean of P_safe as the records bound each P_safe.
type Mean struct {
	Inputs       int
	Lower, Upper float64
	// Statistical reports whether all records have an interval; StatLower and
	// StatUpper are the means of the ends. Each interval holds with the confidence or more.
	Statistical          bool
	StatLower, StatUpper float64
	Confidence           float64
	// OfParent: the intervals are those for the posteriors that finite sets were drawn from, as all
	// records have these and none has another.
	OfParent bool
	// Sets says which networks P_safe is a share of, if posteriors are finite sets.
	Sets Sets
	// NoLower: the records are all of method statistical, which claims no p_lower.
	NoLower bool
}

// MeanOf averages records of different inputs.
func MeanOf(records []Placed) Mean {
	m := Mean{Inputs: len(records), Statistical: true, Confidence: 1, NoLower: true}
	var ends [4]Sum
	var parents Parents
	for _, r := range records {
		m.Sets.Add(r.Record)
		parents.Add(r.Record)
		ends[0].Add(float64(r.PLower))
		ends[1].Add(float64(r.PUpper))
		m.NoLower = m.NoLower && r.Method == "statistical"
		if r.Statistical == nil {
			m.Statistical = false
			continue
		}
		ends[2].Add(float64(r.Statistical.Lower))
		ends[3].Add(float64(r.Statistical.Upper))
		m.Confidence = min(m.Confidence, r.Statistical.Confidence)
	}
	m.Lower, m.Upper = ends[0].MeanDown(), ends[1].MeanUp()
	switch {
	case m.Statistical:
		m.StatLower, m.StatUpper = ends[2].MeanDown(), ends[3].MeanUp()
	case ends[2].N() == 0 && parents.N == len(records) && parents.N > 0:
		lower, upper := parents.Means()
		m.Statistical, m.OfParent, m.StatLower, m.StatUpper, m.Confidence = true, true, float64(lower), float64(upper), parents.Confidence
	}
	return m
}

// Sum adds probabilities without any rounding. Its zero value is an empty sum.
type Sum struct {
	sum big.Float
	n   int
}

// sumBits is the precision of sums: a probability is a multiple of 2^-1074, and up to 2^77 fit.
const sumBits = 1074 + 78

// Add adds a number from 0 to 1; it panics at others.
func (s *Sum) Add(x float64) {
	if !(0 <= x && x <= 1) {
		panic(fmt.Sprintf("record: Sum.Add(%v): no probability", x))
	}
	s.n++
	s.sum = *new(big.Float).SetPrec(sumBits).Add(&s.sum, big.NewFloat(x)) // a new one: copies share digits
}

// N returns how many numbers were added.
func (s *Sum) N() int { return s.n }

// MeanDown is the mean, rounded down; 0 of no numbers.
func (s *Sum) MeanDown() float64 { return float64(ratDown(s.mean())) }

// MeanUp is the mean, rounded up; 0 of no numbers.
func (s *Sum) MeanUp() float64 { return 0 - float64(ratDown(new(big.Rat).Neg(s.mean()))) }

func (s *Sum) mean() *big.Rat {
	sum, _ := s.sum.Rat(nil)
	return sum.Quo(sum, big.NewRat(int64(max(1, s.n)), 1))
}
