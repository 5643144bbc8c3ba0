package conformal

import (
	"fmt"
	"math/big"

	"psafe/host/record"
)

// Set is the prediction set of a point: all classes k with 1 - class_upper_k <= q, the upper bounds being those of
// a record about all of T.
type Set struct {
	Index   int
	Eps     string
	Classes []int
	// Of is the number of classes; Label is the true class, -1 if it is not known.
	Of, Label int
}

// Covers reports whether the set holds the true class.
func (s *Set) Covers() bool {
	for _, k := range s.Classes {
		if k == s.Label {
			return true
		}
	}
	return false
}

// Sets makes prediction sets from a quantile.
type Sets struct {
	Calibration *Calibration
	Quantile    *Quantile
	// Labels, if not nil, are true classes by index, which sets are compared with.
	Labels []int

	seen   map[setOf]bool
	Groups []*Group
}

// setOf is a point and a radius.
type setOf struct {
	point
	norm, eps string
}

// Group sums up the sets of a radius.
type Group struct {
	Norm string `json:"norm,omitempty"`
	Eps  string `json:"eps"`
	// Points are so many, Classes the sizes of all sets together, Singletons the sets of one class and Full those
	// of all. Labelled is of how many points the class is known, Covered of how many of these the set holds it.
	Points     int `json:"points"`
	Classes    int `json:"classes"`
	Singletons int `json:"singletons"`
	Full       int `json:"full"`
	Labelled   int `json:"labelled"`
	Covered    int `json:"covered"`
}

// Add returns the set of the point of a record. The record has to be of another point than those of the calibration,
// and about the class that the mean network says: who needs the true class to make a set does not predict.
func (s *Sets) Add(p *record.Placed) (*Set, error) {
	r := p.Record
	at := setOf{pointOf(r), r.Norm, r.Eps}
	switch {
	case r.Decision == nil || r.Decision.ClassUpper == nil || r.Eps == "":
		return nil, fmt.Errorf("%s: it has no decision with class_upper around a point: make it with psafe certify --target decision", p.Place())
	case r.Decision.ClassOf != record.ClassOfMean:
		return nil, fmt.Errorf("%s: its class was given: make sets of records without --label, as the true class of a new point is not known", p.Place())
	case s.Calibration.points[at.point]:
		return nil, fmt.Errorf("%s: point %d is a calibration point: sets are for other points", p.Place(), r.Index)
	case len(r.Clip) > 0 && clipOf(r) != clipOf(s.Calibration.first):
		return nil, fmt.Errorf("%s: its --clip is %q, that of the calibration records %q: the true point may be outside of T: certify these with the same --clip, which refuses points outside",
			p.Place(), clipOf(r), clipOf(s.Calibration.first))
	case s.Labels != nil && r.Index >= len(s.Labels):
		return nil, fmt.Errorf("%s: point %d has no label in --label: give the labels of this data file", p.Place(), r.Index)
	case s.seen[at]:
		return nil, fmt.Errorf("%s: point %d is there twice at radius %s: give each record once", p.Place(), r.Index, r.Eps)
	}
	if err := s.Calibration.same(p); err != nil {
		return nil, err
	}
	if s.seen == nil {
		s.seen = map[setOf]bool{}
	}
	s.seen[at] = true
	set := &Set{Index: r.Index, Eps: r.Eps, Of: len(r.Decision.ClassUpper), Label: -1}
	least := new(big.Rat).Sub(big.NewRat(1, 1), s.Quantile.Q)
	for k, u := range r.Decision.ClassUpper {
		if u.Exact().Rat().Cmp(least) >= 0 {
			set.Classes = append(set.Classes, k)
		}
	}
	if s.Labels != nil {
		set.Label = s.Labels[r.Index]
	}
	s.group(r).add(set)
	return set, nil
}

// group is that of a record's radius.
func (s *Sets) group(r *record.Record) *Group {
	for _, g := range s.Groups {
		if g.Norm == r.Norm && g.Eps == r.Eps {
			return g
		}
	}
	g := &Group{Norm: r.Norm, Eps: r.Eps}
	s.Groups = append(s.Groups, g)
	return g
}

func (g *Group) add(s *Set) {
	g.Points++
	g.Classes += len(s.Classes)
	if len(s.Classes) == 1 {
		g.Singletons++
	}
	if len(s.Classes) == s.Of {
		g.Full++
	}
	if s.Label >= 0 {
		g.Labelled++
		if s.Covers() {
			g.Covered++
		}
	}
}
