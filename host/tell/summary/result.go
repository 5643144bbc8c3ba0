package summary

import (
	"fmt"

	"psafe/host/read/property"
	"psafe/host/record"
)

// Result holds what psafe summary --json prints (docs/reference.md).
type Result struct {
	Records   int    `json:"records"`
	Guarantee string `json:"guarantee"`
	// Contradictions are pairs of certified bounds of which one must be wrong, Outside
	// statistical intervals outside of certified bounds, which their confidence allows.
	Contradictions []Contradiction `json:"contradictions"`
	Outside        []Contradiction `json:"intervals_outside"`
	// Questions is how many different P_safe the records are about; NotCompared counts the
	// records that were held against nothing, since there were too many.
	Questions   int `json:"questions"`
	NotCompared int `json:"not_compared"`

	Means
	Requires  []Required   `json:"requires"`
	Shares    []Share      `json:"shares"`
	Histogram []Bin        `json:"histogram"`
	Intervals *Statistical `json:"statistical"`
	// ShareOf says which networks P_safe is a share of, if posteriors are finite sets, and Parents is
	// about intervals for the posteriors that these were drawn from.
	ShareOf string `json:"share_of,omitempty"`
	// Features says that T is a set of features, where it is.
	Features   string       `json:"features,omitempty"`
	Parents    *Statistical `json:"parents,omitempty"`
	PeakBytes  int64        `json:"peak_bytes,omitempty"`
	Precisions []Count      `json:"precisions"`
	Devices    []Count      `json:"devices"`
	Numerics   []Count      `json:"numerics"`
	Versions   []Count      `json:"versions"`

	Groups []Group `json:"groups"`
	// OtherInputs reports whether groups which differ in the radius alone are about other inputs.
	OtherInputs bool `json:"other_inputs,omitempty"`
	// Radii holds the radii that were looked for, if there are any.
	Radii []RadiiGroup `json:"radii,omitempty"`
	// Rest are the records of further groups together, if there are any.
	Rest *Means `json:"further_groups,omitempty"`

	Runs       []Run `json:"runs"`
	NotCovered int   `json:"not_covered"`
	// Weakest are those with the lowest p_lower of the records that are not unsafe, LowestUpper
	// those with the lowest p_upper of those that are.
	Weakest     []Weak `json:"weakest"`
	LowestUpper []Weak `json:"lowest_p_upper"`
}

// Count is how many records say a word.
type Count struct {
	Is      string `json:"is"`
	Records int    `json:"records"`
}

// Means are counts and means of some records. MeanPLower is rounded down and MeanPUpper up;
// the first is nil where no record says anything of p_lower, and counts the others alone.
type Means struct {
	Verdicts
	Stopped    int          `json:"stopped"`
	WithPLower int          `json:"with_p_lower"`
	MeanPLower *record.Down `json:"mean_p_lower"`
	MeanPUpper record.Up    `json:"mean_p_upper"`
	Seconds    float64      `json:"seconds"`
	Timed      int          `json:"with_seconds"`
	// Each is about the worst points of T, if any were asked for.
	Each *Each `json:"each,omitempty"`
	// Decisions holds the decisions of posterior predictives, if there are any.
	Decisions *Decisions `json:"decisions,omitempty"`
	// OutputMeans count verdicts about means of outputs, if there are any.
	OutputMeans *record.OutputMeans `json:"output_means,omitempty"`
}

// Each counts the records with each_lower, and those where it is at least what is required.
type Each struct {
	Records   int         `json:"records"`
	Safe      int         `json:"safe"`
	MeanLower record.Down `json:"mean_each_lower"`
	words     string
}

// Required are the verdicts of the records with one limit.
type Required struct {
	Require string `json:"require"`
	Verdicts
}

// Share is how many records have p_lower at least so much.
type Share struct {
	AtLeast string `json:"p_lower_at_least"`
	Records int    `json:"records"`
}

// Bin counts the bounds from From on and below To; the last has 1 too.
type Bin struct {
	From   property.Exact `json:"from"`
	To     property.Exact `json:"to"`
	PLower int            `json:"p_lower"`
	PUpper int            `json:"p_upper"`
}

// Statistical is about intervals, which are no certificates.
type Statistical struct {
	Intervals  int         `json:"intervals"`
	Confidence float64     `json:"least_confidence"`
	MeanLower  record.Down `json:"mean_lower"`
	MeanUpper  record.Up   `json:"mean_upper"`
	// Above are intervals from the record's require on, Below those below it.
	Above     int    `json:"above_require"`
	Below     int    `json:"below_require"`
	Statement string `json:"statement"`
}

// Decisions are about classes that posterior predictives decide for.
type Decisions struct {
	Decisions int         `json:"decisions"`
	Safe      int         `json:"decision_safe"`
	Unsafe    int         `json:"decision_unsafe"`
	Unknown   int         `json:"unknown"`
	MeanLower record.Down `json:"mean_lower"`
	Vote      int         `json:"vote"`
	// Actions are decisions by costs, of which the verdicts are about actions; NoOther are those with a
	// threshold where no other class than that of the label is taken anywhere, Taken those where that
	// class is taken everywhere, Abstained those where none is taken anywhere.
	Actions int `json:"by_costs,omitempty"`
	// Probit holds those whose predictive is the probit approximation.
	Probit    int  `json:"by_probit,omitempty"`
	NoOther   *int `json:"no_other,omitempty"`
	Taken     *int `json:"class_taken,omitempty"`
	Abstained *int `json:"abstained,omitempty"`

	*Robust
}

// Robust has bounds of the share of inputs whose class is the predictive's everywhere on T (with a threshold is taken
// everywhere, and by other costs whose action is), and a lower
// bound of the share of those for which it has a majority of the networks everywhere. If classes are the
// true labels, that is the robust accuracy on these inputs. It is there if records are about different
// inputs of one file, with one posterior and radius, and groups have it if all are about the same inputs:
// those of psafe radius are chosen by their verdicts.
type Robust struct {
	Lower record.Down `json:"robust_lower"`
	Upper record.Up   `json:"robust_upper"`
	Vote  record.Down `json:"robust_vote"`
}

// Group is a group of records.
type Group struct {
	About
	Records int `json:"records"`
	Means
}

// Run holds what there is of the tasks of a run.
type Run struct {
	Run     string `json:"run"`
	Tasks   int    `json:"tasks"`
	Present int    `json:"present"`
	Missing string `json:"missing"`
	More    int    `json:"more_than_once"`
	Twice   string `json:"more_than_once_tasks"`
}

// Contradiction is a pair of records.
type Contradiction struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Words string `json:"words"`
}

const notCertified = "statistical, not certified: each interval holds with its confidence over the seeded draws"

func (b *bounds) means() Means {
	m := Means{Verdicts: b.verdicts, Stopped: b.stopped, WithPLower: b.lower.N(), MeanPUpper: record.Up(b.upper.MeanUp()), Seconds: b.seconds, Timed: b.timed}
	if b.lower.N() > 0 {
		mean := record.Down(b.lower.MeanDown())
		m.MeanPLower = &mean
	}
	if e := &b.each; e.N > 0 {
		m.Each = &Each{e.N, e.Safe, e.MeanLower(), e.Counts()}
	}
	if b.outputs.N > 0 {
		m.OutputMeans = new(b.outputs)
	}
	if d := &b.decisions; d.N > 0 {
		m.Decisions = &Decisions{d.N, d.Safe, d.Unsafe, d.Unknown(), d.MeanLower(), d.Vote, d.Actions, d.Probit, nil, nil, nil, nil}
		if d.Rejecting > 0 {
			m.Decisions.NoOther, m.Decisions.Taken, m.Decisions.Abstained = new(d.NoOther), new(d.Taken), new(d.Abstained)
		}
		if d.DataSet() {
			lower, upper := d.Robust()
			m.Decisions.Robust = &Robust{lower, upper, d.RobustVote()}
		}
	}
	return m
}

// Result returns what was added so far.
func (s *Summary) Result() *Result {
	r := &Result{
		Records: s.records, Guarantee: s.guarantee, Questions: s.questions.Len(), NotCompared: s.questions.Skipped(), Means: s.means(), PeakBytes: s.peak,
		Precisions: s.precisions.list(), Devices: s.devices.list(), Numerics: s.numerics.list(), Versions: s.versions.list(), NotCovered: s.coverage.Skipped,
		Weakest: s.weakest.result(), LowestUpper: s.unsafe.result(), Contradictions: []Contradiction{}, Outside: []Contradiction{}, Groups: []Group{}, Runs: []Run{},
	}
	for _, c := range s.questions.Contradictions() {
		pair := Contradiction{c.A, c.B, c.Words}
		if c.Certified {
			r.Contradictions = append(r.Contradictions, pair)
		} else {
			r.Outside = append(r.Outside, pair)
		}
	}
	for _, of := range s.requires.list() {
		r.Requires = append(r.Requires, Required{of.Is, *s.byRequire[of.Is]})
	}
	for i, limit := range Limits {
		r.Shares = append(r.Shares, Share{limit, s.shares[i]})
	}
	for i := range Bins {
		r.Histogram = append(r.Histogram, Bin{fraction(i), fraction(i + 1), s.lower[i], s.upper[i]})
	}
	if d := &s.drawn; d.lower.N() > 0 {
		r.Intervals = &Statistical{d.lower.N(), d.confidence, record.Down(d.lower.MeanDown()), record.Up(d.upper.MeanUp()), d.above, d.below, notCertified}
	}
	r.ShareOf, r.Features = s.sets.Words(), s.sets.Features()
	if p := &s.parents; p.N > 0 {
		lower, upper := p.Means()
		r.Parents = &Statistical{p.N, p.Confidence, lower, upper, p.Above, p.Below, "statistical, not certified: each interval holds with its confidence for " + p.Of()}
	}
	groups := s.groups.sorted()
	other := otherInputs(groups)
	for _, g := range groups {
		means := g.means()
		if other[g.butRadius()] {
			if r.OtherInputs = true; means.Decisions != nil {
				means.Decisions.Robust = nil
			}
		}
		r.Groups = append(r.Groups, Group{g.About, g.records, means})
	}
	r.Radii = s.radii.result(s.At)
	if rest := &s.groups.rest; rest.records > 0 {
		means := rest.means()
		r.Rest = &means
	}
	for _, of := range s.coverage.Runs() {
		r.Runs = append(r.Runs, Run{of.Run, of.Tasks, of.Present, of.Missing, of.More, of.Twice})
	}
	return r
}

// fraction is an edge of the distribution.
func fraction(i int) property.Exact { return property.MustExact(fmt.Sprintf("%d/%d", i, Bins)) }
