package posterior

import (
	"errors"
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
	near, lo, hi, err := Decimal(eps)
	if len(eps) > maxEps || !decimal.MatchString(eps) || err != nil || near <= 0 {
		return ScaleUnknown, fmt.Errorf("scale softplus:%.40s: EPS must be a decimal above 0 such as 1.1920928955078125e-07", eps)
	}
	return Scale{ruleSoftplus, eps, lo, hi}, nil
}

// maxDecimal is the longest decimal that Decimal reads.
const maxDecimal = 100

// Decimal is the float64 nearest to a decimal >= 0, and those around it: all three are it if it is one. Decimals
// beyond the range of float64 are errors, and so are those above 0 that are nearest to 0.
func Decimal(text string) (near, lo, hi float64, err error) {
	wrong := errors.New("it is no decimal number from 0 on, such as 0.05")
	if len(text) > maxDecimal || strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, 0, 0, wrong
	}
	if near, err = strconv.ParseFloat(text, 64); err != nil || !(near >= 0) {
		return 0, 0, 0, wrong
	}
	if near == 0 { // its sign, and digits that are lost
		if digits, _, _ := strings.Cut(strings.ToLower(text), "e"); strings.Trim(digits, "0.+-") != "" {
			return 0, 0, 0, errors.New("it is above 0 and below every float64")
		}
		return 0, 0, 0, nil
	}
	exact, ok := new(big.Rat).SetString(text) // of a float64's size, and of 100 digits
	if !ok {
		return 0, 0, 0, wrong
	}
	lo, hi = near, near
	switch new(big.Rat).SetFloat64(near).Cmp(exact) {
	case 1:
		lo = math.Nextafter(near, 0)
	case -1:
		hi = math.Nextafter(near, math.Inf(1))
	}
	return near, lo, hi, nil
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
