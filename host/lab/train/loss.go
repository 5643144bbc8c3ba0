package train

import "math"

// outputs is the width of the last layer.
func (b *batch) outputs() int { return b.net.layers[len(b.net.layers)-1].out }

// squareLoss is the mean over the examples of -log N(target; output, variance),
// constants included; it leaves the gradient in delta.
func (b *batch) squareLoss() float64 {
	pre := b.pass[len(b.pass)-1].pre
	v, n := b.net.targetVariance, float64(b.n)
	sum := 0.0
	for i, y := range b.target {
		d := pre[i] - y
		sum += float64(d*d)/(2*v) + math.Log(2*math.Pi*v)/2
		b.delta[i] = d / v / n
	}
	return sum / n
}

// softmaxLoss is the mean over the examples of -log softmax(outputs)[label]; it
// leaves the gradient in delta.
func (b *batch) softmaxLoss() float64 {
	out, n := b.outputs(), float64(b.n)
	pre := b.pass[len(b.pass)-1].pre
	sum := 0.0
	for e, c := range b.label {
		logits, delta := pre[e*out:(e+1)*out], b.delta[e*out:(e+1)*out]
		sum += softmaxNegLog(logits, c, delta)
		for i := range delta {
			delta[i] /= n
		}
	}
	return sum / n
}

// softmaxNegLog is -log softmax(logits)[c]; it puts the gradient, probabilities
// less the one-hot label, in grad. The largest logit is taken off first, so
// that no exponential overflows.
func softmaxNegLog(logits []float64, c int, grad []float64) float64 {
	top := logits[0]
	for _, t := range logits {
		top = max(top, t)
	}
	total := 0.0
	for i, t := range logits {
		grad[i] = math.Exp(t - top)
		total += grad[i]
	}
	for i := range grad {
		grad[i] /= total
	}
	grad[c]--
	return math.Log(total) + top - logits[c]
}
