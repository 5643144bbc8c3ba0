package record

import (
	"fmt"
)

// Sets tells of records, which come one by one, whether their P_safe is a share of finitely many
// networks, and whether their T is a set of features. Its zero value is ready.
type Sets struct {
	n, sets, least, most int
	features             int
	of                   string // the network of all features, "" if there are several
}

// Add takes in a record.
func (s *Sets) Add(r *Record) {
	one := Sets{n: 1}
	if r.FeaturesOf != "" {
		one.features, one.of = 1, r.FeaturesOf
	}
	if r.Networks != 0 {
		one.sets, one.least, one.most = 1, r.Networks, r.Networks
	}
	s.Join(&one)
}

// Join takes in what others has.
func (s *Sets) Join(others *Sets) {
	if s.sets == 0 {
		s.least = others.least
	} else if others.sets > 0 {
		s.least = min(s.least, others.least)
	}
	if s.features == 0 {
		s.of = others.of
	} else if others.features > 0 && s.of != others.of {
		s.of = ""
	}
	s.n, s.sets, s.most, s.features = s.n+others.n, s.sets+others.sets, max(s.most, others.most), s.features+others.features
}

// Features tells that T is a set of features; empty if it is one of inputs in all records.
func (s *Sets) Features() string {
	text := "T is a set of features"
	if s.features == 0 {
		return ""
	}
	if s.of != "" {
		text += " of " + plain(s.of)
	}
	if s.features < s.n {
		text += fmt.Sprintf(" in %d of %d records", s.features, s.n)
	}
	return text + ", and says nothing of inputs"
}

// Words tells what P_safe is a share of, such as "the 100 networks of this file"; empty if no
// posterior is a finite set.
func (s *Sets) Words() string {
	switch {
	case s.sets == 0:
		return ""
	case s.sets < s.n:
		return fmt.Sprintf("the networks of a finite set, in %d of %d records,", s.sets, s.n)
	case s.least != s.most:
		return fmt.Sprintf("the networks of each file (%d to %d)", s.least, s.most)
	}
	return fmt.Sprintf("the %d networks of this file", s.most)
}

// Some tells of how many records P_safe is such a share, such as "40 of 200 records"; empty if it is of
// none or of all.
func (s *Sets) Some() string {
	if s.sets == 0 || s.sets == s.n {
		return ""
	}
	return fmt.Sprintf("%d of %d records", s.sets, s.n)
}

// Parents counts the intervals of records for posteriors that finite sets were drawn from. Its zero
// value is ready.
type Parents struct {
	// N is how many there are, Above how many of them are from the record's require on, Below how
	// many below it. Confidence is the least.
	N, Above, Below int
	Confidence      float64
	lower, upper    Sum
	// of is that posterior, "" if there are several.
	of string
}

// Add takes in a record.
func (p *Parents) Add(r *Record) {
	i := r.Parent
	if i == nil {
		return
	}
	if p.N++; p.N == 1 {
		p.of, p.Confidence = i.Of, i.Confidence
	} else if p.of != i.Of {
		p.of = ""
	}
	p.Confidence = min(p.Confidence, i.Confidence)
	p.lower.Add(float64(i.Lower))
	p.upper.Add(float64(i.Upper))
	if i.Lower.Exact().Cmp(r.Require) >= 0 {
		p.Above++
	} else if i.Upper.Exact().Cmp(r.Require) < 0 {
		p.Below++
	}
}

// Means returns the means of both ends, rounded outward.
func (p *Parents) Means() (Down, Up) { return Down(p.lower.MeanDown()), Up(p.upper.MeanUp()) }

// Of names the posterior in words.
func (p *Parents) Of() string {
	if p.of == "" {
		return "the posteriors that these networks were drawn from"
	}
	return "the posterior that these networks were drawn from (" + plain(p.of) + ")"
}

// Words tells in a line what they are, empty if there are none.
func (p *Parents) Words() string {
	if p.N == 0 {
		return ""
	}
	lower, upper := p.Means()
	return fmt.Sprintf("statistical, not certified: for %s, %d intervals of confidence %v each, on average %s..%s; %d from --require on, %d below it",
		p.Of(), p.N, p.Confidence, FormatDown(lower, 4), FormatUp(upper, 4), p.Above, p.Below)
}

// TenToDown is 10^log, or "less than 10^-300" below that: nobody reads 10^-223811.
func TenToDown(log Down) string {
	if log < -300 {
		return "less than 10^-300"
	}
	return "10^-" + FormatUp(-log, 4)
}
