package posterior

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the family of distributions that a posterior belongs to.
type Kind int

const (
	// KindGaussian: an independent normal distribution per weight.
	KindGaussian Kind = iota
	// KindFinite: finitely many networks, each with a rational probability.
	KindFinite
	// KindSWAG: a normal distribution with covariance of diagonal plus low rank.
	KindSWAG
	// KindDropout: fixed weights, each input of a layer dropped at random.
	KindDropout
	// KindCorrelated: normal weights that depend on each other inside layers (Covariance).
	KindCorrelated
	// KindJoint: normal weights that depend on each other in all layers (FromJoint).
	KindJoint
	// KindLinearised: networks linearised about the mean of another posterior (Linearised). No file has it.
	KindLinearised
)

// kindWords are the words that the file header uses; the last is in no file.
var kindWords = [...]string{"gaussian", "samples", "swag", "dropout", "correlated", "joint", "linearised"}

// String returns the word that the file header uses: gaussian, samples, swag, dropout,
// correlated or joint, and linearised, which no file has.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindWords) {
		return fmt.Sprintf("kind(%d)", int(k))
	}
	return kindWords[k]
}

// ParseKind reads the words that String writes; no word at all is gaussian, the
// only kind there was when the format was made.
func ParseKind(word string) (Kind, error) {
	if word == "" {
		return KindGaussian, nil
	}
	inFiles := kindWords[:KindLinearised]
	if k := slices.Index(inFiles, word); k >= 0 {
		return Kind(k), nil
	}
	return 0, fmt.Errorf("kind %.40q is none of %s", word, strings.Join(inFiles, ", "))
}

// HasSpread reports whether posteriors of the kind have stored spreads, and so a Scale.
func (k Kind) HasSpread() bool { return k == KindGaussian || k == KindSWAG }

// Finite returns the networks of a posterior of KindFinite, nil for other kinds.
func (p *Posterior) Finite() *Finite { return p.finite }

// SWAG returns what a posterior of KindSWAG has beside its mean, nil for other
// kinds.
func (p *Posterior) SWAG() *SWAG { return p.swag }

// Dropout returns the dropout rates of a posterior of KindDropout, nil for other
// kinds: entry k, in [0, 1), is the probability that an input of layer k (for
// k = 0 an entry of x) is replaced by 0, independently of all others; an input
// that is kept is multiplied by 1/(1-rate). Of a layer with one weight for each
// channel, a batch norm, inputs are dropped by whole channels (network.Dropped).
// The caller may not write to it.
func (p *Posterior) Dropout() []float64 { return p.dropout }

// Describe names the distribution in a few words, such as "a set of 26 samples".
func (p *Posterior) Describe() string {
	switch p.Kind {
	case KindGaussian:
		return "independent normal weights"
	case KindFinite:
		return fmt.Sprintf("a set of %d samples", p.finite.N())
	case KindSWAG:
		return fmt.Sprintf("SWAG of rank %d", p.swag.Rank)
	case KindDropout:
		return p.describeDropout()
	case KindCorrelated:
		var layers []string
		for k, c := range p.covariances {
			if c != nil {
				word := map[string]string{"full": "full covariance", "rows": "a covariance of each row", "kron": "Kronecker covariance"}[c.String()]
				layers = append(layers, fmt.Sprintf("%s in layer %d", word, k))
			}
		}
		return "normal weights with " + strings.Join(layers, ", ")
	case KindJoint:
		return fmt.Sprintf("normal weights with one covariance of all layers, of rank %d", p.JointRank())
	case KindLinearised:
		return "the linearised predictive of " + p.linearised.Describe()
	}
	return p.Kind.String()
}

// Independent reports whether the weights are independent normal numbers (KindGaussian). Whatever
// reads the standard deviations of Layer.Weight and Layer.Bias asks first: boxes of independent
// intervals, their measures and their searches mean nothing for other kinds.
func (p *Posterior) Independent() bool { return p.Kind == KindGaussian }

// RequireIndependent is nil for a posterior that is Independent. For others it is one
// line that says what the weights are and what to use instead.
func (p *Posterior) RequireIndependent() error {
	use := "--method statistical"
	switch p.Kind {
	case KindGaussian:
		return nil
	case KindFinite:
		use = "--method finite or --method statistical"
	case KindCorrelated, KindDropout, KindSWAG, KindJoint:
		if p.RequireRows() == nil {
			use = "--method clbp or --method statistical"
		}
	case KindLinearised:
		use = "--method clbp"
	}
	return fmt.Errorf("this posterior is %s, not independent normal weights: use %s", p.Describe(), use)
}

// Params lists the distributions (for other kinds than KindGaussian: the means) of the
// weights of layer 0, its biases, the weights of layer 1, and so on.
func (p *Posterior) Params() []*Params {
	var list []*Params
	for k := range p.Layers {
		list = append(list, &p.Layers[k].Weight, &p.Layers[k].Bias)
	}
	return list
}

// arrayWords names entry a of Params in errors.
func arrayWords(a int) string {
	return fmt.Sprintf("layer %d %s", a/2, []string{"weight", "bias"}[a%2])
}

// validateKind checks that there is the data of the kind and no other, and its
// numbers. The shapes of the layers are known to be good.
func (p *Posterior) validateKind() error {
	if (p.finite != nil) != (p.Kind == KindFinite) || (p.swag != nil) != (p.Kind == KindSWAG) || (p.dropout != nil) != (p.Kind == KindDropout) || (p.covariances != nil) != (p.Kind == KindCorrelated) ||
		(p.joint != nil) != (p.Kind == KindJoint) || (p.linearised != nil) != (p.Kind == KindLinearised) {
		return fmt.Errorf("posterior of kind %v has not the data of that kind, or data of another", p.Kind)
	}
	for a, g := range p.Params() {
		n, full := p.size(a), *g
		if p.Kind != KindGaussian {
			// That they are absent keeps code that forgot to ask RequireIndependent from
			// taking the mean network for the posterior.
			if g.Spread != nil || g.SdLo != nil || g.SdHi != nil {
				return fmt.Errorf("%s: a posterior of kind %v has no spreads of its own weights", arrayWords(a), p.Kind)
			}
			zero := make([]float64, n)
			full = Params{Mean: g.Mean, Spread: zero, SdLo: zero, SdHi: zero}
		}
		if err := full.validate(arrayWords(a), n); err != nil {
			return err
		}
	}
	switch p.Kind {
	case KindGaussian:
		return nil
	case KindFinite:
		return p.finite.validate(p)
	case KindSWAG:
		return p.swag.validate(p)
	case KindDropout:
		return p.validateDropout()
	case KindCorrelated, KindJoint:
		return p.validateCovariances()
	case KindLinearised:
		return nil
	}
	return fmt.Errorf("%v is no known kind of posterior", p.Kind)
}

// size is the length of array a, by the shapes of the layers.
func (p *Posterior) size(a int) int {
	l := &p.Layers[a/2]
	if a%2 == 0 {
		return l.Weights()
	}
	return l.Biases()
}

// finite returns which of list is NaN or infinite, "" if none is. In a stack of arrays of length n,
// it says in which.
func finite(list []float64, n int) string {
	for i, v := range list {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprintf("%d: entry %d is %v", i/n, i%n, v)
		}
	}
	return ""
}

// means copies layers without spreads.
func means(layers []Layer) []Layer {
	list := slices.Clone(layers)
	for k := range list {
		list[k].Weight = Params{Mean: list[k].Weight.Mean}
		list[k].Bias = Params{Mean: list[k].Bias.Mean}
	}
	return list
}
