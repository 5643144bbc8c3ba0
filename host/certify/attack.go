package certify

import (
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/posterior"
	"psafe/host/property"
)

// attackApprox looks for the point of a box at which the network of the given
// weights breaks the safe set most: it descends on
//
//	margin(x) = max over alternatives of min over their rows of C y(x) + D
//
// by steps of the gradient's sign (FGSM from the centre of the box, then projected
// descent from the centre, from the corner that FGSM names and from random corners
// until there are that many starts; with few inputs from the best of all corners), each start with the given number of steps. It
// returns the best point seen, always inside of the box, and its margin. Unless
// thorough it stops as soon as a margin is clearly negative, which is all that a
// proof for one network needs. Everything is ordinary float64: no
// bound of anything, and the same for the same arguments.
//
// weights[2k] are those of layer k, entry j*Out+i from input j to output i, and
// weights[2k+1] its biases. The box must have Lo <= Hi. Without a start the centre
// comes back, and so it does where margins are not finite: for a set that is empty
// or has an alternative without rows, and for NaN.
func attackApprox(layers []posterior.Layer, weights [][]float64, box property.Box, safe *property.Safe, steps, starts int, seed uint64, thorough bool) (x []float64, marginApprox float64) {
	a := newAttack(layers, weights, box, safe)
	a.thorough = thorough
	centre := middleOf(box)
	for j, v := range centre {
		centre[j] = min(max(v, box.Lo[j]), box.Hi[j]) // the sum may have overflowed
	}
	a.consider(centre)
	if !(math.Abs(a.bestMargin) <= math.MaxFloat64) {
		return a.best, a.bestMargin
	}
	corner := slices.Clone(centre)
	if starts > 0 && !a.done() {
		a.step(corner, 1)
	}
	if starts > 0 && len(centre) <= cornerInputs {
		a.corners()
		copy(corner, a.best)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for s := 0; s < starts && !a.done(); s++ {
		from := slices.Clone(centre)
		switch {
		case s == 1:
			copy(from, corner)
		case s > 1:
			randomCorner(r, from, box)
		}
		a.descend(from, steps)
	}
	return a.best, a.bestMargin
}

// cornerInputs is up to how many inputs all corners are tried: gradients at the
// centre say little of them where the box is large.
const cornerInputs = 6

// corners considers every corner of the box.
func (a *attack) corners() {
	for v := 0; v < 1<<len(a.box.Lo) && !a.done(); v++ {
		x := slices.Clone(a.box.Lo)
		for j := range x {
			if v>>j&1 == 1 {
				x[j] = a.box.Hi[j]
			}
		}
		a.consider(x)
	}
}

// randomCorner writes a corner of the box to x.
func randomCorner(r *rand.Rand, x []float64, box property.Box) {
	for j := range x {
		x[j] = box.Lo[j]
		if r.IntN(2) == 0 {
			x[j] = box.Hi[j]
		}
	}
}

// attack is one search with its buffers.
type attack struct {
	layers  []posterior.Layer
	weights [][]float64
	box     property.Box
	safe    *property.Safe
	// thorough goes on when a margin is clearly negative.
	thorough bool

	// z[0] is the input, z[k+1] the activations of layer k; delta[k] is the
	// margin's gradient with respect to z[k].
	z, delta [][]float64
	// used is room for the inputs of a layer that are not 0.
	used []int

	best       []float64
	bestMargin float64
}

func newAttack(layers []posterior.Layer, weights [][]float64, box property.Box, safe *property.Safe) *attack {
	a := &attack{layers: layers, weights: weights, box: box, safe: safe, bestMargin: math.NaN()}
	widest := layers[0].In
	a.z = [][]float64{nil}
	a.delta = [][]float64{make([]float64, layers[0].In)}
	for _, l := range layers {
		a.z = append(a.z, make([]float64, l.Out))
		a.delta = append(a.delta, make([]float64, l.Out))
		widest = max(widest, l.Out)
	}
	a.used = make([]int, 0, widest)
	a.best = make([]float64, layers[0].In)
	return a
}

// done says that the best margin is negative by more than rounding and a narrow
// box of weights are likely to take back.
func (a *attack) done() bool {
	if a.thorough {
		return false
	}
	size := 1.0
	for _, y := range a.z[len(a.z)-1] {
		size = max(size, math.Abs(y))
	}
	return a.bestMargin < -size/64
}

// consider evaluates the network at x and keeps x if it is the best so far. The
// gradient's seed, the least row of the best alternative, is left in delta.
func (a *attack) consider(x []float64) {
	a.forward(x)
	margin := a.worstRow()
	if math.IsNaN(a.bestMargin) || margin < a.bestMargin {
		a.bestMargin = margin
		copy(a.best, x)
	}
}

// descend takes steps from x: the k-th is 1/(k+3) of the box's width, so that a few
// reach any face from the centre and the later ones settle.
func (a *attack) descend(x []float64, steps int) {
	a.consider(x)
	for k := 1; k <= steps && !a.done(); k++ {
		if !a.step(x, 1/float64(k+3)) {
			return
		}
	}
}

// step moves x by a share of the box's width against the sign of the gradient at
// the point considered last, and considers where it lands. It says whether x moved.
func (a *attack) step(x []float64, share float64) bool {
	moved := false
	for j, g := range a.backward() {
		lo, hi := a.box.Lo[j], a.box.Hi[j]
		to := x[j]
		if g > 0 {
			to = max(lo, x[j]-share*(hi-lo))
		} else if g < 0 {
			to = min(hi, x[j]+share*(hi-lo))
		}
		moved = moved || to != x[j]
		x[j] = to
	}
	if moved {
		a.consider(x)
	}
	return moved
}

// forward evaluates the network at x.
func (a *attack) forward(x []float64) {
	a.z[0] = x
	for k := range a.layers {
		l := &a.layers[k]
		y := a.z[k+1]
		copy(y, a.weights[2*k+1])
		a.addProducts(y, a.z[k], a.weights[2*k])
		if l.Activation.Kind != posterior.Identity {
			for i, t := range y {
				y[i] = l.Activation.Approx(t)
			}
		}
	}
}

// addProducts adds sum_j z_j W_j to y, W_j being row j of the matrix: four rows at
// a time, since y would else be read and written for each, and none for z_j = 0.
func (a *attack) addProducts(y, z, matrix []float64) {
	used := a.used[:0]
	for j, v := range z {
		if v != 0 {
			used = append(used, j)
		}
	}
	n := len(y)
	for ; len(used) >= 4; used = used[4:] {
		w0, w1 := matrix[used[0]*n:][:n], matrix[used[1]*n:][:n]
		w2, w3 := matrix[used[2]*n:][:n], matrix[used[3]*n:][:n]
		z0, z1, z2, z3 := z[used[0]], z[used[1]], z[used[2]], z[used[3]]
		for i := range y {
			y[i] += (z0*w0[i] + z1*w1[i]) + (z2*w2[i] + z3*w3[i])
		}
	}
	for _, j := range used {
		v, w := z[j], matrix[j*n:][:n]
		for i := range y {
			y[i] += v * w[i]
		}
	}
}

// worstRow returns the margin at the logits and puts the row that decides it, the
// least one of the best alternative, into the last delta. +-Inf where no row does.
func (a *attack) worstRow() float64 {
	y := a.z[len(a.z)-1]
	margin, decides := math.Inf(-1), -1
	for _, all := range a.safe.Any {
		least, at := math.Inf(1), -1
		for _, r := range all {
			if v := rowApprox(&a.safe.Rows[r], y); v < least || math.IsNaN(v) {
				least, at = v, r
			}
		}
		if math.IsNaN(least) {
			return least
		}
		if least > margin || decides < 0 {
			margin, decides = least, at
		}
	}
	seed := a.delta[len(a.delta)-1]
	clear(seed)
	if decides >= 0 {
		row := &a.safe.Rows[decides]
		for i := range seed {
			seed[i] = 0.5 * (row.CLo[i] + row.CHi[i])
		}
	}
	return margin
}

// rowApprox is about C y + D.
func rowApprox(row *property.Row, y []float64) float64 {
	v := row.D
	for i, c := range row.CLo {
		v += 0.5 * (c + row.CHi[i]) * y[i]
	}
	return v
}

// backward returns the gradient of the deciding row with respect to the input; 0
// where the box has no width, as nothing can move there.
func (a *attack) backward() []float64 {
	for k := len(a.layers) - 1; k >= 0; k-- {
		l := &a.layers[k]
		up, down := a.delta[k+1], a.delta[k]
		for i, z := range a.z[k+1] {
			up[i] *= derivativeApprox(l.Activation, z)
		}
		matrix := a.weights[2*k]
		for j := range down {
			if a.still(k, j) {
				down[j] = 0
				continue
			}
			down[j] = dotApprox(matrix[j*l.Out:][:l.Out], up)
		}
	}
	return a.delta[0]
}

// still says that the gradient at entry j of z[k] is not needed: the input cannot
// move, or the ReLU below passes nothing on.
func (a *attack) still(k, j int) bool {
	if k == 0 {
		return a.box.Lo[j] == a.box.Hi[j]
	}
	return a.layers[k-1].Activation.Kind == posterior.ReLU && a.z[k][j] <= 0
}

// dotApprox is about v w, in four chains that do not wait for each other.
func dotApprox(v, w []float64) float64 {
	var s0, s1, s2, s3 float64
	w = w[:len(v)]
	i := 0
	for ; i+4 <= len(v); i += 4 {
		s0 += v[i] * w[i]
		s1 += v[i+1] * w[i+1]
		s2 += v[i+2] * w[i+2]
		s3 += v[i+3] * w[i+3]
	}
	for ; i < len(v); i++ {
		s0 += v[i] * w[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// derivativeApprox is the derivative of an activation where its value is z.
func derivativeApprox(a posterior.Activation, z float64) float64 {
	switch a.Kind {
	case posterior.ReLU:
		if z <= 0 {
			return 0
		}
	case posterior.LeakyReLU:
		if z < 0 {
			return a.Slope
		}
	case posterior.Tanh:
		return 1 - z*z
	case posterior.Sigmoid:
		return z * (1 - z)
	}
	return 1
}
