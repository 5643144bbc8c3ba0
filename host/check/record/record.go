// Package record reads a line of a result file, strictly, and finds contradictions in it, without
// reading any other file.
package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"psafe/host/read/property"
)

// Guarantee is what every record says of its bounds.
const Guarantee = "certified bounds, real arithmetic, rounding included"

// Record is a line of a result file, as docs/reference.md describes it. Numbers that are bounds
// are kept as they are written: what is checked is the decimal. Fields with omitempty are left out
// where they say nothing, all others are always there (formed).
type Record struct {
	Index      int      `json:"index"`
	Name       string   `json:"name,omitempty"`
	Label      *int     `json:"label"`
	Property   string   `json:"property"`
	Eps        string   `json:"eps,omitempty"`
	Clip       []string `json:"clip,omitempty"`
	Norm       string   `json:"norm,omitempty"`
	InputScale string   `json:"input_scale,omitempty"`

	EpsSHA256      string `json:"eps_sha256,omitempty"`
	ClipSHA256     string `json:"clip_sha256,omitempty"`
	Fix            string `json:"fix,omitempty"`
	Free           string `json:"free,omitempty"`
	Mean           string `json:"mean,omitempty"`
	MeanSHA256     string `json:"mean_sha256,omitempty"`
	Std            string `json:"std,omitempty"`
	StdSHA256      string `json:"std_sha256,omitempty"`
	Channels       string `json:"channels,omitempty"`
	Template       string `json:"template,omitempty"`
	TemplateSHA256 string `json:"template_sha256,omitempty"`
	TemplateEntry  *int   `json:"template_entry,omitempty"`

	Flags     string `json:"flags"`
	RadiusEnd string `json:"radius_end,omitempty"`

	Method        string    `json:"method"`
	Gamma         float64   `json:"gamma,omitempty"`
	Samples       int       `json:"samples,omitempty"`
	Tried         int       `json:"boxes_tried,omitempty"`
	SafeBoxes     *int      `json:"safe_boxes,omitempty"`
	Cells         int       `json:"cells,omitempty"`
	Tau           float64   `json:"tau,omitempty"`
	Networks      int       `json:"networks,omitempty"`
	SafeSamples   *int      `json:"safe_samples,omitempty"`
	UnsafeSamples *int      `json:"unsafe_samples,omitempty"`
	Parent        *parent   `json:"parent,omitempty"`
	PLower        *Decimal  `json:"p_lower"`
	Log10PLower   *Decimal  `json:"log10_p_lower"`
	PUpper        *Decimal  `json:"p_upper"`
	EachLower     *Decimal  `json:"each_lower,omitempty"`
	Quantile      *quantile `json:"quantile,omitempty"`
	Derived       *derived  `json:"derived,omitempty"`
	Decision      *decision `json:"decision,omitempty"`
	OutputMean    *mean     `json:"output_mean,omitempty"`
	Statistical   *Interval `json:"statistical,omitempty"`
	Log10Ceiling  *Decimal  `json:"log10_ceiling,omitempty"`
	Rule          string    `json:"rule,omitempty"`
	Margin        *Decimal  `json:"margin"`
	Require       *Decimal  `json:"require"`
	Verdict       string    `json:"verdict"`
	Guarantee     string    `json:"guarantee"`
	Stopped       string    `json:"stopped,omitempty"`

	Precision       string   `json:"precision"`
	Device          string   `json:"device"`
	Seed            uint64   `json:"seed"`
	Seconds         *float64 `json:"seconds,omitempty"`
	PeakBytes       *int64   `json:"peak_bytes,omitempty"`
	Posterior       string   `json:"posterior"`
	PosteriorSHA256 string   `json:"posterior_sha256"`
	PosteriorScale  string   `json:"posterior_scale"`
	Predictive      string   `json:"predictive,omitempty"`
	InputNoise      string   `json:"input_noise,omitempty"`
	InputNoiseSHA   string   `json:"input_noise_sha256,omitempty"`
	Relation        string   `json:"relation,omitempty"`
	Other           string   `json:"other,omitempty"`
	OtherSHA256     string   `json:"other_sha256,omitempty"`
	FeaturesOf      string   `json:"features_of,omitempty"`
	PosteriorSD     string   `json:"posterior_sd,omitempty"`
	PosteriorSDFile string   `json:"posterior_sd_file,omitempty"`
	PosteriorSDSHA  string   `json:"posterior_sd_sha256,omitempty"`
	Activations     []string `json:"activations"`
	Inputs          string   `json:"inputs,omitempty"`
	InputsSHA256    string   `json:"inputs_sha256,omitempty"`
	Version         string   `json:"version"`
	Numerics        int      `json:"numerics"`

	ID       string `json:"id"`
	Task     int    `json:"task"`
	Tasks    int    `json:"tasks"`
	Run      string `json:"run"`
	Proof    proof  `json:"proof,omitempty"`
	Checksum string `json:"checksum"`
}

// quantile is a lower bound of the worst margin that all but a share of networks keep.
type quantile struct {
	Level *Decimal `json:"level"`
	Lower *Decimal `json:"lower"`
}

// derived are bounds about single points.
type derived struct {
	InfProbLower *Decimal `json:"inf_prob_lower"`
	InfProbUpper *Decimal `json:"inf_prob_upper"`
	InfMeanLower *Decimal `json:"inf_mean_lower"`
}

// Interval is a statistical statement.
type Interval struct {
	Samples    int      `json:"samples"`
	Safe       int      `json:"safe"`
	Unsafe     int      `json:"unsafe"`
	Confidence *Decimal `json:"confidence"`
	Lower      *Decimal `json:"lower"`
	Upper      *Decimal `json:"upper"`
	Statement  string   `json:"statement"`
}

// Parse reads a line, without its end.
func Parse(line []byte) (*Record, error) {
	const digits = 16
	field := []byte(`,"checksum":"`)
	at := bytes.LastIndex(line, field)
	if at < 0 {
		return nil, fmt.Errorf("checksum: there is none")
	}
	sum := sha256.Sum256(line[:at])
	if want := hex.EncodeToString(sum[:])[:digits]; string(line[at+len(field):]) != want+`"}` {
		return nil, fmt.Errorf("checksum: it is not that of the line: the line was changed")
	}
	var r Record
	if err := Strictly(line, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// decision holds what a record claims of the class c of its label: pi_c(x) >= Lower, pi_k(x) <= RivalUpper
// and <= ClassUpper[k], and pi_c(x) - pi_k(x) >= Gap for all x of T and all other classes k, that at every x a share of at least
// Vote of the networks says c, and that pi_k(x) - pi_c(x) >= RivalGap at a witness. With an Action, Gap
// and RivalGap are about costs.
type decision struct {
	Verdict    string     `json:"verdict"`
	Lower      *Decimal   `json:"lower"`
	RivalUpper *Decimal   `json:"rival_upper"`
	Gap        *Decimal   `json:"gap"`
	Vote       *Decimal   `json:"vote"`
	ClassUpper []*Decimal `json:"class_upper,omitempty"`
	DrawnLower *Decimal   `json:"drawn_lower,omitempty"`
	RivalGap   *Decimal   `json:"rival_gap,omitempty"`
	ClassOf    string     `json:"class_of,omitempty"`
	Action     *int       `json:"action,omitempty"`
}

// mean holds what a record claims: Lower[i] <= E f_i(x) <= Upper[i] for all x of T, and SDLower[i] and
// SDUpper[i] bound the standard deviation of f_i(x), the others that with the noise of the flags.
type mean struct {
	Verdict string     `json:"verdict"`
	Lower   []*Decimal `json:"lower"`
	Upper   []*Decimal `json:"upper"`

	SDLower      []*Decimal `json:"sd_lower"`
	SDUpper      []*Decimal `json:"sd_upper"`
	TotalSDLower []*Decimal `json:"total_sd_lower,omitempty"`
	TotalSDUpper []*Decimal `json:"total_sd_upper,omitempty"`
}

// parent is an interval for P_safe of the posterior that the networks of a set were drawn from.
type parent struct {
	Of         string   `json:"of"`
	Confidence *Decimal `json:"confidence"`
	Lower      *Decimal `json:"lower"`
	Upper      *Decimal `json:"upper"`
	Statement  string   `json:"statement"`
}

// mostLayers is the most that a list with an entry for each layer may have.
const mostLayers = 1 << 16

// Claims reports whether the record claims a lower bound.
func (r *Record) Claims() bool { return !r.PLower.Is(0) || r.Log10PLower != nil }

// Follows returns what follows from the bounds.
func (r *Record) Follows() string {
	switch {
	case r.PLower.Cmp(property.Exact{}) > 0 && r.PLower.Cmp(r.Require.Exact) >= 0:
		return "safe"
	case r.PUpper.Cmp(r.Require.Exact) < 0:
		return "unsafe"
	}
	return "unknown"
}

// verdict returns what follows from the bounds.
func (d *decision) verdict() string {
	zero := property.Exact{}
	switch {
	case d.Gap.Cmp(zero) > 0:
		return "decision_safe"
	case d.RivalGap != nil && d.RivalGap.Cmp(zero) > 0:
		return "decision_unsafe"
	}
	return "unknown"
}

// Claims reports whether the decision, if there is one, claims a bound.
func (d *decision) Claims() bool {
	return d != nil && !(d.Lower.Is(0) && d.RivalUpper.Is(1) && d.Gap.Is(-1) && d.Vote.Is(0) && d.RivalGap == nil &&
		!slices.ContainsFunc(d.ClassUpper, func(u *Decimal) bool { return !u.Is(1) }))
}

// Rules by which the masses of boxes are added up; chain, de Caen and disjoint pieces are others, of
// unions, of which the best one proves.
const (
	LargestBox = "largest box"
	noMass     = "none"
)

const mostBoxes = 256
