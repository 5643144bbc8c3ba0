// Package mean bounds means, deviations and norms of outputs over a posterior (docs/theory.md, sections 9.8 and 3.4).
package mean

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Means and deviations of outputs over the posterior on a cell (docs/theory.md, section 9.8).

// On bounds the means and the deviations on a cell.
func On(post *posterior.Posterior, cell property.Box) (mean, sd relax.Span, err error) {
	if post.Networks() != nil {
		return meanOfSet(post, cell)
	}
	return meanOfReLU(post, cell)
}

// meanOfSet are means of what each network of a finite set has by lines, and how far these are apart.
func meanOfSet(post *posterior.Posterior, cell property.Box) (mean, sd relax.Span, err error) {
	set, outputs := post.Networks(), post.Outputs()
	rows := make([]property.Row, 2*outputs)
	for r := range rows {
		c := make([]float64, outputs)
		if c[r/2] = 1; r%2 == 1 {
			c[r/2] = -1
		}
		rows[r] = property.Row{CLo: c, CHi: c}
	}
	sums := make([]big.Rat, len(rows))
	ends := make([][]*big.Rat, len(set.Counts))
	err = relax.EachNetwork(post, func(i int, count int64, n *relax.Network) error {
		lo := n.ByLines(cell, rows, 0)
		if slices.ContainsFunc(lo, func(x float64) bool { return !(math.Abs(x) <= math.MaxFloat64) }) {
			return fmt.Errorf("output_mean: nothing is proved of network %d", i)
		}
		for r, x := range lo {
			ends[i] = append(ends[i], law.ExactRat(x))
			sums[r].Add(&sums[r], new(big.Rat).Mul(law.ExactRat(x), big.NewRat(count, set.Total())))
		}
		return nil
	})
	if err != nil {
		return relax.Span{}, relax.Span{}, err
	}
	mean, sd = relax.NewSpan(outputs), relax.NewSpan(outputs)
	for i := range outputs {
		mean.Lo[i], mean.Hi[i] = law.RatDown(&sums[2*i]), -law.RatDown(&sums[2*i+1])
		sd.Lo[i], sd.Hi[i] = apart(ends, 2*i, set.Counts, set.Total())
	}
	return mean, sd, nil
}

// apart bounds the standard deviation over networks of numbers of which rows r and r+1 are a lower bound, and
// minus an upper one: a norm, so that it is that of the middles but for that of the half-widths. All are
// rational numbers; the sum of the squares of all differences of two is twice the variance.
func apart(ends [][]*big.Rat, r int, counts []int64, total int64) (lo, hi float64) {
	two, mean, square, widths := big.NewRat(2, 1), new(big.Rat), new(big.Rat), new(big.Rat)
	for i, e := range ends {
		share := big.NewRat(counts[i], total)
		mid, half := new(big.Rat).Sub(e[r], e[r+1]), new(big.Rat).Add(e[r], e[r+1])
		mid.Quo(mid, two)
		half.Quo(half, two)
		mean.Add(mean, new(big.Rat).Mul(share, mid))
		square.Add(square, mid.Mul(mid, mid).Mul(mid, share))
		widths.Add(widths, half.Mul(half, half).Mul(half, share))
	}
	v := square.Sub(square, mean.Mul(mean, mean))
	off := arith.SqrtUp(-law.RatDown(widths.Neg(widths)))
	lo = max(0, arith.SumDown(arith.Down(math.Sqrt(max(0, law.RatDown(v)))), -off))
	return lo, arith.SumUp(arith.SqrtUp(max(0, -law.RatDown(v.Neg(v)))), off)
}

// neuron holds what is known of a neuron over the posterior, everywhere on a cell: of its mean, of the mean
// of its square, and of its variance.
type neuron struct{ meanLo, meanHi, squareLo, squareHi, varLo, varHi float64 }

// meanOfReLU goes up through dense layers with ReLU between them, by (85), (88) and (89).
func meanOfReLU(post *posterior.Posterior, cell property.Box) (mean, sd relax.Span, err error) {
	rates := post.Dropout()
	fits := (post.Independent() || rates != nil) && post.Network().Chain()
	for k := range post.Layers {
		a, top := post.Layers[k].Activation, k == len(post.Layers)-1
		fits = fits && (top && relax.IsIdentity(a) || !top && relax.Cuts(a))
	}
	if !fits {
		return relax.Span{}, relax.Span{}, fmt.Errorf("output_mean: the posterior is %s: means are proved of sets of networks, and of dense layers with ReLU between them, normal weights or dropout", post.Describe())
	}
	z := make([]neuron, len(cell.Lo))
	for i := range z {
		x, y := cell.Lo[i], cell.Hi[i]
		near, far := max(x, -y, 0), relax.Abs(x, y)
		z[i] = neuron{x, y, law.SquareDown(near), law.SquareUp(far), 0, 0}
	}
	for k := range post.Layers {
		l := &post.Layers[k]
		next := make([]neuron, l.Outputs())
		for j := range next {
			var t neuron
			given := 0.0
			if rates != nil {
				t = droppedOf(l, z, j, rates[k])
			} else {
				t, given = preOf(l, z, j, k)
			}
			switch {
			case k == len(post.Layers)-1:
				next[j] = t
			case k == 0 && rates == nil:
				next[j] = t.normal()
			default:
				next[j] = t.cut(given)
			}
		}
		z = next
	}
	mean, sd = relax.NewSpan(len(z)), relax.NewSpan(len(z))
	for i, y := range z {
		mean.Lo[i], mean.Hi[i] = y.meanLo, y.meanHi
		sd.Lo[i], sd.Hi[i] = max(0, arith.Down(math.Sqrt(max(0, y.varLo)))), arith.SqrtUp(y.varHi)
	}
	return mean, sd, nil
}

// preOf is pre-activation j of layer k, over neurons z that do not depend on its weights, and at least the
// square of the mean of its deviation given z.
func preOf(l *posterior.Layer, z []neuron, j, k int) (t neuron, given float64) {
	in := l.Map.(net.Linear)
	b := in.BiasOf(j)
	var lo, hi, least, most, narrow, together arith.Sum
	lo.Plus(l.Bias.Mean[b])
	hi.Plus(l.Bias.Mean[b])
	least.Plus(law.SquareDown(l.Bias.SdLo[b]))
	most.Plus(law.SquareUp(l.Bias.SdHi[b]))
	narrow.Plus(law.SquareDown(l.Bias.SdLo[b]))
	for i, w := range in.Into(j) {
		mean := l.Weight.Mean[w]
		if mean < 0 {
			lo.Add(mean, z[i].meanHi)
			hi.Add(mean, z[i].meanLo)
		} else {
			lo.Add(mean, z[i].meanLo)
			hi.Add(mean, z[i].meanHi)
		}
		sdLo, sdHi := law.SquareDown(l.Weight.SdLo[w]), law.SquareUp(l.Weight.SdHi[w])
		least.Add(sdLo, z[i].squareLo)
		most.Add(sdHi, z[i].squareHi)
		switch {
		case k == 1: // its inputs are independent
			least.Add(law.SquareDown(math.Abs(mean)), z[i].varLo)
			most.Add(law.SquareUp(mean), z[i].varHi)
		case k > 1:
			together.Add(math.Abs(mean), arith.SqrtUp(z[i].varHi))
		}
		if k > 0 {
			narrow.Add(sdLo, law.SquareDown(max(0, z[i].meanLo)))
		}
	}
	if k > 1 {
		most.Plus(law.SquareUp(max(0, together.Hi())))
	}
	return neuron{meanLo: lo.Lo(), meanHi: hi.Hi(), varLo: max(0, least.Lo()), varHi: most.Hi()}, max(0, narrow.Lo())
}

// droppedOf is pre-activation j of a layer whose inputs z are dropped at this rate, of masks that do not depend
// on z. Of z nothing is known of how they vary together.
func droppedOf(l *posterior.Layer, z []neuron, j int, rate float64) neuron {
	in := l.Map.(net.Linear)
	var lo, hi, least, most, together arith.Sum
	lo.Plus(l.Bias.Mean[in.BiasOf(j)])
	hi.Plus(l.Bias.Mean[in.BiasOf(j)])
	odds := arith.Exactly(rate).Over(arith.Difference(1, rate))
	for i, w := range in.Into(j) {
		mean := l.Weight.Mean[w]
		if mean == 0 {
			continue
		}
		from, to := z[i].meanLo, z[i].meanHi
		if mean < 0 {
			from, to = to, from
		}
		lo.Add(mean, from)
		hi.Add(mean, to)
		least.Add(max(0, arith.ProductDown(law.SquareDown(math.Abs(mean)), odds.Lo)), z[i].squareLo)
		most.Add(arith.ProductUp(law.SquareUp(mean), odds.Hi), z[i].squareHi)
		together.Add(math.Abs(mean), arith.SqrtUp(z[i].varHi))
	}
	most.Plus(law.SquareUp(max(0, together.Hi())))
	return neuron{meanLo: lo.Lo(), meanHi: hi.Hi(), varLo: max(0, least.Lo()), varHi: most.Hi()}
}

// normal is max(t, 0) for a normal t: all grow with its mean and its variance.
func (t neuron) normal() neuron {
	sdLo, sdHi := arith.Down(math.Sqrt(t.varLo)), arith.SqrtUp(t.varHi)
	sdLo = max(0, sdLo)
	lo := gauss.ReLUMeanDown(t.meanLo, sdLo)
	hi := gauss.ReLUMeanUp(t.meanHi, sdHi)
	is := neuron{meanLo: lo, meanHi: hi, squareLo: gauss.ReLUSquareDown(t.meanLo, sdLo), squareHi: gauss.ReLUSquareUp(t.meanHi, sdHi)}
	is.varLo = max(0, arith.SumDown(is.squareLo, -law.SquareUp(gauss.ReLUMeanUp(t.meanLo, sdLo))))
	is.varHi = max(0, min(t.varHi, arith.SumUp(is.squareHi, -law.SquareDown(gauss.ReLUMeanDown(t.meanHi, sdHi)))))
	return is
}

// cut is max(t, 0) for a t that is normal given the layers below, with a deviation of which given is at
// least the square of the mean; or for any t, if given is 0.
func (t neuron) cut(given float64) neuron {
	lo := gauss.ReLUMeanDown(t.meanLo, max(0, arith.Down(math.Sqrt(given))))
	root := arith.SqrtUp(arith.SumUp(law.SquareUp(t.meanHi), t.varHi))
	is := neuron{meanLo: lo, meanHi: max(0, arith.ProductUp(0.5, arith.SumUp(t.meanHi, root))), squareLo: law.SquareDown(lo), squareHi: t.varHi, varHi: t.varHi}
	if t.meanHi > 0 {
		is.squareHi = arith.SumUp(law.SquareUp(t.meanHi), t.varHi)
	}
	return is
}
