package plot

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"psafe/host/record"
)

// Quantity describes what is drawn against eps: P_safe, what is known of worst inputs, or of decisions
// of posterior predictives (docs/decisions.md): the share of the inputs for which the class is that of
// the predictive everywhere on T, or that of a majority of the networks.
type Quantity struct {
	word                string
	title, lower, upper string
	// bounds holds the bounds of a record, which says something of it.
	bounds func(r *record.Record) (lower, upper float64)
	// target is the one of certify for records that do.
	target string
}

var quantities = []Quantity{
	{"p_safe", "Bounds of P_safe against eps", "p_lower, certified", "p_upper, certified (1 says nothing)", nil, ""},
	{"each", "Bounds at the worst input of T, for networks drawn anew there, against eps", "each_lower, certified", "1, which says nothing", func(r *record.Record) (lower, upper float64) {
		return float64(*r.EachLower), 1
	}, "each"},
	{"decision", "Share of inputs whose class the predictive keeps, against eps", "decision_safe, certified", "not decision_unsafe, certified", func(r *record.Record) (lower, upper float64) {
		upper = 1
		switch r.Decision.Verdict {
		case record.DecisionSafe:
			lower = 1
		case record.DecisionUnsafe:
			upper = 0
		}
		return lower, upper
	}, "decision"},
	{"vote", "Share of inputs whose class a majority of networks keeps, against eps", "vote above 1/2, certified", "1, which says nothing", func(r *record.Record) (lower, upper float64) {
		if r.Decision.Vote.Exact().Rat().Cmp(big.NewRat(1, 2)) > 0 {
			lower = 1
		}
		return lower, 1
	}, "decision"},
}

// QuantityWords are the words of all quantities.
func QuantityWords() (words []string) {
	for _, q := range quantities {
		words = append(words, q.word)
	}
	return words
}

// QuantityOf is the one of that word.
func QuantityOf(word string) (*Quantity, error) {
	i := slices.IndexFunc(quantities, func(q Quantity) bool { return q.word == word })
	if i < 0 {
		return nil, fmt.Errorf("%.40q is none of %s", word, strings.Join(QuantityWords(), ", "))
	}
	return &quantities[i], nil
}

// Of are the records with the bounds of the quantity in the place of those of P_safe.
func (q *Quantity) Of(records []record.Placed) ([]record.Placed, error) {
	if q.bounds == nil {
		return records, nil
	}
	list := slices.Clone(records)
	radii := map[[2]string]*record.Inputs{} // by posterior and radius
	for i := range list {
		if q.target == "each" && list[i].EachLower == nil || q.target == "decision" && list[i].Decision == nil {
			return nil, fmt.Errorf("%s: the record says nothing of --of %s: certify with --target %s", list[i].Place(), q.word, q.target)
		}
		of := [2]string{list[i].PosteriorSHA256, list[i].Eps}
		if radii[of] == nil {
			radii[of] = &record.Inputs{}
		}
		radii[of].Add(list[i].Record)
		r := *list[i].Record
		lower, upper := q.bounds(&r)
		r.PLower, r.PUpper, r.Statistical, r.Parent, r.Networks = record.Down(lower), record.Up(upper), nil, nil, 0
		list[i].Record = &r
	}
	for of, at := range radii {
		for another, as := range radii {
			if of[0] == another[0] && *at != *as {
				return nil, fmt.Errorf("records of eps %s and %s are about different inputs, as those of psafe radius are: certify the same inputs at every radius", min(of[1], another[1]), max(of[1], another[1]))
			}
		}
	}
	return list, nil
}
