// Package record reads and writes result records: one JSON object a line, its reader, means of
// several records, and a table for people. What it prints of a bound is rounded to the safe side.
package record

import (
	"math"
	"reflect"

	"psafe/host/arith"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// Guarantee is the strength of every p_lower and p_upper in a record: what is
// proved, about which function.
const Guarantee = "certified bounds, real arithmetic, rounding included"

// Record is one result, self-contained. Field order is the order in the file.
type Record struct {
	Index    int    `json:"index"`
	Name     string `json:"name,omitempty"`
	Label    *int   `json:"label"`
	Property string `json:"property"`
	// Eps, Clip and InputScale are as typed; with the inputs they say what T is.
	Eps        string   `json:"eps,omitempty"`
	Clip       []string `json:"clip,omitempty"`
	Norm       string   `json:"norm,omitempty"`
	InputScale string   `json:"input_scale,omitempty"`
	// EpsSHA256 and ClipSHA256 are digests of the files that Eps and Clip name; Fix and Free are
	// as typed.
	EpsSHA256  string `json:"eps_sha256,omitempty"`
	ClipSHA256 string `json:"clip_sha256,omitempty"`
	Fix        string `json:"fix,omitempty"`
	Free       string `json:"free,omitempty"`
	// Mean and Std take raw inputs to those of the network, as typed or the word FromPosterior,
	// with the digests of the files that they name. Channels is the order of images, if it was
	// given or they were reordered.
	Mean       string `json:"mean,omitempty"`
	MeanSHA256 string `json:"mean_sha256,omitempty"`
	Std        string `json:"std,omitempty"`
	StdSHA256  string `json:"std_sha256,omitempty"`
	Channels   string `json:"channels,omitempty"`
	// Template is the file of properties relative to points, with its digest, TemplateEntry
	// which of them the record is about.
	Template       string `json:"template,omitempty"`
	TemplateSHA256 string `json:"template_sha256,omitempty"`
	TemplateEntry  *int   `json:"template_entry,omitempty"`
	// Flags holds the flags that decide the numbers and that no other field tells.
	Flags string `json:"flags,omitempty"`
	// RadiusEnd is one of RadiusEndWords where Eps was looked for.
	RadiusEnd string `json:"radius_end,omitempty"`

	// Method holds what gave p_lower, for "auto" the method that gave the best.
	Method string `json:"method"`
	// Gamma is the half-width of weight boxes in standard deviations; absent where there are none.
	Gamma float64 `json:"gamma,omitempty"`
	// Samples counts drawn boxes, or the networks of a finite posterior.
	Samples   int  `json:"samples,omitempty"`
	Tried     int  `json:"boxes_tried,omitempty"`
	SafeBoxes *int `json:"safe_boxes,omitempty"`

	// Cells is how many cells T was cut into, Tau the largest failure budget of a
	// hidden bound, for methods without boxes.
	Cells int     `json:"cells,omitempty"`
	Tau   float64 `json:"tau,omitempty"`
	// Networks is how many networks the posterior is, if it is a set of several: P_safe is then a
	// share of these and speaks of no other.
	Networks int `json:"networks,omitempty"`
	// SafeSamples and UnsafeSamples count the networks of a finite posterior that
	// were proved safe and unsafe.
	SafeSamples   *int `json:"safe_samples,omitempty"`
	UnsafeSamples *int `json:"unsafe_samples,omitempty"`
	// Parent is about the posterior that these networks were drawn from, where the file says so.
	Parent *Parent `json:"parent,omitempty"`

	// PLower <= P_safe, rounded down; Log10PLower <= log10 P_safe, null for -Inf.
	PLower      Down  `json:"p_lower"`
	Log10PLower *Down `json:"log10_p_lower"`
	// PUpper >= P_safe, rounded up; 1 says nothing.
	PUpper Up `json:"p_upper"`
	// EachLower <= inf over x in T of Prob(f(x) in S), rounded down; there on request.
	EachLower *Down `json:"each_lower,omitempty"`
	// Quantile is there on request.
	Quantile *Quantile `json:"quantile,omitempty"`
	// Derived is there on request.
	Derived *Derived `json:"derived,omitempty"`
	// Decision is there on request.
	Decision *Decision `json:"decision,omitempty"`
	// Mean is there on request.
	OutputMean *OutputMean `json:"output_mean,omitempty"`
	// Statistical holds with a confidence and is no certificate.
	Statistical *Statistical `json:"statistical,omitempty"`
	// Log10Ceiling bounds what the drawn boxes could hold.
	Log10Ceiling *Up    `json:"log10_ceiling,omitempty"`
	Rule         string `json:"rule,omitempty"`
	// Margin is the best lower bound of a margin over the boxes.
	Margin  *Down          `json:"margin"`
	Require property.Exact `json:"require"`
	// Verdict is "safe" (p_lower >= require), "unsafe" (p_upper < require) or
	// "unknown", by the certified bounds alone: by their decimals, as they are written.
	Verdict   string `json:"verdict"`
	Guarantee string `json:"guarantee"`
	// Stopped is "time limit" or "require" where the search was ended before it was done, as its
	// time was up or the verdict known: the bounds are what was proved until then.
	Stopped string `json:"stopped,omitempty"`

	Precision string   `json:"precision"`
	Device    string   `json:"device"`
	Seed      uint64   `json:"seed"`
	Seconds   *float64 `json:"seconds,omitempty"`
	// PeakBytes is the most memory that the process had held by then, where the system
	// says so.
	PeakBytes       *int64 `json:"peak_bytes,omitempty"`
	Posterior       string `json:"posterior"`
	PosteriorSHA256 string `json:"posterior_sha256"`
	PosteriorScale  string `json:"posterior_scale"`
	// Predictive is "linearised" where the functions are those of networks linearised about the mean.
	Predictive string `json:"predictive,omitempty"`
	// InputNoise is the standard deviation of the noise of the inputs, in the units of the data, or one of each,
	// as typed; InputNoiseSHA256 is the digest of its file.
	InputNoise       string `json:"input_noise,omitempty"`
	InputNoiseSHA256 string `json:"input_noise_sha256,omitempty"`
	// Relation is that of two inputs whose outputs the record is about, or of the outputs of two networks, as typed.
	Relation string `json:"relation,omitempty"`
	// Other names the file of the other network, as typed, or is "mean"; OtherSHA256 is the digest of the file.
	Other       string `json:"other,omitempty"`
	OtherSHA256 string `json:"other_sha256,omitempty"`
	// FeaturesOf names the network whose features T is about, if the posterior's file says so; then nothing
	// is said of that network's inputs.
	FeaturesOf string `json:"features_of,omitempty"`
	// PosteriorSD says what the standard deviations of an ONNX network are: "0", "0.05",
	// "relative 0.01" or "file sd", which is PosteriorSDFile.
	PosteriorSD     string `json:"posterior_sd,omitempty"`
	PosteriorSDFile string `json:"posterior_sd_file,omitempty"`
	PosteriorSDSHA  string `json:"posterior_sd_sha256,omitempty"`
	// Activations holds the activations of the hidden layers.
	Activations  []string `json:"activations"`
	Inputs       string   `json:"inputs,omitempty"`
	InputsSHA256 string   `json:"inputs_sha256,omitempty"`
	Version      string   `json:"version"`
	// Numerics is prove.Numerics of the program: records of the same question and the same
	// numerics have the same bounds.
	Numerics int `json:"numerics"`

	// ID is the same for records of the same question and for no others (Identify).
	ID string `json:"id"`
	// Task is the number of this task, from 0, among the Tasks of its run; Run is the same
	// for all records of a run and for no other run's (RunID).
	Task  int    `json:"task"`
	Tasks int    `json:"tasks"`
	Run   string `json:"run"`
	// Proof holds what psafe check needs to prove the bounds again.
	Proof *claim.Proof `json:"proof,omitempty"`
	// The line ends with a checksum of what is before it: Line, ParseRecord.
}

// Statistical is an interval for P_safe at a level of confidence.
type Statistical struct {
	Samples    int     `json:"samples"`
	Safe       int     `json:"safe"`
	Unsafe     int     `json:"unsafe"`
	Confidence float64 `json:"confidence"`
	Lower      Down    `json:"lower"`
	Upper      Up      `json:"upper"`
	Statement  string  `json:"statement"`
}

// Parent is an interval for P_safe of the posterior that the networks of a finite one are
// independent draws of, which Of names: that of Clopper and Pearson for the networks that were proved
// safe and unsafe.
type Parent struct {
	Of         string  `json:"of"`
	Confidence float64 `json:"confidence"`
	Lower      Down    `json:"lower"`
	Upper      Up      `json:"upper"`
	Statement  string  `json:"statement"`
}

// Quantile is about the worst margin over T: it is below Lower with probability Level at most; null if nothing is
// proved.
type Quantile struct {
	Level property.Exact `json:"level"`
	Lower *Down          `json:"lower"`
}

// Derived are bounds about single points x of T: of Prob(f(x) in S) at its least, and of
// the mean of a property row at its least, null if S is not one conjunction.
type Derived struct {
	InfProbLower Down  `json:"inf_prob_lower"`
	InfProbUpper Up    `json:"inf_prob_upper"`
	InfMeanLower *Down `json:"inf_mean_lower"`
}

// Decision bounds what the posterior predictive pi_k(x) = E softmax_k(f(x)) decides on T, for the class c
// of the label (claim.Decision).
type Decision struct {
	// Verdict holds the verdict of claim.Decision, by the decimals as they are written.
	Verdict    string `json:"verdict"`
	Lower      Down   `json:"lower"`
	RivalUpper Up     `json:"rival_upper"`
	Gap        Down   `json:"gap"`
	Vote       Down   `json:"vote"`
	// ClassUpper bounds pi_k for each class k, c itself with 1.
	ClassUpper []Up `json:"class_upper,omitempty"`
	// DrawnLower is of the drawn networks alone, where there are such.
	DrawnLower *Down `json:"drawn_lower,omitempty"`
	// ClassOf is ClassOfMean where the mean network says c, empty where somebody else does.
	ClassOf string `json:"class_of,omitempty"`
	// RivalGap is there where another class was proved to have more at a point of T, or another action
	// to be cheaper.
	RivalGap *Down `json:"rival_gap,omitempty"`
	// Action is the one that is proved, where costs decide.
	Action *int `json:"action,omitempty"`
}

// ClassOfMean is the word for the class that the mean network says.
const ClassOfMean = "mean"

// OutputMean bounds the mean over the posterior of each output, on T (claim.Mean).
type OutputMean struct {
	// Verdict holds the verdict of claim.Mean, by the decimals as they are written.
	Verdict string `json:"verdict"`
	Lower   []Down `json:"lower"`
	Upper   []Up   `json:"upper"`
	// SDLower and SDUpper bound the standard deviation of each output over the posterior, and TotalSDLower
	// and TotalSDUpper that with the noise of the data, which the user states; omitted if nobody does.
	SDLower      []Down `json:"sd_lower"`
	SDUpper      []Up   `json:"sd_upper"`
	TotalSDLower []Down `json:"total_sd_lower,omitempty"`
	TotalSDUpper []Up   `json:"total_sd_upper,omitempty"`
}

// meanOf returns what a record says of means: nil unless all are bounded.
func meanOf(m *claim.Mean, s *property.Safe) *OutputMean {
	r := &OutputMean{Verdict: m.Verdict(s)}
	for i := range m.Lower {
		if !(m.Lower[i] >= -math.MaxFloat64 && m.Upper[i] <= math.MaxFloat64 && m.DeviationUpper[i] <= math.MaxFloat64) {
			return nil
		}
		r.Lower, r.Upper = append(r.Lower, Down(m.Lower[i])), append(r.Upper, Up(m.Upper[i]))
		r.SDLower, r.SDUpper = append(r.SDLower, Down(m.DeviationLower[i])), append(r.SDUpper, Up(m.DeviationUpper[i]))
		if m.TotalLower != nil {
			r.TotalSDLower, r.TotalSDUpper = append(r.TotalSDLower, Down(m.TotalLower[i])), append(r.TotalSDUpper, Up(m.TotalUpper[i]))
		}
	}
	return r
}

// LoopStatement says what the upper end of an interval is that is of a closed loop.
const LoopStatement = "statistical: upper holds with the stated confidence over the seeded draws, not certified"

// NewStatistical is a statistic as records write it.
func NewStatistical(s *claim.Statistic, statement string) *Statistical {
	return &Statistical{s.Samples, s.Safe, s.Unsafe, s.Confidence, Down(s.Lower), Up(s.Upper), statement}
}

// statement says what an interval is.
const statement = "statistical: this input's interval holds with the stated confidence over the seeded draws, not certified"

// parentStatement says what an interval for the parent posterior is.
const parentStatement = "statistical: this input's interval for the posterior that the networks were drawn from holds with the stated confidence if the draws are independent, not certified"

// Radius is about the radius of T, for an axis: an error if it is none, or no one number.
func (r *Record) Radius() (float64, error) {
	eps, err := property.NewExact(r.Eps)
	return eps.Approx(), err
}

// SetTask sets the fields that follow from a task, whatever comes out of it.
func (r *Record) SetTask(t *property.Task) {
	r.Index, r.Name, r.Label = t.Index, t.Name, nil
	r.Eps, r.EpsSHA256 = t.Eps, t.EpsSHA256
	if r.TemplateSHA256 = t.TemplateSHA256; r.TemplateSHA256 != "" {
		entry := t.Template
		r.TemplateEntry = &entry
	}
	if t.Label >= 0 {
		label := t.Label
		r.Label = &label
	}
}

// Fill sets the fields that follow from a result.
func (r *Record) Fill(res *claim.Result, require property.Exact) {
	r.SetTask(res.Task)
	r.Tried, r.Rule = res.Boxes, res.Rule
	_, r.Method = Recorded("method", res.Method)
	r.Cells, r.Tau = res.Cells, res.Tau
	if res.Method == prove.Finite.String() {
		r.SafeSamples, r.UnsafeSamples = &res.SafeSamples, &res.UnsafeSamples
	}
	method, _ := prove.ParseMethod(res.Method)
	if method.OfBoxes() {
		r.SafeBoxes = &res.SafeBoxes
	}
	if res.Method != prove.Statistical.String() {
		r.Samples = res.Samples // those of statistical are in its own field
	}
	r.Gamma = res.Gamma
	r.PLower, r.PUpper = Down(res.Lower()), Up(res.Upper())
	if d := res.Derived; d != nil {
		r.Derived = &Derived{Down(d.ProbLower), Up(d.ProbUpper), finite[Down](d.MeanLower)}
	}
	if d := res.Each; d != nil {
		r.EachLower = finite[Down](d.Lower)
	}
	if q := res.Quantile; q != nil {
		r.Quantile = &Quantile{q.Level, finite[Down](q.Lower)}
	}
	if d := res.Decision; d != nil {
		r.Decision = &Decision{Verdict: d.Verdict(), Lower: Down(d.Lower), RivalUpper: Up(d.RivalUpper), Gap: Down(d.Gap), Vote: Down(d.Vote), Action: d.Action}
		if res.Task.ByMean {
			r.Decision.ClassOf = ClassOfMean
		}
		for _, u := range d.ClassUpper {
			r.Decision.ClassUpper = append(r.Decision.ClassUpper, Up(u))
		}
		if d.DrawnLower != nil {
			r.Decision.DrawnLower = finite[Down](*d.DrawnLower)
		}
		if d.RivalGap > 0 {
			r.Decision.RivalGap = finite[Down](d.RivalGap)
		}
	}
	if m := res.Mean; m != nil {
		r.OutputMean = meanOf(m, &res.Task.S)
	}
	if s := res.Statistic; s != nil {
		r.Statistical = NewStatistical(s, statement)
	}
	if s := res.Parent; s != nil {
		r.Parent = &Parent{s.Of, s.Confidence, Down(s.Lower), Up(s.Upper), parentStatement}
	}
	r.Log10PLower = finite[Down](arith.Log10Down(res.LogP))
	if method.OfBoxes() {
		r.Log10Ceiling = finite[Up](res.CeilingLog10)
	}
	r.Margin = finite[Down](res.Margin)
	r.Decide(require)
	r.Stopped = res.Stopped
	r.Proof = r.proofOf(res)
	r.Device = res.Device
	if res.Precision != "" {
		r.Precision = res.Precision
	}
	seconds := math.Round(res.Seconds*1e6) / 1e6
	r.Seconds = &seconds
}

// proofOf is the part of a result's proof that its bounds rest on, nil if none is needed.
func (r *Record) proofOf(res *claim.Result) *claim.Proof {
	p := res.Proof
	if r.PLower == 0 && r.Log10PLower == nil {
		p.Cells, p.Grids, p.Centres, p.Large, p.Rows = nil, nil, nil, nil, nil
		p.Plans, p.Tau, p.Lines, p.Boxes, p.Mixtures = nil, nil, nil, nil, nil
	}
	if r.PUpper == 1 {
		p.Upper = nil
	}
	if p.Each != nil && (r.EachLower == nil || *r.EachLower <= r.PLower || reflect.ValueOf(*p.Each).IsZero()) {
		p.Each = nil
	}
	if p.Decision != nil && reflect.ValueOf(*p.Decision).IsZero() {
		p.Decision = nil
	}
	if p.Mean != nil && (r.OutputMean == nil || reflect.ValueOf(*p.Mean).IsZero()) {
		p.Mean = nil
	}
	if reflect.ValueOf(p).IsZero() {
		return nil
	}
	return &p
}

// Decide sets what follows from the bounds.
func (r *Record) Decide(require property.Exact) {
	r.Require, r.Verdict, r.Guarantee = require, Verdict(float64(r.PLower), float64(r.PUpper), require), Guarantee
}

// Unknown is the verdict where neither bound decides.
const Unknown = "unknown"

// Verdict returns what bounds decide, by their decimals as records write them.
func Verdict(lower, upper float64, require property.Exact) string {
	switch {
	case lower > 0 && Down(lower).Exact().Cmp(require) >= 0:
		return "safe"
	case Up(upper).Exact().Cmp(require) < 0:
		return "unsafe"
	}
	return Unknown
}

// TimedOut reports whether a time limit ended the search: a longer time might prove more.
func (r *Record) TimedOut() bool { return r.Stopped == claim.TimeLimit }

// finite is a bound, nil if it is none.
func finite[B ~float64](x float64) *B {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	b := B(x)
	return &b
}
