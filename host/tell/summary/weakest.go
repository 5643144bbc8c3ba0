package summary

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"psafe/host/record"
)

// mostWeak is the number of the weakest that are kept.
const mostWeak = 10

// weakest are the least records by some order, the least first.
type weakest struct{ list []*record.Placed }

func (w *weakest) add(p *record.Placed, order func(a, b *record.Record) int) {
	if n := len(w.list); n == mostWeak && order(w.list[n-1].Record, p.Record) <= 0 {
		return
	}
	kept := *p
	kept.Raw = nil
	i, _ := slices.BinarySearchFunc(w.list, &kept, func(a, b *record.Placed) int {
		return cmp.Or(order(a.Record, b.Record), -1) // behind its equals
	})
	w.list = slices.Insert(w.list, i, &kept)
	w.list = w.list[:min(len(w.list), mostWeak)]
}

// WeakLower orders by p_lower, then by its logarithm, which may tell where p_lower is 0.
func WeakLower(a, b *record.Record) int {
	log := func(r *record.Record) float64 {
		if r.Log10PLower == nil {
			return math.Inf(-1)
		}
		return float64(*r.Log10PLower)
	}
	return cmp.Or(cmp.Compare(a.PLower, b.PLower), cmp.Compare(log(a), log(b)), cmp.Compare(a.PUpper, b.PUpper))
}

// WeakUpper orders by p_upper, then by p_lower.
func WeakUpper(a, b *record.Record) int {
	return cmp.Or(cmp.Compare(a.PUpper, b.PUpper), cmp.Compare(a.PLower, b.PLower))
}

// Weak is one of the weakest records.
type Weak struct {
	File     string       `json:"file"`
	Line     int          `json:"line"`
	Index    int          `json:"index"`
	Name     string       `json:"name,omitempty"`
	Property string       `json:"property"`
	Eps      string       `json:"eps,omitempty"`
	Post     string       `json:"posterior"`
	Method   string       `json:"method"`
	PLower   record.Down  `json:"p_lower"`
	Log10    *record.Down `json:"log10_p_lower"`
	PUpper   record.Up    `json:"p_upper"`
	Verdict  string       `json:"verdict"`
	Stopped  string       `json:"stopped,omitempty"`
}

func (w *weakest) result() []Weak {
	list := []Weak{}
	for _, p := range w.list {
		r := p.Record
		list = append(list, Weak{p.File, p.Line, r.Index, r.Name, r.Property, r.Eps, r.Posterior, r.Method, r.PLower, r.Log10PLower, r.PUpper, r.Verdict, r.Stopped})
	}
	return list
}

// title tells what a record is about, in few words.
func (w *Weak) title() string {
	text := strconv.Itoa(w.Index)
	if w.Name != "" {
		if text = w.Name; w.Property == text { // of a property file
			return text
		}
	}
	return strings.TrimSpace(text + " " + w.Property)
}
