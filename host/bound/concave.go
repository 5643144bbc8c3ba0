package bound

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/arith/gauss"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Rows at a point with noise of the inputs, by concave functions of the noise (docs/theory.md, section 3.11). All here is
// float64 on the host; sums carry the sum of magnitudes, of which a share covers their roundings.

// concaveNet is a chain of dense layers with ReLU behind noise of the inputs.
type concaveNet struct {
	// layers are those above the noise, weights [in x out].
	layers []posterior.Layer
	// noise is the covariance of the first pre-activations that noise of the inputs brings, sd bounds its deviations.
	noise [][]float64
	sd    []float64
	// share covers the roundings of sums: of magnitudes.
	share float64
}

// leastVariance is what lesser ones count as, as they may be less by a large part than the square that they are.
const leastVariance = 0x1p-1020

// mostConcave bounds the products that a pass is worth.
const mostConcave = 1e9

// newConcaveNet is nil for other networks.
func newConcaveNet(post *posterior.Posterior) *concaveNet {
	if !post.Shifts() || len(post.Layers) < 3 {
		return nil
	}
	c := &concaveNet{layers: post.Layers[1:]}
	most, work := 0, 0.0
	for k, l := range c.layers {
		_, dense := l.Map.(network.Dense)
		if !dense || k < len(c.layers)-1 && !cutsAtZero(l.Activation) || l.Sources != nil && !slices.Equal(l.Sources, []int{k}) {
			return nil
		}
		most = max(most, l.Inputs(), l.Outputs())
		if first := float64(c.layers[0].Outputs()); k == 0 {
			work = float64(l.Inputs()) * first * first
		} else {
			work += 4 * float64(l.Outputs()) * first * first
		}
	}
	if work > mostConcave {
		return nil
	}
	// Sums over one layer are nested in those over the next: of n numbers in H hidden layers at most n H (H + 1)/2 + 4 n H
	// roundings meet in one.
	c.share = 0x1p-52 * float64((8*most+64)*(len(c.layers)-1)*(len(c.layers)-1))
	first, sd := &c.layers[0], post.Layers[0].Bias.SdHi
	in, out := first.Inputs(), first.Outputs()
	c.noise, c.sd = make([][]float64, out), make([]float64, out)
	for i := range out {
		c.noise[i] = make([]float64, out)
	}
	for j := range in {
		row, v := first.Weight.Mean[j*out:(j+1)*out], float64(sd[j]*sd[j])
		if sd[j] > 0 {
			v = max(v, leastVariance)
		}
		for i, w := range row {
			scaled, to := float64(w*v), c.noise[i]
			for o := range i + 1 {
				to[o] += float64(scaled * row[o])
			}
		}
	}
	for i := range out {
		c.sd[i] = math.Sqrt(float64(c.noise[i][i]*(1+c.share)) + 0x1p-900)
		for o := range i {
			c.noise[o][i] = c.noise[i][o]
		}
	}
	return c
}

// rough is a sum with that of magnitudes.
type rough struct{ v, size float64 }

func (r *rough) add(x float64) { r.v, r.size = r.v+x, r.size+math.Abs(x) }

// less takes a charge off.
func (r *rough) less(by float64) { r.add(-math.Abs(by)) }

func (c *concaveNet) down(r rough) float64 { return r.v - float64(r.size*c.share) - 0x1p-900 }

// concave is a concave function of the noise that is below a row: its mean is at least mean, its gradients in the first
// pre-activations are centre + sum_g t_g gens_g + sum_j t_j axis_j e_j, all t in [-1, 1], and those in the noise of
// unit i of layer l at most most[l][i].
type concave struct {
	mean         rough
	centre, axis []float64
	gens         [][]float64
	most         [][]float64
}

// concaveItem is one point, with what is proved of its hidden layers.
type concaveItem struct {
	*concaveNet
	middle, radius []float64 // of the first pre-activations without noise
	hidden         []concaveUnits
}

// concaveUnits are the bounds of a hidden layer's pre-activations, the variances of its own noise and, of each, a
// concave function below minus the pre-activation, its mean, and what bounds the mean of the activation by that; order
// are the units that gain by it, the most first.
type concaveUnits struct {
	lo, hi, variance []float64
	// vary are means of how far it varies over T.
	vary      []float64
	under     []concave
	activated []float64
	order     []int
}

// at is the net at the point x in [lo, hi].
func (c *concaveNet) at(lo, hi []float64) *concaveItem {
	l := &c.layers[0]
	out := l.Outputs()
	t := &concaveItem{concaveNet: c, middle: make([]float64, out), radius: make([]float64, out)}
	for i := range out {
		var sum rough
		sum.add(l.Bias.Mean[i])
		wide := 0.0
		for j, a := range lo {
			w, x := l.Weight.Mean[j*out+i], a+(hi[j]-a)/2
			sum.add(float64(w * x))
			wide += float64(math.Abs(w) * max(x-a, hi[j]-x))
		}
		t.middle[i], t.radius[i] = sum.v, wide+float64(c.share*(sum.size+wide))+0x1p-900
	}
	return t
}

// addUnits adds the next hidden layer, of which bounds and variances are known.
func (t *concaveItem) addUnits(lo, hi, variance, vary []float64) {
	u := concaveUnits{lo: lo, hi: hi, variance: variance, vary: vary, under: make([]concave, len(lo)), activated: make([]float64, len(lo))}
	gain, l := make([]float64, len(lo)), len(t.hidden)
	for i := range lo {
		if lo[i] >= 0 || hi[i] <= 0 {
			continue
		}
		f := t.unit(l, i, -1, -0.5, variance[i])
		mean, v := -t.down(f.mean), t.variance(&f, nil)
		f.most[l] = make([]float64, len(lo))
		f.most[l][i] = 1
		v += variance[i]
		root := math.Sqrt(v)
		if l == 0 {
			u.activated[i] = gauss.ReLUMeanUp(mean, root*(1+0x1p-50))
		} else {
			both := math.Sqrt(float64(mean*mean) + v)
			u.activated[i] = max(0, (mean+both)/2+float64((math.Abs(mean)+both)*0x1p-48))
		}
		for _, g := range f.gens {
			for j, x := range g {
				f.axis[j] += math.Abs(x)
			}
		}
		f.gens = nil
		u.under[i] = f
		share := hi[i] / (hi[i] - lo[i])
		if gain[i] = (float64(share*(mean-lo[i])) - u.activated[i]) / root; gain[i] > 0 {
			u.order = append(u.order, i)
		}
	}
	slices.SortStableFunc(u.order, func(a, b int) int { return cmp.Compare(gain[b], gain[a]) })
	t.hidden = append(t.hidden, u)
}

// unit is the best concave function below sign times unit i of hidden layer l, but for its own noise: of the greatest
// mean plus by standard deviations, own being the variance of that.
func (t *concaveItem) unit(l, i int, sign, by, own float64) (best concave) {
	k := &t.layers[l]
	if l == 0 {
		return t.below(-1, unitRow(len(t.sd), i, sign), 0, nil, 0)
	}
	out, score := k.Outputs(), math.Inf(-1)
	s := make([]float64, k.Inputs())
	for j := range s {
		s[j] = float64(sign * k.Weight.Mean[j*out+i])
	}
	for _, slope := range concaveSlopes[:1] {
		f := t.below(l-1, s, float64(sign*k.Bias.Mean[i]), slope, len(s))
		if now := t.down(f.mean) + float64(by*math.Sqrt(t.variance(&f, nil)+own)); now > score || best.centre == nil {
			best, score = f, now
		}
	}
	return best
}

func unitRow(n, i int, sign float64) []float64 {
	row := make([]float64, n)
	row[i] = sign
	return row
}

// leastKept is less than any factor of a unit that is worth to be kept.
const leastKept = 0x1p-500

// concaveSlopes are lower slopes of neurons by that of their upper line.
var concaveSlopes = []func(share float64) float64{
	func(share float64) float64 { return math.Round(share) },
	func(share float64) float64 { return max(0, 2*share-1) },
	func(share float64) float64 { return math.Floor(share + 0.4) },
	func(share float64) float64 { return math.Floor(share + 0.25) },
	func(float64) float64 { return 0 },
}

// below is a concave function below s h + c, h being the activations of hidden layer l, or for -1 s over the first
// pre-activations. Of units of each layer above the first so many are kept as they are.
func (t *concaveItem) below(l int, s []float64, c float64, slope func(share float64) float64, keep int) concave {
	n := len(t.sd)
	f := concave{centre: make([]float64, n), axis: make([]float64, n), most: make([][]float64, len(t.layers))}
	f.mean.add(c)
	for ; l >= 0; l-- {
		s = t.through(l, s, slope, keep, &f)
		if f.most[l] == nil {
			f.most[l] = make([]float64, len(s))
		}
		for i, x := range s {
			f.most[l][i] += math.Abs(x)
		}
		if l > 0 {
			s = t.mapped(l, s, &f)
		}
	}
	for i, x := range s {
		f.mean.add(float64(x * t.middle[i]))
		f.mean.less(float64(x * t.radius[i]))
		f.centre[i] += x
	}
	return f
}

// through takes s over the activations of hidden layer l to its pre-activations.
func (t *concaveItem) through(l int, s []float64, slope func(share float64) float64, keep int, f *concave) []float64 {
	u, kept := &t.hidden[l], make([]bool, len(s))
	if l == 0 {
		keep = len(s)
	}
	for _, i := range u.order {
		if s[i] < -leastKept && keep > 0 {
			kept[i] = true
			keep--
		}
	}
	to := make([]float64, len(s))
	for i, x := range s {
		lo, hi := u.lo[i], u.hi[i]
		switch share := hi / (hi - lo); {
		case hi <= 0 || x == 0:
		case lo >= 0:
			to[i] = x
		case kept[i]:
			f.mean.less(float64(x * u.activated[i]))
			if f.keep(&u.under[i], -x); l == 0 { // its gradient is along an axis
				f.gens, f.axis[i] = f.gens[:len(f.gens)-1], f.axis[i]-x/2
			}
		case x > 0:
			to[i] = float64(x * min(1, slope(share)))
		default:
			y := max(x, float64(x*share))
			to[i] = y
			f.mean.add(min(float64(-y*lo), float64((x-y)*hi)))
		}
	}
	return to
}

// keep adds the gradients of minus the activation of a unit, x times: those of under with a factor in [0, 1].
func (f *concave) keep(under *concave, x float64) {
	g := make([]float64, len(f.centre))
	for j, c := range under.centre {
		g[j] = float64(x * c / 2)
		f.centre[j] += g[j]
		f.axis[j] += float64(x * under.axis[j])
	}
	f.gens = append(f.gens, g)
	for l, list := range under.most {
		if list != nil && f.most[l] == nil {
			f.most[l] = make([]float64, len(list))
		}
		for i, m := range list {
			f.most[l][i] += float64(x * m)
		}
	}
}

// mapped takes s over the pre-activations of hidden layer l to the activations below.
func (t *concaveItem) mapped(l int, s []float64, f *concave) []float64 {
	k, below := &t.layers[l], &t.hidden[l-1]
	out, to := k.Outputs(), make([]float64, k.Inputs())
	for i, x := range s {
		f.mean.add(float64(x * k.Bias.Mean[i]))
	}
	for j := range to {
		var sum rough
		for i, x := range s {
			if x != 0 {
				sum.add(float64(x * k.Weight.Mean[j*out+i]))
			}
		}
		to[j] = sum.v
		f.mean.less((float64(sum.size*t.share) + 0x1p-900) * max(0, below.hi[j]))
	}
	return to
}

// variance bounds the variances of what f is of each level, the noise of the inputs first, and their sum: of the squares of
// its Lipschitz constants.
func (t *concaveItem) variance(f *concave, each func(v float64)) float64 {
	total := t.noiseOf(f)
	if each != nil {
		each(total)
	}
	for l, list := range f.most {
		v := 0.0
		for i, m := range list {
			v += float64(m * float64(m*t.hidden[l].variance[i]))
		}
		v = float64(v*(1+t.share)) + 0x1p-900
		if total += v; each != nil && l < len(t.hidden) {
			each(v)
		}
	}
	return float64(total * (1 + t.share))
}

// lo is the mean of f less what its noise varies by over T, in the mean.
func (t *concaveItem) lo(f *concave) float64 {
	mean := f.mean
	for l, list := range f.most {
		for i, m := range list {
			mean.less(float64(m * t.hidden[l].vary[i]))
		}
	}
	return t.down(mean)
}

// noiseOf bounds g' noise g over all gradients g of f.
func (t *concaveItem) noiseOf(f *concave) float64 {
	reach, sum := 0.0, 0.0
	turned := make([]float64, len(t.sd))
	for j, row := range t.noise {
		whole, wide := math.Abs(f.centre[j])+f.axis[j], 0.0
		if f.centre[j] != 0 {
			for o, v := range row {
				turned[o] += float64(f.centre[j] * v)
			}
		}
		if f.axis[j] != 0 {
			for o, v := range row {
				wide += float64(math.Abs(v) * f.axis[o])
			}
		}
		for _, g := range f.gens {
			whole += math.Abs(g[j])
		}
		reach += float64(whole * t.sd[j])
		sum += float64(f.axis[j] * wide)
	}
	dot := func(a, b []float64) (sum float64) {
		for j, x := range a {
			sum += float64(x * b[j])
		}
		return sum
	}
	for j, x := range turned {
		sum += float64(f.centre[j]*x) + float64(2*f.axis[j]*math.Abs(x))
	}
	for at, g := range f.gens {
		of := make([]float64, len(t.sd))
		for j, x := range g {
			if x != 0 {
				for o, v := range t.noise[j] {
					of[o] += float64(x * v)
				}
			}
		}
		part := 2*math.Abs(dot(of, f.centre)) + math.Abs(dot(of, g))
		for _, other := range f.gens[:at] {
			part += 2 * math.Abs(dot(of, other))
		}
		for o, x := range of {
			part += float64(2 * math.Abs(x) * f.axis[o])
		}
		sum += part // one by one there would be more roundings than pairs of layers' units
	}
	return max(0, sum) + float64(8*t.share*float64(reach*reach)) + 0x1p-900
}
