// Package summary sums up result records: how many there are and of which verdict, means and the
// distribution of their bounds, by group, what is missing, the weakest, and what contradicts what.
// Records come one by one, and memory does not grow with their number but for what package report
// keeps to find gaps and contradictions.
//
// Means of p_lower are rounded down and of p_upper up, so that they bound the mean of P_safe.
package summary

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
)

// Summary takes records. Its zero value is ready.
type Summary struct {
	// At are radii for the shares of RadiiGroup.
	At []property.Exact
	// By are those of ByWords that groups are told apart by, all if it is empty.
	By []string

	bounds
	devices, precisions, versions words
	numerics                      words
	requires                      words
	byRequire                     map[string]*Verdicts
	guarantee                     string
	peak                          int64
	lower, upper                  [Bins]int
	shares                        [len(Limits)]int
	drawn                         drawn
	sets                          record.Sets
	parents                       record.Parents
	groups                        groups
	radii                         radii
	weakest, unsafe               weakest
	coverage                      record.Coverage
	questions                     record.Questions
}

// Bins is the number of parts of the same width of the distribution from 0 to 1.
const Bins = 20

// Limits are the limits of the shares of records with p_lower at least so much.
var Limits = [...]string{"0.9", "0.99", "0.999"}

// Add takes a record, of which it keeps nothing that changes.
func (s *Summary) Add(p *record.Placed) {
	r := p.Record
	s.guarantee = r.Guarantee // which is the same in all that psafe reads
	s.bounds.add(r)
	s.groups.by = s.By
	s.groups.add(r)
	s.radii.add(r)
	s.devices.add(r.Device)
	s.precisions.add(r.Precision)
	s.versions.add(r.Version)
	s.numerics.add(strconv.Itoa(r.Numerics))
	s.require(r)
	if r.PeakBytes != nil {
		s.peak = max(s.peak, *r.PeakBytes)
	}
	if claimsLower(r) {
		s.lower[bin(float64(r.PLower), r.PLower.Exact)]++
		for i, limit := range limits {
			if atLeast(float64(r.PLower), r.PLower.Exact, limit) {
				s.shares[i]++
			}
		}
	}
	s.upper[bin(float64(r.PUpper), r.PUpper.Exact)]++
	if r.Statistical != nil {
		s.drawn.add(r)
	}
	s.sets.Add(r)
	s.parents.Add(r)
	switch {
	case r.Verdict == "unsafe":
		s.unsafe.add(p, WeakUpper)
	case claimsLower(r):
		s.weakest.add(p, WeakLower)
	}
	s.coverage.Add(p)
	s.questions.Add(p)
}

// claimsLower reports whether a record says anything of p_lower: with --method statistical it is
// always 0, which belongs to no mean.
func claimsLower(r *record.Record) bool { return r.Method != "statistical" }

// Verdicts counts them, by the certified bounds alone.
type Verdicts struct {
	Safe    int `json:"safe"`
	Unsafe  int `json:"unsafe"`
	Unknown int `json:"unknown"`
}

func (v *Verdicts) add(verdict string) {
	switch verdict {
	case "safe":
		v.Safe++
	case "unsafe":
		v.Unsafe++
	default:
		v.Unknown++
	}
}

func (s *Summary) require(r *record.Record) {
	text := s.requires.add(r.Require.String())
	if s.byRequire == nil {
		s.byRequire = map[string]*Verdicts{}
	}
	if s.byRequire[text] == nil {
		s.byRequire[text] = new(Verdicts)
	}
	s.byRequire[text].add(r.Verdict)
}

// bounds are counts and exact sums of some records.
type bounds struct {
	records, stopped, timed int
	verdicts                Verdicts
	lower, upper            record.Sum
	decisions               record.Decisions
	outputs                 record.OutputMeans
	each                    record.EachPoints
	inputs                  record.Inputs
	seconds                 float64
}

func (b *bounds) add(r *record.Record) {
	b.records++
	b.verdicts.add(r.Verdict)
	if claimsLower(r) {
		b.lower.Add(float64(r.PLower))
	}
	b.upper.Add(float64(r.PUpper))
	b.decisions.Add(r)
	b.outputs.Add(r)
	b.each.Add(r)
	b.inputs.Add(r)
	if r.TimedOut() {
		b.stopped++
	}
	if r.Seconds != nil {
		b.timed++
		b.seconds += *r.Seconds
	}
}

// drawn counts statistical intervals.
type drawn struct {
	lower, upper record.Sum
	above, below int
	confidence   float64
}

func (d *drawn) add(r *record.Record) {
	s := r.Statistical
	if d.lower.N() == 0 {
		d.confidence = 1
	}
	d.lower.Add(float64(s.Lower))
	d.upper.Add(float64(s.Upper))
	d.confidence = min(d.confidence, s.Confidence)
	if s.Lower.Exact().Cmp(r.Require) >= 0 {
		d.above++
	} else if s.Upper.Exact().Cmp(r.Require) < 0 {
		d.below++
	}
}

// limit is a decimal with the float64 nearest to it.
type limit struct {
	exact property.Exact
	near  float64
}

func limitOf(e property.Exact) limit { return limit{e, e.Approx()} }

var (
	limits [len(Limits)]limit
	edges  [Bins]limit
)

func init() {
	for i, text := range Limits {
		limits[i] = limitOf(property.MustExact(text))
	}
	for i := range edges {
		edges[i] = limitOf(fraction(i))
	}
}

// atLeast compares a bound, as records write it, with a limit. The decimal is near enough to p
// that only where p is the limit's float64 it has to be asked.
func atLeast(p float64, decimal func() property.Exact, l limit) bool {
	if p != l.near {
		return p > l.near
	}
	return decimal().Cmp(l.exact) >= 0
}

// bin is the part of [0, 1] that a bound is in, from its lower edge on; 1 is in the last.
func bin(p float64, decimal func() property.Exact) int {
	i := max(0, min(Bins-1, int(math.Round(p*Bins))))
	if !atLeast(p, decimal, edges[i]) {
		i--
	}
	return i
}

// words counts different texts, of which it keeps so many.
type words struct {
	counts map[string]int
}

const (
	mostWords   = 200
	longestWord = 200 // bytes
	others      = "others"
)

// add counts a text and returns what it was counted as.
func (w *words) add(text string) string {
	if len(text) > longestWord {
		text = strings.ToValidUTF8(text[:longestWord], "") + "..."
	}
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	if _, known := w.counts[text]; !known {
		if len(w.counts) >= mostWords {
			text = others
		}
		text = strings.Clone(text)
	}
	w.counts[text]++
	return text
}

// list has the texts with their counts, the most frequent first.
func (w *words) list() []Count {
	list := []Count{}
	for text, n := range w.counts {
		list = append(list, Count{text, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Records, a.Records), cmp.Compare(a.Is, b.Is)) })
	return list
}
