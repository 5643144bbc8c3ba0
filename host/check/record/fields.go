package record

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/check/cases"
	"psafe/host/check/sums"
	"psafe/host/read/property"
)

// sizes refuses what is longer than any certificate of certify.
func (r *Record) sizes() error {
	for _, of := range []struct {
		field   string
		n, most int
	}{
		{"activations", len(r.Activations), mostLayers}, {"run", len(r.Run), 64},
		{"proof: cells", len(r.Proof.Cells), mostTree}, {"proof: tau", len(r.Proof.Tau), mostTree}, {"proof: lines", len(r.Proof.Lines), mostTree},
		{"proof: plans", len(r.Proof.Plans), mostTree},
		{"proof: boxes", len(r.Proof.Boxes), mostBoxes},
		{"proof: mixtures", len(r.Proof.Mixtures), cases.MostClauses}, {"proof: large", len(r.Proof.Large), sums.MostPoints},
	} {
		if of.n > of.most {
			return fmt.Errorf("%s: its length is %d, the limit is %d", of.field, of.n, of.most)
		}
	}
	return nil
}

// methodWords are the values of the field method.
var methodWords = []string{"ibp", "lbp", "clbp", "neuronsum", "phases", "chernoff", "samples", "statistical"}

// precisions are the values of the field precision, with the nearest number of each.
var precisions = map[string]func(float64) float64{
	"float32": func(x float64) float64 { return float64(float32(x)) },
	"float64": func(x float64) float64 { return x },
}

// Boxed reports whether the method is about weight boxes, cut whether it cuts T.
func (r *Record) Boxed() bool { return r.Method == "ibp" || r.Method == "lbp" }

func (r *Record) Cut() bool { return r.Method == "clbp" || r.Method == "neuronsum" }

// consistentMethod checks that a record has what its method writes and nothing that another
// does.
func (r *Record) consistentMethod() error {
	switch finite := r.Method == "samples"; {
	case !slices.Contains(methodWords, r.Method):
		return fmt.Errorf("method: %.40q is none that this program knows", r.Method)
	case precisions[r.Precision] == nil:
		return fmt.Errorf("precision: %.40q is neither float32 nor float64", r.Precision)
	case r.Method == "neuronsum" && r.Precision != "float64":
		return errors.New("precision: sums of neurons are float64")
	case r.Index < 0 || r.Samples < 0 || r.Tried < 0 || r.Cells < 0 || r.Seconds != nil && !(*r.Seconds >= 0) || r.PeakBytes != nil && *r.PeakBytes < 0:
		return errors.New("samples: it is below 0, or index, boxes_tried, cells, seconds or peak_bytes is")
	case !r.Boxed() && (r.Margin != nil || r.Rule != "" || r.Gamma != 0 || r.Tried != 0 || r.SafeBoxes != nil):
		return fmt.Errorf("margin: method %s has none, and no rule, gamma, boxes_tried or safe_boxes", r.Method)
	case finite != (r.SafeSamples != nil) || finite != (r.UnsafeSamples != nil):
		return fmt.Errorf("safe_samples: method samples has them, and unsafe_samples, and no other, this is %s", r.Method)
	case !finite && !r.Boxed() && r.Samples != 0:
		return fmt.Errorf("samples: method %s has none", r.Method)
	case finite && !(0 <= *r.SafeSamples && 0 <= *r.UnsafeSamples && r.Samples >= 1 && *r.SafeSamples <= r.Samples-*r.UnsafeSamples):
		return fmt.Errorf("safe_samples: %d, with %d unsafe, of %d", *r.SafeSamples, *r.UnsafeSamples, r.Samples)
	case r.Method == "phases" && (r.Cells > 0) != (r.Proof.Cells != nil):
		return fmt.Errorf("cells: %d, and those of the proof are %d numbers", r.Cells, len(r.Proof.Cells))
	case r.Method != "phases" && r.Cut() != (r.Cells > 0) && !(r.Method == "chernoff" && r.Proof.Cells != nil && r.Cells > 1):
		return fmt.Errorf("cells: %d by method %s", r.Cells, r.Method)
	case r.Tau != 0 && (r.Method != "clbp" && r.Method != "phases" && r.Method != "chernoff" || !(r.Tau > 0 && r.Tau < 1)):
		return fmt.Errorf("tau: %v by method %s", r.Tau, r.Method)
	case r.Method == "statistical" && r.Statistical == nil:
		return errors.New("statistical: it is missing")
	case r.Method == "statistical" && r.Claims():
		return errors.New("p_lower: drawn networks prove none")
	case r.Seed != 0 && !r.Boxed() && r.Statistical == nil:
		return fmt.Errorf("seed: it is %d, and nothing was drawn", r.Seed)
	case r.Log10Ceiling != nil && (!r.Boxed() || r.Log10Ceiling.Cmp(property.Exact{}) > 0 || r.Log10PLower != nil && r.Log10PLower.Cmp(r.Log10Ceiling.Exact) > 0):
		return errors.New("log10_ceiling: it is above 0, below log10_p_lower, or of no weight boxes")
	}
	return nil
}

// consistentProof refuses parts of a proof that nothing claimed in the record is proved by.
func (r *Record) consistentProof() error {
	p := &r.Proof
	lower, sums := r.Claims(), r.Method == "neuronsum"
	for _, of := range []struct {
		part       string
		there, may bool
	}{
		{"cells", p.Cells != nil, lower && (r.Cut() && p.Grids == nil || r.Method == "phases" || r.Method == "chernoff" && r.Cells > 1)},
		{"grids", p.Grids != nil, lower && sums},
		{"centres", p.Centres != nil, lower && p.Grids != nil},
		{"large", p.Large != nil, lower && p.Grids != nil && p.Mixtures != nil},
		{"rows", p.Rows != nil, lower && p.Grids != nil && p.Mixtures == nil},
		{"plans", p.Plans != nil, lower && sums && p.Grids == nil},
		{"chains", p.Chains != nil, false}, // this program does not know them
		{"tau", p.Tau != nil, lower && (r.Method == "clbp" || r.Method == "phases" || r.Method == "chernoff")},
		{"lines", p.Lines != nil, lower && r.Method == "clbp" && r.Predictive != ""},
		{"phases", p.Phases != nil, lower && r.Method == "phases"},
		{"leaves", p.Leaves != nil, lower && r.Method == "phases" && p.Phases == nil},
		{"chernoff", p.Chernoff != nil, lower && r.Method == "chernoff"},
		{"mixtures", p.Mixtures != nil, lower && (r.Boxed() || r.Cut() || p.Leaves != nil)},
		{"boxes", p.Boxes != nil, lower && r.Boxed()},
		{"networks", p.Networks != nil, r.Method == "samples"},
		{"upper", p.Upper != nil, !r.PUpper.Is(1) && r.Method != "samples"},
		{"each", p.Each != nil, r.EachLower != nil && r.EachLower.Cmp(r.PLower.Exact) > 0},
		{"quantile", p.Quantile != nil, r.Quantile != nil && r.Quantile.Lower != nil},
		{"decision", p.Decision != nil, r.Decision != nil},
		{"mean", p.Mean != nil, r.OutputMean != nil},
	} {
		if of.there && !of.may {
			return fmt.Errorf("proof: %s: nothing claimed here rests on that", of.part)
		}
	}
	return nil
}

// consistentBoxes checks what is said of weight boxes: whether they are there, and how many.
func (r *Record) consistentBoxes() error {
	if !r.Boxed() {
		return nil
	}
	switch {
	case r.SafeBoxes == nil || *r.SafeBoxes < 0 || *r.SafeBoxes > r.Tried:
		return fmt.Errorf("safe_boxes: it is missing, below 0 or above boxes_tried, %d", r.Tried)
	case r.Samples < 1 || r.Tried != r.Samples:
		return fmt.Errorf("samples: %d, but %d boxes were tried", r.Samples, r.Tried)
	case r.Claims() && !slices.Contains(claimingRules, r.Rule) || !r.Claims() && r.Rule != "" && r.Rule != noMass:
		return fmt.Errorf("rule: %.40q is none of boxes that prove what p_lower and log10_p_lower say", r.Rule)
	case (*r.SafeBoxes > 0) != (r.Rule != ""):
		return fmt.Errorf("safe_boxes: %d by the rule %q", *r.SafeBoxes, r.Rule)
	case r.Claims() && !(1 <= len(r.Proof.Boxes) && len(r.Proof.Boxes) <= *r.SafeBoxes):
		return fmt.Errorf("safe_boxes: %d, the proof has %d", *r.SafeBoxes, len(r.Proof.Boxes))
	case len(r.Proof.Boxes) == 1 && r.Rule != LargestBox:
		return fmt.Errorf("rule: %.40q of a single box", r.Rule)
	case !(r.Gamma > 0):
		return errors.New("gamma: it is missing, or not above 0")
	case r.Margin == nil:
	case (r.Margin.Cmp(property.Exact{}) >= 0) != (*r.SafeBoxes > 0):
		return fmt.Errorf("margin: a box with a margin from 0 on is safe, another is not: it is %v, with %d safe boxes", r.Margin, *r.SafeBoxes)
	}
	return nil
}

// claimingRules are values of the field rule where a bound is claimed.
var claimingRules = []string{LargestBox, "chain", "de Caen", "disjoint pieces"}

// consistentLogarithm reports whether p_lower and log10_p_lower are of one number, however it is
// rounded.
func (r *Record) consistentLogarithm() error {
	const least = 1e-300 // from here on float64s have all their digits
	p, l := r.PLower.Lo, r.Log10PLower
	switch {
	case l == nil && !r.PLower.Is(0), p >= least && math.Abs(math.Log10(p)-l.Lo) > 1e-6*(1-l.Lo), p < least && l != nil && l.Lo > math.Log10(least)+1e-3:
		return fmt.Errorf("log10_p_lower: it is not that of p_lower %v", r.PLower)
	}
	return nil
}

// mostEps is how much of a radius is shown. Lists of radii are long, and may begin alike.
const mostEps = 40

// Asks names the question of a record among those of its run: a point or a property, with the
// radius where a run may have several, and which of the properties relative to points. Two
// questions have two names.
func (r *Record) Asks() string {
	text := fmt.Sprintf("index %d", r.Index)
	switch {
	case len(r.Eps) > mostEps:
		text += fmt.Sprintf(" at eps %s... (SHA-256 %x)", r.Eps[:mostEps], sha256.Sum256([]byte(r.Eps)))
	case r.Eps != "":
		text += " at eps " + r.Eps
	}
	if r.TemplateEntry != nil {
		text += fmt.Sprintf(" for property %d", *r.TemplateEntry)
	}
	return text
}
