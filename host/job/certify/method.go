package certify

import (
	"errors"
	"fmt"
	"strings"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/internal/nearest"
)

// Word names a method.
type Word string

// The values of --method.
const (
	Auto        Word = "auto"        // the best that there is for the posterior
	IBP         Word = "ibp"         // weight boxes, by intervals
	LBP         Word = "lbp"         // weight boxes, by lines
	CLBP        Word = "clbp"        // concentration LBP
	NeuronSum   Word = "neuronsum"   // one hidden layer
	Samples     Word = "samples"     // a finite posterior, exactly
	Statistical Word = "statistical" // drawn networks
)

// Words are the values of --method.
func Words() []string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return list
}

var words = []Word{Auto, IBP, LBP, CLBP, NeuronSum, Samples, Statistical}

// Boxes says how weight boxes are chosen.
type Boxes string

// The values of --boxes.
const (
	Centred Boxes = "centred" // one around the mean, as wide as verifies
	Sampled Boxes = "sampled" // Algorithm 1 of the paper
)

// Method says how to certify. A setting that the method does not know is an error.
type Method struct {
	// Word is Auto if it is not given, or LBP if a setting for weight boxes is.
	Word *Word
	// Boxes, Gamma (a half-width in standard deviations), Splits (how often a centred box
	// may be cut) and Uniform (one gamma for all layers) are for weight boxes.
	Boxes   *Boxes
	Gamma   *float64
	Splits  *int
	Uniform *bool
	// Samples is how many boxes are drawn, or networks for the statistical interval,
	// which holds with Confidence, 0.99 if it is not given; Seed, 0 if not, draws them.
	Samples    *int
	Confidence *float64
	Seed       *uint64
	// Cells is how many cells T may be cut into.
	Cells *int
	// NoUpper leaves upper bounds out; Derived adds those of single points.
	NoUpper, Derived bool
}

// Limits of what may be asked for, and what is drawn if nobody says how much.
const (
	leastGamma, mostGamma = 1e-6, 100
	mostSamples           = 100_000_000
	mostCells             = 1 << 20
	defaultSamples        = 1000
	defaultConfidence     = 0.99
)

// config chooses the method and refuses settings of other methods.
func (m *Method) config() (Word, prove.Config, error) {
	cfg := prove.Config{
		Samples: or(m.Samples, 0), Seed: or(m.Seed, 0), Gamma: or(m.Gamma, 0), Uniform: or(m.Uniform, false), Splits: or(m.Splits, 0),
		Cells: or(m.Cells, 0), Derived: m.Derived, NoUpper: m.NoUpper, Confidence: or(m.Confidence, defaultConfidence),
	}
	word := or(m.Word, Auto)
	if m.Word == nil && m.ofBoxes() != "" {
		word = LBP
	}
	switch word {
	case Auto:
		cfg.Strategy, cfg.Method = prove.Auto, bound.LBP
	case IBP, LBP:
		var err error
		if cfg.Method, err = bound.ParsePropagation(string(word)); err != nil {
			return word, cfg, fmt.Errorf("--method: %w", err)
		}
		if cfg.Strategy, err = prove.ParseStrategy(string(or(m.Boxes, Centred))); err != nil {
			return word, cfg, fmt.Errorf("--boxes: %w%s", err, nearest.Hint(string(*m.Boxes), []string{string(Centred), string(Sampled)}))
		}
	case CLBP:
		cfg.Strategy = prove.CLBP
	case NeuronSum:
		cfg.Strategy = prove.NeuronSums
	case Samples:
		cfg.Strategy = prove.Finite
	case Statistical:
		cfg.Strategy = prove.Statistical
	default:
		list := Words()
		return word, cfg, fmt.Errorf("--method %.40q is none of %s%s", word, strings.Join(list, ", "), nearest.Hint(string(word), list))
	}
	if word == Statistical && cfg.Samples == 0 {
		cfg.Samples = defaultSamples
	}
	return word, cfg, m.check(word, cfg.Strategy)
}

// ofBoxes names a setting that is for weight boxes, empty if none is given: without a
// method it means lbp.
func (m *Method) ofBoxes() string {
	switch {
	case m.Boxes != nil:
		return "boxes"
	case m.Gamma != nil:
		return "gamma"
	case m.Splits != nil:
		return "splits"
	case m.Uniform != nil:
		return "uniform"
	}
	return ""
}

// check refuses settings that the method does not know.
func (m *Method) check(word Word, strategy prove.Strategy) error {
	boxes := word == IBP || word == LBP
	if name := m.ofBoxes(); name != "" && !boxes {
		return fmt.Errorf("--%s is for weight boxes: use --method ibp or lbp, or leave --%s out", name, name)
	}
	sampled := boxes && strategy == prove.Sampled
	cells, confidence := or(m.Cells, 0), or(m.Confidence, defaultConfidence)
	drawn := word == Statistical || or(m.Samples, 0) > 0 && word != Samples
	switch {
	case m.Cells != nil && boxes:
		return errors.New("--cells is not for weight boxes: every box is checked on all of T at once: leave it out")
	case m.Cells != nil && (cells < 1 || cells > mostCells):
		return fmt.Errorf("--cells %d is not between 1 and %d", cells, mostCells)
	case m.Confidence != nil && (!drawn || sampled):
		return errors.New("--confidence is for --method statistical, or --samples N beside another method: everything else is certified: add one of them, or leave --confidence out")
	case !(confidence > 0 && confidence < 1):
		return fmt.Errorf("--confidence %v is not between 0 and 1", confidence)
	case m.Seed != nil && !drawn && !sampled:
		return errors.New("--seed is for --samples N: nothing else is drawn: add --samples, or leave --seed out")
	case m.Samples != nil && word == Samples:
		return errors.New("--samples is not for --method samples: all networks of the posterior are decided: leave it out")
	}
	return nil
}

// suits checks that the method and the posterior go together, and has auto choose samples
// for a finite set of networks, of which one without deviations is one, and statistical for other
// weights that depend on each other.
func (r *ready) suits(word Word) (Word, error) {
	path, post := r.Posterior.Path, r.post
	dependent := post.RequireIndependent()
	if r.cfg.Strategy == prove.Auto && dependent != nil && post.Kind != posterior.KindSamples && !r.cfg.Derived {
		// Nothing here proves a bound for such weights: what is left are drawn networks.
		r.cfg.Strategy = prove.Statistical
		if r.cfg.Samples == 0 {
			r.cfg.Samples = defaultSamples
		}
		r.tell(&OnlyDrawn{What: post.Describe(), Networks: r.cfg.Samples, Confidence: r.cfg.Confidence})
		return Statistical, nil
	}
	if dependent != nil && r.cfg.Derived {
		return word, fmt.Errorf("%s: --derived is for independent normal weights; this is %s: leave it out", path, post.Describe())
	}
	switch s := r.cfg.Strategy; {
	case s == prove.Statistical:
	case s == prove.Finite || s == prove.Auto && post.Networks() != nil:
		if post.Networks() == nil {
			return word, fmt.Errorf("%s: --method samples needs a posterior that is a set of networks; this is %s: leave --method out for the best that there is for it", path, post.Describe())
		}
		r.cfg.Strategy = prove.Finite
		return Samples, nil
	case dependent != nil:
		return word, fmt.Errorf("%s: %w", path, dependent)
	case s == prove.NeuronSums && len(post.Layers) != 2:
		return word, fmt.Errorf("%s: --method neuronsum is for one hidden layer; this network has %d: use --method clbp, or auto", path, len(post.Layers)-1)
	}
	return word, nil
}
