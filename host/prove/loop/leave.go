package loop

import (
	"context"
	"math"
	"math/big"
	"slices"
	"sync"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/plant"
	"psafe/internal/fault"
)

// Draws are networks that are drawn, by number and seed.
type Draws struct {
	Networks int
	Seed     uint64
}

// Leaving says of how many drawn networks it is proved that a trajectory breaks the statement: once, from any start
// that was tried; each-step, from one start that was chosen before, with a network drawn at every step. Networks is 0 if
// no start was found to try.
type Leaving struct {
	Networks, Left int
	// Cells are start cells with a start of such a trajectory, in order.
	Cells []int
}

// Limits of what is tried.
const (
	mostTrials = 64
	// horizon is how many steps are followed, of statements about more.
	horizon = 200
	// mostOperations is about how many multiplications are spent, if there is a choice.
	mostOperations = 1e9
	// pilots is how many trajectories choose the start for each-step.
	pilots = 16
)

// trial is a box that has a start, in a cell of the start set, and what the noise is all the time.
type trial struct {
	cell         int
	start, noise []arith.Interval
}

// chase follows trajectories of drawn networks.
type chase struct {
	*Loop
	post   *posterior.Posterior
	seed   uint64
	trials []trial
	steps  int
	// late says that a trajectory breaks the statement that is not in the goal after so many steps.
	late bool
	// ended is the error of a context, which is asked for at each step: steps may take long.
	ended func() error
}

// Leave draws networks and looks for starts whose trajectories leave the safe set before they are in the goal, or are
// not there after as many steps as the statement says, 0 if it says none. What float64 finds is proved by intervals
// (docs/theory.md, section 3.9). Networks are others than those that the plan has seen. tell hears how many have been
// followed, one call at a time.
func (l *Loop) Leave(ctx context.Context, post *posterior.Posterior, d Draws, steps int, tell func(done, total int)) (Leaving, error) {
	c := chase{Loop: l, post: post, seed: d.Seed, steps: steps, late: l.Goal != nil && steps > 0 && steps <= horizon, ended: ctx.Err}
	if steps == 0 || steps > horizon {
		c.steps = horizon
	}
	each := float64(d.Networks) * float64(c.steps) * float64(post.Network().Work()+200)
	c.trials = l.trials(int(min(max(1, mostOperations/each), mostTrials)))
	if len(c.trials) == 0 {
		return Leaving{}, ctx.Err()
	}
	found := Leaving{Networks: d.Networks}
	first := draws
	tell(0, d.Networks)
	if l.Fresh {
		if err := c.choose(ctx, first+d.Networks*c.steps); err != nil {
			return found, err
		}
	}
	broken := make([][]int, d.Networks) // the trials of each network, those that are proved negated
	var mu sync.Mutex
	done := 0
	err := fault.OnCores(ctx, d.Networks, func(i int) {
		broken[i] = c.draw(first + i)
		mu.Lock()
		defer mu.Unlock()
		done++
		tell(done, d.Networks)
	})
	if err != nil {
		return found, err
	}
	proved := map[int]bool{}
	tried := map[int]bool{}
	for i, list := range broken {
		if len(list) == 0 {
			continue
		}
		if list[0] < 0 {
			found.Left++
			proved[c.trials[-list[0]-1].cell] = true
		}
		for _, t := range list[1:] { // the others are for the picture
			if cell := c.trials[t].cell; !proved[cell] && !tried[cell] && ctx.Err() == nil {
				tried[cell] = true
				proved[cell] = c.proves(first+i, c.weights(first+i), &c.trials[t])
			}
		}
	}
	for cell := range proved {
		if proved[cell] {
			found.Cells = append(found.Cells, cell)
		}
	}
	slices.Sort(found.Cells)
	return found, ctx.Err()
}

// trials are at most so many starts, from the rim of the start set inward, with the noise at its ends.
func (l *Loop) trials(most int) (list []trial) {
	middle, at := l.Middle(), make([]int, len(l.State))
	far := func(cell int) (square int) {
		l.Cell(cell, at)
		for i, k := range at {
			square += (k - middle[i]) * (k - middle[i])
		}
		return square
	}
	cells := slices.Clone(l.start)
	slices.SortStableFunc(cells, func(a, b int) int { return far(b) - far(a) })
	low, high := make([]arith.Interval, len(l.Between)), make([]arith.Interval, len(l.Between))
	for i, ends := range l.Between { // each holds one number, the end
		low[i], high[i] = arith.Of(ends[0].Lo, ends[0].Hi), arith.Of(ends[1].Lo, ends[1].Hi)
	}
	most = min(most, len(cells))
	for i := range most {
		cell := cells[i*len(cells)/most]
		x, ok := l.startIn(cell)
		if !ok {
			continue
		}
		list = append(list, trial{cell, x, low})
		if len(low) > 0 {
			list = append(list, trial{cell, x, high})
		}
	}
	return list
}

// startIn is a point of a cell that is in the start set: the middle, or next to it within the bounds of coordinates. Where
// bounds leave a coordinate one number, which may be no float64, it is a box that has such a point.
func (l *Loop) startIn(cell int) (x []arith.Interval, ok bool) {
	x = l.box(cell, nil)
	thin := make([]bool, len(x))
	for i, v := range x {
		lo, hi := bounds(l.Start, i)
		if thin[i] = hi-lo <= 1e-9*(v.Hi-v.Lo); thin[i] {
			if !(v.Lo <= lo && lo <= hi && hi <= v.Hi) {
				return nil, false
			}
			x[i] = arith.Of(lo, hi)
			continue
		}
		inner := min(v.Hi-v.Lo, hi-lo) / 1024
		x[i] = arith.Exactly(min(max(min(max(v.Middle(), lo+inner), hi-inner), v.Lo), v.Hi))
	}
	for _, f := range l.Start {
		if i, alone := alone(f); alone && thin[i] { // no two of these contradict each other, or the file is refused
			continue
		}
		if !within(plant.Set{f}, x) {
			return nil, false
		}
	}
	return x, true
}

// weights are those of network i of the sequence.
func (c *chase) weights(i int) [][]float64 {
	w := c.post.NewWeights()
	c.post.Draw(c.seed, i, w)
	return w
}

// choose keeps the trial that most of some trajectories break the statement from, by networks from this number on.
func (c *chase) choose(ctx context.Context, first int) error {
	counts := make([]int, len(c.trials))
	err := fault.OnCores(ctx, len(counts), func(t int) {
		for k := range pilots {
			if c.breaksApprox(first+(t*pilots+k)*c.steps, nil, &c.trials[t]) {
				counts[t]++
			}
		}
	})
	best := 0
	for t := range counts {
		if counts[t] > counts[best] {
			best = t
		}
	}
	c.trials = c.trials[best : best+1]
	return err
}

// draw lists the trials from which trajectories of a network, by its number, seem to break the statement; the first, if
// that is proved of one, by what is -1 less its number.
func (c *chase) draw(number int) (list []int) {
	var w [][]float64
	if c.Fresh {
		number = draws + (number-draws)*c.steps
	} else {
		w = c.weights(number)
	}
	for t := range c.trials {
		if c.breaksApprox(number, w, &c.trials[t]) {
			list = append(list, t)
		}
	}
	const most = 3
	for k, t := range list[:min(most, len(list))] {
		if c.proves(number, w, &c.trials[t]) {
			list[k] = list[0]
			list[0] = -1 - t
			break
		}
	}
	return list
}

// breaksApprox follows a trajectory in float64. w are the weights, nil if the network of step k is number+k.
func (c *chase) breaksApprox(number int, w [][]float64, t *trial) bool {
	x := make([]float64, len(t.start))
	if w == nil {
		w = c.post.NewWeights()
	}
	pass, in := c.post.Network().NewPass(w), make([]float64, len(c.Inputs))
	return c.breaks(t, func(step int, box []arith.Interval) []arith.Interval {
		if c.Fresh {
			c.post.Draw(c.seed, number+step, w)
		}
		moved := step == 0
		for i, v := range box {
			m := v.Middle()
			moved = moved || c.Fresh || math.Abs(m-x[i]) > 1e-9*(1+math.Abs(m))
			x[i], box[i] = m, arith.Exactly(m)
		}
		if !moved { // nor will it
			return nil
		}
		for j, i := range c.Inputs {
			in[j] = x[i]
		}
		var out []arith.Interval
		for _, y := range pass.Forward(c.post.Input.NormaliseApprox(in)) {
			out = append(out, arith.Exactly(y))
		}
		return out
	})
}

// proves follows a trajectory in intervals that hold it.
func (c *chase) proves(number int, w [][]float64, t *trial) bool {
	return c.breaks(t, func(step int, box []arith.Interval) []arith.Interval {
		if c.Fresh {
			w = c.weights(number + step)
		}
		return c.enclose(w, box)
	})
}

// enclose holds the outputs of a network for all states of a box, nil where that is not finite.
func (c *chase) enclose(w [][]float64, box []arith.Interval) (out []arith.Interval) {
	for _, list := range w {
		for _, v := range list {
			if !arith.Finite(v, v) {
				return nil
			}
		}
	}
	at := func(of []float64, j int) arith.Interval { return arith.Exactly(of[j%len(of)]) }
	var in []network.Enclosure
	for j, i := range c.Inputs {
		v := box[i]
		if mean := c.post.Input.Mean; len(mean) > 0 {
			v = v.Minus(at(mean, j))
		}
		if std := c.post.Input.Std; len(std) > 0 {
			v = v.Over(at(std, j))
		}
		if !v.Finite() {
			return nil
		}
		in = append(in, network.Enclosure{Lo: network.MakeEnclosure(v.Lo).Lo, Hi: network.MakeEnclosure(v.Hi).Hi})
	}
	for _, y := range c.post.Network().Enclose(w, in) {
		lo, side := y.Lo.Float64()
		if side == big.Above {
			lo = arith.Down(lo)
		}
		hi, side := y.Hi.Float64()
		if side == big.Below {
			hi = arith.Up(hi)
		}
		out = append(out, arith.Of(lo, hi))
	}
	return out
}

// breaks follows a trajectory, of whose states it knows a box at each step, until it has surely broken the statement, or
// may have fulfilled it. outputs has the network's for the states of a box, nil to give up.
func (c *chase) breaks(t *trial, outputs func(step int, box []arith.Interval) []arith.Interval) bool {
	box := append(make([]arith.Interval, 0, len(t.start)+len(c.Outputs)+len(t.noise)), t.start...)
	for step := 0; ; step++ {
		if c.ended() != nil {
			return false
		}
		for _, v := range box {
			if !v.Finite() {
				return false
			}
		}
		switch {
		case c.Goal != nil && meets(c.Goal, box):
			return false
		case c.lost(box):
			return true
		case step == c.steps:
			return c.late
		}
		out := outputs(step, box)
		if out == nil {
			return false
		}
		in, next := append(append(box, out...), t.noise...), make([]arith.Interval, len(box), cap(box))
		for i, f := range c.Next {
			next[i] = valueOf(f, in)
		}
		box = next
	}
}

// lost reports whether all states of a box are unsafe: outside of the safe set, or farther outside of the grid than
// edges were moved.
func (l *Loop) lost(box []arith.Interval) bool {
	if !meets(l.Safe, box) {
		return true
	}
	for i, c := range l.State {
		e, n := c.Edges, len(c.Edges)-1
		if box[i].Hi < arith.Down(2*e[0]-e[1]) || box[i].Lo > arith.Up(2*e[n]-e[n-1]) {
			return true
		}
	}
	return false
}
