package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"psafe/host/model/posterior"
)

// Doubt is a line about a posterior, or about inputs for it, that is probably not what was
// meant: what was seen and what to do about it. It refuses nothing.
type Doubt string

func (d Doubt) String() string { return string(d) }

// What is improbable of the median of sd/|mean| over all weights of independent normal
// weights. Of the published posteriors that psafe was tried with, the smallest is 0.002 (a
// network of HCAS by VOGN) and the largest 20 (VCAS, most weights still at their prior).
const (
	tinyRatio = 1e-4
	hugeRatio = 100
)

// Doubts returns what is improbable about p, which Compare did not refuse.
func Doubts(p *posterior.Posterior) []Doubt {
	list := orientation(p)
	if len(list) == 0 { // else other references are asked for already
		list = hidden(p)
	}
	return append(list, spreads(p)...)
}

// hidden doubts the activation of the hidden layers if the reference logits fit another one
// as well, as they do where inputs are too small or all of one sign.
func hidden(p *posterior.Posterior) []Doubt {
	layers := withActivation(p)
	if p.References() == 0 || len(layers) == 0 {
		return nil
	}
	s := &search{p: p, rounding: single, left: maxTried}
	var fit []string
	for _, a := range usual() {
		t, same := asRead(p), true
		t.net = slices.Clone(t.net)
		for _, k := range layers {
			same = same && t.net[k].Activation == a
			t.net[k].Activation = a
		}
		if !same && s.try(t) <= 1 {
			fit = append(fit, a.String())
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return []Doubt{Doubt(fmt.Sprintf("the reference inputs do not show which activation the hidden layers have, %v as well as %s: write others, for which the activations differ", p.Layers[layers[0]].Activation, strings.Join(fit[:min(3, len(fit))], ", ")))}
}

// orientation doubts square layers of psafe's own formats, whose writers are everybody, if
// no reference logits show which way round they are.
func orientation(p *posterior.Posterior) []Doubt {
	from := p.Source.Format
	if p.Source.Origin != nil {
		from = p.Source.Origin.Format
	}
	// psafe train knows which way round its own weights are.
	mapped := strings.HasSuffix(from, "with a map") // of psafe import: somebody typed the layout
	if from != "psafe" && from != "safetensors" && !mapped || strings.HasPrefix(p.Source.Note, "psafe train ") {
		return nil
	}
	s := &search{p: p, rounding: single, left: maxTried}
	if p.References() > 0 && s.try(asRead(p)) > 1 {
		s.rounding = tf32 // in which the framework computed them
	}
	var doubted []int
	for _, k := range square(p) {
		t := asRead(p)
		t.weights = slices.Clone(t.weights)
		transpose(t, k)
		if !slices.Equal(t.weights[2*k], p.ReferenceNetwork()[2*k]) && (p.References() == 0 || s.try(t) <= 1) {
			doubted = append(doubted, k)
		}
	}
	if len(doubted) == 0 {
		return nil
	}
	mend := "let the file carry reference logits (docs/files.md), or see by psafe predict --label that the network does what it should"
	if p.References() > 0 {
		mend = "its reference inputs do not show it; write others"
	}
	if len(doubted) == 1 {
		n := p.Layers[doubted[0]].Inputs()
		return []Doubt{Doubt(fmt.Sprintf("layer %d is square (%d x %d), so its shape does not show whether the file has it transposed: %s", doubted[0], n, n, mend))}
	}
	named := commas(doubted[:min(6, len(doubted))])
	if more := len(doubted) - 6; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return []Doubt{Doubt(fmt.Sprintf("layers %s are square, so their shapes do not show whether the file has them transposed: %s", named, mend))}
}

// spreads doubts standard deviations, unless the file has means of them to compare with.
func spreads(p *posterior.Posterior) []Doubt {
	if p.Kind != posterior.KindGaussian || compared(p) {
		return nil
	}
	var ratios []float64
	random, negative, stored := 0, 0, 0
	for a, g := range p.Params() {
		for j, sd := range g.SdHi {
			if stored++; g.Spread[j] < 0 {
				negative++
			}
			if sd > 0 {
				random++
			}
			if a%2 == 0 && sd > 0 {
				ratios = append(ratios, sd/math.Abs(g.Mean[j])) // +Inf where the mean is 0
			}
		}
	}
	if random == 0 {
		return []Doubt{"every standard deviation is 0, so this is one network and no distribution: if that is not meant, see to the scale arrays of the file"}
	}
	signed := p.Scale != posterior.ScaleSD && p.Scale != posterior.ScaleVariance
	if signed && negative == 0 && stored >= 32 {
		return []Doubt{Doubt(fmt.Sprintf("no stored spread is negative, though the scale is %v, which makes every standard deviation at least %.2g: if they are standard deviations or variances, say so (\"scale\" in the file, or --scale)", p.Scale, least(p)))}
	}
	if len(ratios) < 32 {
		return nil
	}
	mend := "if the file has something else than scale " + p.Scale.String() + " says, put that right (\"scale\" in the file, or --scale)"
	switch median := posterior.Quantiles(ratios)[2]; {
	case median < tinyRatio:
		return []Doubt{Doubt(fmt.Sprintf("standard deviations are very small: half of the weights have sd/|mean| below %.2g, as if variances had been taken for standard deviations: %s", median, mend))}
	case median > hugeRatio && !math.IsInf(median, 1):
		return []Doubt{Doubt(fmt.Sprintf("standard deviations are very large: half of the weights have sd/|mean| above %.2g, as of precisions, or of rho taken for log sd: %s", median, mend))}
	}
	return nil
}

// compared reports whether the file has the means of all standard deviations that are not 0.
func compared(p *posterior.Posterior) bool {
	if p.Reference == nil || p.Reference.Spread == nil {
		return false
	}
	for a, g := range p.Params() {
		if math.IsNaN(p.Reference.Spread[a]) && slices.ContainsFunc(g.SdHi, func(sd float64) bool { return sd > 0 }) {
			return false
		}
	}
	return true
}

// least is the least standard deviation of p.
func least(p *posterior.Posterior) float64 {
	sd := math.Inf(1)
	for _, g := range p.Params() {
		sd = min(sd, slices.Min(g.SdLo))
	}
	return sd
}

// Data describes raw inputs, as they are before Input.Mean and Input.Std.
type Data struct {
	// Lo and Hi are the least and the largest number, RMS the root of the mean square.
	Lo, Hi, RMS float64
	// Whole reports whether all are whole numbers.
	Whole bool
}

// Describe makes Data of numbers; it is Lo = +Inf, Hi = -Inf of none.
func Describe(points ...[]float64) Data {
	d := Data{Lo: math.Inf(1), Hi: math.Inf(-1), Whole: true}
	sum, n := 0.0, 0
	for _, x := range points {
		for _, v := range x {
			d.Lo, d.Hi = min(d.Lo, v), max(d.Hi, v)
			d.Whole = d.Whole && v == math.Trunc(v)
			sum += v * v
			n++
		}
	}
	d.RMS = math.Sqrt(sum / float64(max(1, n)))
	return d
}

// manyInputs is the least number of inputs of a network of images.
const manyInputs = 49

// DoubtInputs returns what is improbable about inputs for p: pixels 0..255 for a network that takes
// them divided by 255, and a range that has nothing to do with that of the reference inputs.
func DoubtInputs(p *posterior.Posterior, d Data) []Doubt {
	if d.Lo > d.Hi {
		return nil
	}
	ref := Data{Lo: math.Inf(1), Hi: math.Inf(-1)}
	if p.References() > 0 {
		ref = Describe(p.Reference.Inputs)
	}
	if p.Inputs() >= manyInputs && d.Whole && d.Lo >= 0 && d.Hi > 100 && d.Hi <= 255 && !(ref.Hi > 8) && firstLayer(p, d.RMS) > 10 {
		return []Doubt{Doubt(fmt.Sprintf("inputs are whole numbers from %v to %v, which look like pixels, and the first layer like one that takes them divided by 255: --input-scale 1/255", d.Lo, d.Hi))}
	}
	// Images of which only one side has numbers below 0.
	if p.Inputs() >= manyInputs && d.Lo >= 0 && d.Hi <= 1 && d.Hi > 0.5 && ref.Lo < -0.05 && ref.Hi > 0 && ref.Hi-ref.Lo < 20 {
		std := 1 / (ref.Hi - ref.Lo)
		return []Doubt{Doubt(fmt.Sprintf("inputs reach from %.4g to %.4g, the reference inputs of the posterior from %.4g to %.4g, as if they were normalised and the inputs were not: if so, --mean and --std of the training script (about %.4g and %.4g)", d.Lo, d.Hi, ref.Lo, ref.Hi, -ref.Lo*std, std))}
	}
	if p.Inputs() >= manyInputs && d.Lo < -0.05 && ref.Lo >= 0 && ref.Hi <= 1 && ref.Hi > 0.5 {
		return []Doubt{Doubt(fmt.Sprintf("inputs reach from %.4g to %.4g, the reference inputs of the posterior from %.4g to %.4g, as if the inputs were normalised already: give raw ones", d.Lo, d.Hi, ref.Lo, ref.Hi))}
	}
	width := ref.Hi - ref.Lo
	if p.References() == 0 || len(p.Reference.Inputs) < 64 || !(width > 0) {
		return nil
	}
	switch {
	case d.Lo < ref.Lo-width || d.Hi > ref.Hi+width:
		return []Doubt{Doubt(fmt.Sprintf("inputs reach from %.4g to %.4g, the reference inputs of the posterior only from %.4g to %.4g: see that both are on one scale (--input-scale)", d.Lo, d.Hi, ref.Lo, ref.Hi))}
	case d.Hi-d.Lo > 0 && d.Hi-d.Lo < width/50:
		return []Doubt{Doubt(fmt.Sprintf("inputs reach from %.4g to %.4g only, the reference inputs of the posterior from %.4g to %.4g: see that both are on one scale (--input-scale)", d.Lo, d.Hi, ref.Lo, ref.Hi))}
	}
	return nil
}

// firstLayer is about how large pre-activations of layer 0 are for inputs of that size: the
// root mean square of its mean weights, times the root of how many there are, times size.
func firstLayer(p *posterior.Posterior, size float64) float64 {
	if len(p.Input.Std) > 0 {
		size /= posterior.Quantiles(p.Input.Std)[2]
	}
	return size * math.Sqrt(float64(p.Inputs())) * rms(p.ReferenceNetwork()[0])
}
