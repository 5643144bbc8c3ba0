package decide

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// Target describes what is attacked: the network of these weights, in the layout of posterior.Draw,
// on a box with Lo <= Hi, where it should stay in the safe set.
type Target struct {
	Net     network.Network
	Weights drawn
	Box     property.Box
	Safe    *property.Safe
}

// Effort describes how hard an attack tries, and where.
type Effort struct {
	// Steps is the number of steps of a start, starts that of starts.
	Steps, Starts int
	// Restarts is from how many random points Adam descends where that found nothing clear.
	Restarts int
	// Seed holds the seed of random corners and points.
	Seed uint64
	// Thorough goes on when a margin is clearly negative, which is all that a proof for
	// one network needs.
	Thorough bool
	// Ball holds what points are drawn into, nil if all of the box is attacked.
	Ball *property.Ball
	// Over, unless it is nil, says that the time is up: the best point so far is the answer.
	Over func() bool
}

// Over returns a function that reports whether a context has ended.
func Over(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// Witness is the point of T, as it is written, where the network's margin is least; unless
// thorough, one where it is clearly negative; and that margin. Lo of its box is nil if no box of T
// has one. Without restarts it takes a sixth of the time and may miss what is narrow.
func Witness(ctx context.Context, net network.Network, weights drawn, t *property.Task, thorough, restarts bool) (at claim.Witness, box property.Box, marginApprox float64) {
	how := Effort{Steps: 20, Starts: 3, Seed: uint64(t.Index), Thorough: thorough, Ball: t.Ball, Over: Over(ctx)}
	if restarts {
		how.Restarts = restartsOf(net)
	}
	least := math.Inf(1)
	for b := range t.T {
		x, margin := AttackApprox(Target{net, weights, t.T[b], &t.S}, how)
		w, around := claim.NewWitness(t, b, x)
		if around.Lo != nil && (margin < least || box.Lo == nil) {
			least, at, box = margin, w, around
		}
	}
	return at, box, least
}

// mostRestarts is the greatest number of restarts of a witness, and restartWork that of products in
// all of them; a network gets one whatever it is.
const (
	mostRestarts = 4
	restartWork  = 1 << 26
)

// restartsOf is the number of restarts for a witness. It goes by the network's size, not by time: what
// is found decides numbers of records.
func restartsOf(net network.Network) int {
	return int(min(max(restartWork/(2*adamSteps*max(1, net.Work())), 1), mostRestarts))
}

// AttackApprox looks for the point of a box at which a network breaks the safe set
// most: it descends on
//
//	margin(x) = max over alternatives of min over their rows of C y(x) + D
//
// by steps of the gradient's sign (FGSM from the centre of the box, then projected
// descent from the centre, from the corner that FGSM names and from random corners
// until there are that many starts; with few inputs from the best of all corners), and
// then, where nothing clear was found, by Adam from random points. It returns the best point
// seen, always inside of the box and about inside of the ball, and its margin. Everything is ordinary float64: no bound of
// anything, and the same for the same arguments.
//
// Without a start the centre comes back, and so it does where margins are not finite:
// for a set that is empty or has an alternative without rows, and for NaN.
func AttackApprox(at Target, how Effort) (x []float64, marginApprox float64) {
	a := newAttack(at, how)
	centre := a.start()
	for j, v := range centre {
		centre[j] = min(max(v, a.Box.Lo[j]), a.Box.Hi[j]) // the sum may have overflowed
	}
	a.consider(centre)
	if !(math.Abs(a.bestMargin) <= math.MaxFloat64) {
		return a.best, a.bestMargin
	}
	corner := slices.Clone(centre)
	if how.Starts > 0 && !a.done() {
		a.step(corner, 1)
	}
	if how.Starts > 0 && len(centre) <= CornerInputs && a.Ball == nil {
		a.corners()
		copy(corner, a.best)
	}
	r := rand.New(rand.NewPCG(how.Seed, 1))
	for s := 0; s < how.Starts && !a.done(); s++ {
		from := slices.Clone(centre)
		switch {
		case s == 1:
			copy(from, corner)
		case s > 1 && a.Ball != nil:
			a.randomFace(r, from)
		case s > 1:
			randomCorner(r, from, a.Box)
		}
		a.descend(from)
	}
	if !a.clear() { // they find what is narrow, and descend no deeper
		a.restarts(r, how.Restarts, adamSteps)
	}
	return a.best, a.bestMargin
}

// leavesBy is by how much of the largest logit, at least 1, a margin has to be below 0 not to be rounding.
const leavesBy = 0x1p-30

// LeavesApprox reports whether an attack finds a point of the box, and of the ball if it is not nil, at which
// the network leaves the safe set by more than roundings may be. It is no bound: true is about so, and false
// says nothing.
func LeavesApprox(ctx context.Context, at Target, ball *property.Ball) bool {
	x, margin := AttackApprox(at, Effort{Steps: 20, Starts: 3, Ball: ball, Over: Over(ctx)})
	size := 1.0
	for _, y := range at.Net.OutputsApprox(at.Weights, x) {
		size = max(size, math.Abs(y))
	}
	return margin < -leavesBy*size
}

// CornerInputs is up to how many inputs all corners are tried: gradients at the
// centre say little of them where the box is large.
const CornerInputs = 6

// corners considers every corner of the box.
func (a *attack) corners() {
	for v := 0; v < 1<<len(a.Box.Lo) && !a.done(); v++ {
		x := slices.Clone(a.Box.Lo)
		for j := range x {
			if v>>j&1 == 1 {
				x[j] = a.Box.Hi[j]
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
	Target
	Effort
	pass *network.Pass
	// row is the row that decides the margin at the point considered last.
	row []float64
	// values holds the values of all rows there.
	values []float64

	best       []float64
	bestMargin float64
}

func newAttack(at Target, how Effort) *attack {
	return &attack{Target: at, Effort: how, pass: at.Net.NewPass(at.Weights), row: make([]float64, at.Net.Outputs()),
		best: make([]float64, at.Net.Inputs()), bestMargin: math.NaN()}
}

// done reports whether the best margin is negative by more than rounding and a narrow box of
// weights are likely to take back, or the time is up.
func (a *attack) done() bool {
	if a.Over != nil && a.Over() {
		return true
	}
	return !a.Thorough && a.clear()
}

// clear reports whether the best margin is negative by much.
func (a *attack) clear() bool {
	size := 1.0
	for _, y := range a.pass.Logits() {
		size = max(size, math.Abs(y))
	}
	return a.bestMargin < -size/64
}

// consider evaluates the network at x and keeps x if it is the best so far. The row to
// descend on, the least of the best alternative, is left in row.
func (a *attack) consider(x []float64) {
	margin := a.worstRow(a.pass.Forward(x))
	if math.IsNaN(a.bestMargin) || margin < a.bestMargin {
		a.bestMargin = margin
		copy(a.best, x)
	}
}

// descend takes steps from x: the k-th is 1/(k+3) of the box's width, so that a few
// reach any face from the centre and the later ones settle.
func (a *attack) descend(x []float64) {
	a.consider(x)
	for k := 1; k <= a.Steps && !a.done(); k++ {
		if !a.step(x, 1/float64(k+3)) {
			return
		}
	}
}

// step moves x by a share of the box's width against the sign of the gradient at
// the point considered last, and considers where it lands. It says whether x moved.
func (a *attack) step(x []float64, share float64) bool {
	if a.Ball != nil {
		return a.stepBall(x, share)
	}
	moved := false
	for j, g := range a.pass.Back(a.row) {
		lo, hi := a.Box.Lo[j], a.Box.Hi[j]
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

// worstRow returns the margin at the logits and puts the row that decides it, the
// least one of the best alternative, into row. +-Inf where no row does.
func (a *attack) worstRow(y []float64) float64 {
	margin, decides := a.Safe.Decides(a.valuesApprox(y))
	clear(a.row)
	if decides >= 0 {
		row := &a.Safe.Rows[decides]
		for i := range a.row {
			a.row[i] = 0.5 * (row.CLo[i] + row.CHi[i])
		}
	}
	return margin
}

// valuesApprox are about the rows at the logits.
func (a *attack) valuesApprox(y []float64) []float64 {
	a.values = a.values[:0]
	for r := range a.Safe.Rows {
		a.values = append(a.values, RowApprox(&a.Safe.Rows[r], y))
	}
	return a.values
}

// RowApprox is about C y + D.
func RowApprox(row *property.Row, y []float64) float64 {
	v := row.D
	for i, c := range row.CLo {
		v += 0.5 * (c + row.CHi[i]) * y[i]
	}
	return v
}
