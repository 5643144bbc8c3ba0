package clbp

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
)

// Rows of networks with noise of the inputs, by concave functions of the noise (docs/theory.md, section 3.11). Hidden layer
// number l of these is layer l+1, as the first adds the noise.

// shifted holds what noise of the inputs does to the first pre-activations: covariances, in the middle and by how much they
// are off at most, and deviations, rounded up.
type shifted struct {
	covariance [][]float64
	off        float64
	sd         []float64
}

// mostWork bounds the products that are worth it: certify's, and more.
const mostWork = 1e10

// newShifted is nil for networks that are no dense ReLU layers behind noise of the inputs.
func newShifted(post *posterior.Posterior, layers []relax.Layer, g *relax.Graph, d []deviations) *shifted {
	last := len(layers) - 1
	if !post.Shifts() || last < 2 {
		return nil
	}
	first, work := float64(layers[1].Out), 0.0
	for k := 1; k <= last; k++ {
		if l := &layers[k]; l.At != nil || l.Windows != nil || k < last && !relax.Cuts(l.Act) || !slices.Equal(g.From[k], []int{k - 1}) {
			return nil
		}
		work += float64(max(layers[1].In, 4*layers[k].Out)) * first * first
	}
	if work > mostWork {
		return nil
	}
	l := &layers[1]
	s := &shifted{covariance: make([][]float64, l.Out), sd: make([]float64, l.Out)}
	for a := range l.Out {
		s.covariance[a] = make([]float64, l.Out)
		var scaled [2][]float64 // products of a weight with a variance, which is an upper bound, enclosed
		for j := range l.In {
			w, v := l.W.Lo[l.Number(j, a)], d[0].BiasVariance[j]
			scaled[0], scaled[1] = append(scaled[0], arith.ProductDown(w, v)), append(scaled[1], arith.ProductUp(w, v))
		}
		for b := range a + 1 {
			var lo, hi arith.Sum
			for j := range l.In {
				w := l.W.Lo[l.Number(j, b)]
				lo.Add(arith.LeastProduct(scaled[0][j], scaled[1][j], w, w))
				hi.Add(arith.MostProduct(scaled[0][j], scaled[1][j], w, w))
			}
			middle := arith.Middle(lo.Lo(), hi.Hi())
			s.covariance[a][b], s.covariance[b][a] = middle, middle
			s.off = max(s.off, arith.SumUp(hi.Hi(), -lo.Lo()))
			s.sd[a] = arith.SqrtUp(max(0, hi.Hi())) // the last is its variance
		}
	}
	return s
}

// below is a concave function of the noise below a row: of the least mean, with gradients in the first pre-activations
// centre + sum_u [-1, 1] by_u centre of under u + sum_j [-1, 1] axis_j e_j, and in the noise of unit i of hidden layer l at most steep[l][i].
type below struct {
	mean         arith.Sum
	centre, axis []float64
	kept         []keptUnit
	steep        [][]float64
}

// keptUnit is a unit whose activation is kept as it is, with a factor.
type keptUnit struct {
	*under
	by float64
}

// under is what is below minus the pre-activation of a unit; turned are the covariances times its centre, rounded to nearest
// with the greatest error turnedOff, and activated bounds the mean of the activation.
type under struct {
	*below
	turned    arrayOff
	activated float64
	gain      float64
	// first is the unit's number in the first layer, -1 in others.
	first int
}

// arrayOff are numbers that may be off by so much.
type arrayOff struct {
	v   []float64
	off float64
}

// underUnits are the units of a hidden layer.
type underUnits struct {
	pre   relax.Span
	own   []law.Noise // about their value at one point: the mean of how far that varies, the variance with it
	under []*under
	order []int
}

// concaves is what is known of a cell.
type concaves struct {
	*shifted
	layers []relax.Layer
	first  relax.Span // pre-activations without noise
	hidden []underUnits
}

// leastKept is less than any factor of a unit that is worth to be kept: halves of more are exact.
const leastKept = 0x1p-500

// lowerSlopes are those of rules for a neuron, by the share of its interval that it is active on.
var lowerSlopes = []func(share float64) float64{
	func(share float64) float64 { return oneFrom(0.5, share) },
	func(share float64) float64 { return max(0, 2*share-1) },
	func(share float64) float64 { return oneFrom(0.6, share) },
	func(share float64) float64 { return oneFrom(0.75, share) },
	func(float64) float64 { return 0 },
}

func oneFrom(least, share float64) float64 {
	if share >= least {
		return 1
	}
	return 0
}

// wholeNoise is the noise at the centre of the cell with how far it varies from there: sum_j |D_ij| radius_j has the mean
// n.Mean, at least sqrt(2/pi) times its deviation.
func wholeNoise(n law.Noise) law.Noise {
	const rootHalfPiUp = 1.2533141373155006
	return law.Noise{Mean: n.Mean, Variance: law.SquareUp(arith.SumUp(arith.SqrtUp(n.Variance), arith.ProductUp(rootHalfPiUp, n.Mean)))}
}

// addHidden adds the next hidden layer.
func (t *concaves) addHidden(pre relax.Span, own []law.Noise) {
	u, l := underUnits{pre: pre, under: make([]*under, len(own)), own: make([]law.Noise, len(own))}, len(t.hidden)
	for i, n := range own {
		u.own[i] = wholeNoise(n)
		if lo, hi := pre.Lo[i], pre.Hi[i]; lo < 0 && hi > 0 && arith.Finite(lo, hi) {
			u.under[i] = t.underUnit(l, i, u.own[i].Variance)
			share := hi / (hi - lo)
			mean := -u.under[i].mean.Lo()
			u.under[i].gain = (share*(mean-lo) - u.under[i].activated) / math.Sqrt(t.varianceUp(u.under[i].below, u.own))
			if u.under[i].gain > 0 {
				u.order = append(u.order, i)
			}
		}
	}
	slices.SortStableFunc(u.order, func(a, b int) int { return cmp.Compare(u.under[b].gain, u.under[a].gain) })
	t.hidden = append(t.hidden, u)
}

// underUnit is what is below minus unit i of hidden layer l, with its own noise.
func (t *concaves) underUnit(l, i int, own float64) *under {
	b := t.unit(l, i, -1)
	v := t.varianceUp(b, nil)
	u := &under{below: b, first: -1}
	mean := -b.mean.Lo()
	if v = arith.SumUp(v, own); l == 0 {
		u.first = i
		u.activated = gauss.ReLUMeanUp(mean, arith.SqrtUp(v))
	} else {
		root := arith.SqrtUp(arith.SumUp(law.SquareUp(mean), v))
		u.activated = max(0, arith.Up(arith.SumUp(mean, root)/2))
	}
	b.steep[l] = make([]float64, t.layers[l+1].Out)
	b.steep[l][i] = 1
	for _, k := range b.kept { // one zonotope's generators are others' axes
		for j, c := range k.centre {
			b.axis[j] = arith.SumUp(b.axis[j], arith.ProductUp(k.by, math.Abs(c)))
		}
	}
	b.kept = nil
	u.turned = t.turn(b.centre)
	return u
}

// unit is a concave function below sign times unit i of hidden layer l, but for its own noise.
func (t *concaves) unit(l, i int, sign float64) *below {
	if l == 0 {
		s := make([]float64, len(t.sd))
		s[i] = sign
		return t.row(-1, s, arith.Sum{}, nil, 0)
	}
	s, c := t.layers[l+1].Unit(i, sign)
	return t.row(l-1, s.Lo, c, lowerSlopes[0], len(s.Lo))
}

// unitLo bounds it but for the probability that a quantile stands for.
func (t *concaves) unitLo(l, i int, sign, quantile float64, own law.Noise) float64 {
	own = wholeNoise(own)
	b := t.unit(l, i, sign)
	b.mean.Plus(-own.Mean)
	by := arith.ProductUp(quantile, arith.SqrtUp(arith.SumUp(t.varianceUp(b, nil), own.Variance)))
	if lo := arith.SumDown(t.lo(b), -by); !math.IsNaN(lo) {
		return lo
	}
	return -arith.Inf
}

// row is a concave function below s h + c, h being the activations of hidden layer l, or of -1 the first pre-activations; of
// each layer above the first so many units are kept at most.
func (t *concaves) row(l int, s []float64, c arith.Sum, slope func(share float64) float64, keep int) *below {
	n := len(t.sd)
	b := &below{mean: c, centre: make([]float64, n), axis: make([]float64, n), steep: make([][]float64, len(t.layers)-2)}
	for ; l >= 0; l-- {
		u, most := &t.hidden[l], keep
		if l == 0 {
			most = n
		}
		kept := map[int]bool{}
		for _, i := range u.order {
			if s[i] < -leastKept && len(kept) < most {
				kept[i] = true
			}
		}
		to := make([]float64, len(s))
		for i, x := range s {
			switch lo, hi := u.pre.Lo[i], u.pre.Hi[i]; {
			case hi <= 0 || x == 0:
			case lo >= 0:
				to[i] = x
			case x > 0:
				to[i] = x * slope(hi/(hi-lo))
			case kept[i]:
				b.mean.Add(x, u.under[i].activated)
				b.keep(u.under[i], -x)
			default: // x relu(z) - to z is concave, and least at an end
				to[i] = max(x, x*(hi/(hi-lo)))
				b.mean.Plus(min(arith.ProductDown(-to[i], lo), arith.ProductDown(arith.SumDown(x, -to[i]), hi)))
			}
		}
		b.steepen(l, to, 1)
		if s = to; l > 0 {
			s = t.mapped(l, to, b)
		}
	}
	for i, x := range s {
		b.mean.Add(arith.LeastProduct(x, x, t.first.Lo[i], t.first.Hi[i]))
		b.move(i, x)
	}
	return b
}

// move adds to a coordinate of the centre, with the rounding on the axis.
func (b *below) move(j int, x float64) {
	sum, e := arith.TwoSum(b.centre[j], x)
	b.centre[j], b.axis[j] = sum, arith.SumUp(b.axis[j], math.Abs(e))
}

func (b *below) steepen(l int, list []float64, by float64) {
	if b.steep[l] == nil {
		b.steep[l] = make([]float64, len(list))
	}
	for i, x := range list {
		b.steep[l][i] = arith.SumUp(b.steep[l][i], arith.ProductUp(by, math.Abs(x)))
	}
}

// keep adds by times minus the activation of a unit: gradients of what is under it, with a factor in [0, 1].
func (b *below) keep(u *under, by float64) {
	for j, c := range u.centre {
		p, e := arith.TwoProduct(by/2, c)
		b.move(j, p)
		b.axis[j] = arith.SumUp(b.axis[j], arith.SumUp(arith.Up(math.Abs(e)), arith.ProductUp(by, u.axis[j])))
	}
	if u.first >= 0 {
		b.axis[u.first] = arith.SumUp(b.axis[u.first], by/2)
	} else {
		b.kept = append(b.kept, keptUnit{u, by / 2})
	}
	for l, list := range u.steep {
		if list != nil {
			b.steepen(l, list, by)
		}
	}
}

// mapped takes a row over the pre-activations of hidden layer l to the activations below; roundings are paid for.
func (t *concaves) mapped(l int, s []float64, b *below) []float64 {
	k := &t.layers[l+1]
	to := make([]float64, k.In)
	for i, x := range s {
		b.mean.Add(x, k.B.Lo[i])
	}
	for j := range to {
		var sum arith.Sum
		for i, x := range s {
			if x != 0 {
				sum.Add(x, k.W.Lo[k.Number(j, i)])
			}
		}
		to[j] = sum.Lo() // no activation is negative
	}
	return to
}

// lo is the mean less how far the noise varies over the cell in the mean.
func (t *concaves) lo(b *below) float64 {
	m := b.mean
	for l, list := range b.steep {
		for i, x := range list {
			m.Add(-x, t.hidden[l].own[i].Mean)
		}
	}
	return m.Lo()
}

// levels bounds the variances by level, the lowest first.
func (t *concaves) levels(b *below) []float64 {
	list := []float64{t.noiseUp(b)}
	for l := range t.hidden {
		var v arith.Sum
		for i, x := range b.steep[l] {
			v.Add(law.SquareUp(x), t.hidden[l].own[i].Variance)
		}
		list = append(list, max(0, v.Hi()))
	}
	return list
}

// varianceUp is their sum; last, if it is not nil, is that of a layer that is not there yet.
func (t *concaves) varianceUp(b *below, last []law.Noise) float64 {
	sum := 0.0
	for _, v := range t.levels(b) {
		sum = arith.SumUp(sum, v)
	}
	if last != nil {
		for i, x := range b.steep[len(t.hidden)] {
			sum = arith.SumUp(sum, arith.ProductUp(law.SquareUp(x), last[i].Variance))
		}
	}
	return sum
}

// forms calls use with lower bounds of s h + c, but for noise, h being what feeds the last layer, whose noise is own.
func (t *concaves) forms(s []float64, c arith.Sum, own []law.Noise, use func(lo float64, list []law.Noise) bool) (more bool) {
	var forms []lineForm
	best, keeps := 0.0, []int{0, 1, 2, 4, 6, 9, 13, len(s)}
	if len(t.hidden) == 1 {
		keeps = keeps[:1]
	}
	for _, slope := range lowerSlopes {
		for _, keep := range keeps {
			b := t.row(len(t.hidden)-1, s, c, slope, keep)
			list := slices.Clone(own)
			for _, v := range slices.Backward(t.levels(b)) {
				list = append(list, law.Noise{Variance: v})
			}
			forms = append(forms, newLineForm(t.lo(b), list))
			best = max(best, forms[len(forms)-1].score)
		}
	}
	for _, f := range forms {
		if f.score >= best*nearBest && !use(f.lo, f.list) {
			return false
		}
	}
	return true
}
