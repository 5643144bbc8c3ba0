package posterior

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Scale names how a stored spread parameter s gives the standard deviation. Scales are equal if
// their words are.
type Scale struct {
	rule scaleRule
	// eps is the EPS of softplus:EPS as it was written, and epsLo <= EPS <= epsHi, equal or
	// neighbouring float64.
	eps          string
	epsLo, epsHi float64
}

type scaleRule int

const (
	ruleUnknown scaleRule = iota
	ruleSD
	ruleVariance
	ruleSoftplus
	ruleLogSD
	ruleLogVariance
	ruleNone
)

var (
	// ScaleUnknown is the zero value: nobody has said yet.
	ScaleUnknown = Scale{}
	// ScaleSD: sd = s.
	ScaleSD = Scale{rule: ruleSD}
	// ScaleVariance: sd = sqrt(s).
	ScaleVariance = Scale{rule: ruleVariance}
	// ScaleSoftplus: sd = log(1 + exp(s)). ParseScale makes those with an EPS, for which
	// sd = EPS + log(1 + exp(s)), as TensorFlow Probability has it.
	ScaleSoftplus = Scale{rule: ruleSoftplus}
	// ScaleLogSD: sd = exp(s).
	ScaleLogSD = Scale{rule: ruleLogSD}
	// ScaleLogVariance: sd = exp(s/2).
	ScaleLogVariance = Scale{rule: ruleLogVariance}
	// ScaleNone: nothing is stored, sd = 0. It is a scale of single arrays only.
	ScaleNone = Scale{rule: ruleNone}
)

// ScaleWords lists the words that ParseScale reads, for messages.
const ScaleWords = "sd, variance, softplus, softplus:EPS, log_sd, log_variance"

var scaleWords = []string{"unknown", "sd", "variance", "softplus", "log_sd", "log_variance", "none"}

// String returns the word that --scale and the file header use.
func (scale Scale) String() string {
	if scale.eps != "" {
		return scaleWords[scale.rule] + ":" + scale.eps
	}
	return scaleWords[scale.rule]
}

// ParseScale reads one of ScaleWords.
func ParseScale(word string) (Scale, error) {
	for _, s := range []Scale{ScaleSD, ScaleVariance, ScaleSoftplus, ScaleLogSD, ScaleLogVariance} {
		if word == s.String() {
			return s, nil
		}
	}
	if eps, ok := strings.CutPrefix(word, ScaleSoftplus.String()+":"); ok {
		return softplusPlus(eps)
	}
	return ScaleUnknown, fmt.Errorf("scale %.40q is none of %s", word, ScaleWords)
}

// ParseArrayScale reads the scale of a single array: one of ScaleWords, or none.
func ParseArrayScale(word string) (Scale, error) {
	if word == ScaleNone.String() {
		return ScaleNone, nil
	}
	s, err := ParseScale(word)
	if err != nil {
		err = fmt.Errorf("%w, none", err)
	}
	return s, err
}

// maxEps is the longest EPS; that of float64 takes 41 characters if none is left out.
const maxEps = 64

var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// softplusPlus is softplus:EPS.
func softplusPlus(eps string) (Scale, error) {
	near, err := strconv.ParseFloat(eps, 64)
	if len(eps) > maxEps || !decimal.MatchString(eps) || err != nil || near <= 0 {
		return ScaleUnknown, fmt.Errorf("scale softplus:%.40s: EPS must be a decimal above 0 such as 1.1920928955078125e-07", eps)
	}
	exact, ok := new(big.Rat).SetString(eps)
	if !ok {
		panic("posterior: a decimal that big.Rat does not read: " + eps)
	}
	s := Scale{ruleSoftplus, eps, near, near}
	switch new(big.Rat).SetFloat64(near).Cmp(exact) {
	case 1:
		s.epsLo = math.Nextafter(near, 0)
	case -1:
		s.epsHi = math.Nextafter(near, math.Inf(1))
	}
	return s, nil
}

// ScaleOf returns what the spread of g, which is one of p.Params(), holds.
func (p *Posterior) ScaleOf(g *Params) Scale {
	if g.Scale != ScaleUnknown {
		return g.Scale
	}
	return p.Scale
}

// ScaleList returns for records and reports what the spreads of all arrays are: the word of p.Scale
// and, after commas, the others that single arrays have, in the order of Params.
func (p *Posterior) ScaleList() string {
	if p.linearised != nil {
		return p.linearised.ScaleList()
	}
	words := []string{p.Scale.String()}
	for _, g := range p.Params() {
		if word := p.ScaleOf(g).String(); p.Kind == KindGaussian && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}
