package check

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"psafe/host/property"
)

// Limits of what a line may ask for: more than certify writes, and less than would fill the
// memory. mostBoxes is how many boxes certify measures together, mostCopied how many numbers
// the pieces of a box may be copied into.
const (
	mostLayers = 1 << 16
	mostTree   = 1 << 20
	mostBoxes  = 256
	mostCopied = 1 << 27
)

// sizes refuses what is longer than any certificate of certify.
func (r *record) sizes() error {
	for _, of := range []struct {
		field   string
		n, most int
	}{
		{"gamma", len(r.Gamma), mostLayers}, {"activations", len(r.Activations), mostLayers}, {"run", len(r.Run), 64},
		{"proof: cells", len(r.Proof.Cells), mostTree}, {"proof: tau", len(r.Proof.Tau), mostTree},
		{"proof: cuts", len(r.Proof.Cuts), mostTree}, {"proof: boxes", len(r.Proof.Boxes), mostBoxes},
		{"proof: mixtures", len(r.Proof.Mixtures), mostClauses}, {"proof: large", len(r.Proof.Large), mostGridPoints},
	} {
		if of.n > of.most {
			return fmt.Errorf("%s: its length is %d, the limit is %d", of.field, of.n, of.most)
		}
	}
	return nil
}

// consistentMethod checks that a record has what its method writes and nothing that another
// does.
func (r *record) consistentMethod() error {
	boxed := r.Method == "ibp" || r.Method == "lbp"
	claims := !r.PLower.is(0) || r.Log10PLower != nil
	switch {
	case !slices.Contains([]string{"ibp", "lbp", "clbp", "neuronsum", "samples", "statistical"}, r.Method):
		return fmt.Errorf("method: %.40q is none that this program knows", r.Method)
	case formats[r.Precision].nearest == nil:
		return fmt.Errorf("precision: %.40q is neither float32 nor float64", r.Precision)
	case r.Samples < 0 || r.Tried < 0 || r.Cells < 0 || r.Seconds != nil && !(*r.Seconds >= 0) || r.PeakBytes != nil && *r.PeakBytes < 0:
		return errors.New("samples: it is below 0, or boxes_tried, cells, seconds or peak_bytes is")
	case !boxed && (r.Margin != nil || r.Rule != "" || len(r.Gamma) > 0 || r.Tried != 0):
		return fmt.Errorf("margin: method %s has none, and no rule, gamma or boxes_tried", r.Method)
	case r.Method != "samples" && (r.SafeSamples != nil || r.UnsafeSamples != nil || !boxed && r.Samples != 0):
		return fmt.Errorf("safe_samples: method %s has none, and no unsafe_samples or samples", r.Method)
	case r.Method == "statistical" && claims:
		return errors.New("p_lower: drawn networks prove none")
	case boxed && !claims && r.Boxes == "centred" && r.Rule != oneBox && r.Margin != nil && r.Margin.Cmp(property.Exact{}) >= 0:
		return errors.New("margin: a box is said to be safe that proves nothing")
	case r.Stopped != "" && r.Stopped != timeLimit && r.Stopped != verdictKnown:
		return fmt.Errorf("stopped: %.40q is nothing that ends a search", r.Stopped)
	case r.Stopped == timeLimit && !strings.Contains(" "+r.Flags, " --time-limit "):
		return errors.New("stopped: the flags have no time limit")
	case r.Stopped == verdictKnown && (!strings.Contains(" "+r.Flags+" ", " --require "+r.Require.String()+" ") || r.Verdict == "unknown"):
		return errors.New("stopped: the flags do not have what is required, or the verdict is not known")
	case r.Log10Ceiling != nil && (r.Boxes != "sampled" || r.Log10PLower != nil && r.Log10PLower.Cmp(r.Log10Ceiling.Exact) > 0):
		return errors.New("log10_ceiling: it is below log10_p_lower, or of no sampled boxes")
	}
	if err := r.consistentProof(); err != nil {
		return err
	}
	return r.consistentFlags()
}

// consistentProof refuses parts of a proof that the record's method does not prove by.
func (r *record) consistentProof() error {
	switch p := &r.Proof; {
	case p.Mixtures != nil && !slices.Contains([]string{"ibp", "lbp", "clbp", "neuronsum"}, r.Method):
		return fmt.Errorf("proof: mixtures: method %s has none", r.Method)
	case p.Mixtures != nil && r.PLower.is(0) && r.Log10PLower == nil:
		return errors.New("proof: mixtures: nothing claimed here rests on them")
	case p.Chains != nil:
		return errors.New("proof: chains: this program does not know them")
	case p.Centres != nil && p.Grids == nil:
		return errors.New("proof: centres: there are no grids")
	case p.Grids != nil && (r.Method != "neuronsum" || p.Cells != nil):
		return fmt.Errorf("proof: grids: they are none of method %s, or are there beside cells", r.Method)
	case p.Large != nil && (p.Grids == nil || p.Mixtures == nil):
		return errors.New("proof: large: there are no grids or no mixtures for them")
	}
	return nil
}

// consistentLogarithm says that p_lower and log10_p_lower are of one number, however it is
// rounded.
func (r *record) consistentLogarithm() error {
	if p, l := r.PLower.Lo, r.Log10PLower; p >= 1e-300 && (l == nil || math.Abs(math.Log10(p)-l.Lo) > 1e-6*(1-l.Lo)) {
		return fmt.Errorf("log10_p_lower: it is not that of p_lower %v", r.PLower)
	}
	return nil
}

// What the field stopped says.
const (
	timeLimit    = "time limit"
	verdictKnown = "require"
)

// flagWords are the flags that a record may list.
var flagWords = []string{"--method", "--boxes", "--samples", "--cells", "--gamma", "--splits", "--uniform", "--confidence", "--no-upper", "--derived",
	"--label-column", "--precision", "--time-limit", "--require"}

// consistentFlags checks the words of flags against what is proved.
func (r *record) consistentFlags() error {
	words, err := wordsOf(r.Flags)
	if err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	if len(words) < 2 || words[0] != "--method" {
		return fmt.Errorf("flags: %.60q does not begin with a method", r.Flags)
	}
	if asked := words[1]; asked != "auto" && asked != r.Method {
		return fmt.Errorf("flags: the method is %.20s, and that of the record %s", asked, r.Method)
	}
	for i, w := range words {
		if words[max(i-1, 0)] == "--label-column" {
			continue
		}
		if strings.HasPrefix(w, "--") && !slices.Contains(flagWords, w) {
			return fmt.Errorf("flags: %.40q is none that records list", w)
		}
	}
	return nil
}

// mostEps is how much of a radius is shown. Lists of radii are long, and may begin alike.
const mostEps = 40

// asks names the question of a record among those of its run: a point or a property, with the
// radius where a run may have several, and which of the properties relative to points. Two
// questions have two names.
func (r *record) asks() string {
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
