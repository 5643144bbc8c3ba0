// Package branch proves networks safe on a box by branch and bound over phases of ReLUs: one, or
// all of a posterior on an event that bounds their noise (Noise), for many inputs, where cutting T
// proves little (docs/theory.md, section 6.2). Lower slopes are raised for every row on the way,
// those of hidden layers' units included (Xu et al. 2021, alpha-CROWN), and where that does not do,
// neurons are taken to be active or not, one after the other, with a multiplier for each (Wang et
// al. 2021, beta-CROWN). Sub-problems of one network and box are rows of one item. Every bound is
// the device's and holds, however slopes, multipliers and neurons were chosen: package bound,
// Splits.
package branch

import (
	"errors"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
)

// Task asks whether one network is in a safe set on a box.
type Task struct {
	Box  property.Box
	Safe *property.Safe
	// Noise, if it is not nil, says that the network is the mean of a posterior, and the question
	// is about all that are drawn from it, on an event that EventsUp pays for. Then there is a
	// Proof, and bounds of hidden layers serve all inputs of the box: none is under an assumption,
	// as the noise of a layer is only known beside what is below it.
	Noise *Noise
	// Most is how many sub-problems may be looked at.
	Most int
	// Beside says that trees with Noise grow beside each other, so that more is asked of the device at a time: of what
	// is not proved other numbers of sub-problems are looked at then. It is the task's, as rechecks do the same.
	Beside bool
	// Stop reports whether nobody wants to know any more; nil: never.
	Stop func() bool
	// Count, if it is not nil, is told of sub-problems as they are looked at.
	Count func(n int)
}

// Answer holds what is known of a Task.
type Answer struct {
	// Proved reports whether the network is in the safe set.
	Proved bool
	// Tried is how many sub-problems that took.
	Tried int
	// Numbers are all that the device has said.
	Numbers []float64
	// Proof is there for what is proved with Noise.
	Proof *Proof
}

// Serves reports whether phases serve a network and a set: hidden layers have ReLU or no activation,
// and the set has Clauses.
func Serves(net network.Network, safe *property.Safe) bool {
	return bound.CanSplit(net) && len(Clauses(safe)) > 0
}

// Clauses writes a set as an AND of clauses, each an OR of rows. A clause holds on a sub-problem if one
// of its rows, or a mixture of them ((31), docs/theory.md), is >= 0 there. Each is proved by
// itself, in another mixture in each leaf of its tree. Nil if they are too many.
func Clauses(safe *property.Safe) (clauses [][]int) { return safe.Clauses() }

// Work returns how many products it takes to raise the bounds of all hidden units.
func Work(net network.Network) (products int) {
	below := 0
	for _, l := range net[:len(net)-1] {
		if bound.HasPhases(l) && below > 0 {
			products += 2 * l.Outputs() * 2 * unitRounds * below
		}
		below += productsOf(l)
	}
	return products
}

// RowWork is about how many products a row takes on its way down.
func RowWork(net network.Network) (products int) {
	for _, l := range net {
		products += productsOf(l)
	}
	return products
}

// productsOf is about how many products a row takes through a layer.
func productsOf(l network.Layer) int {
	if l.Biases() == 0 {
		return l.Inputs()
	}
	return l.Outputs() * (l.Weights() / l.Biases())
}

// errStopped ends a task that nobody wants to know the end of.
var errStopped = errors.New("stopped")

// On answers the task on a model, whose networks have the layers of net, for all weights in a box:
// those of one network, rounded outward.
func (t *Task) On(m *bound.Model, net network.Network, weights bound.Explicit) (Answer, error) {
	answers, err := Together(m, net, weights, []*Task{t})
	if err != nil {
		return Answer{}, err
	}
	return answers[0], nil
}

// Together is On of several tasks. On a device that is at its best with much at a time (bound.Wide) they go on beside
// each other, and what they ask at the same time is asked together; they must have Noise then. No answer depends on it.
func Together(m *bound.Model, net network.Network, weights bound.Explicit, tasks []*Task) ([]Answer, error) {
	boxes, err := m.Upload([]bound.Explicit{weights})
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	some := 1
	if bound.Wide(m.Device()) {
		some = max(1, len(tasks))
	}
	var answers []Answer
	for part := range slices.Chunk(tasks, some) {
		got, errs := make([]Answer, len(part)), make([]error, len(part))
		m.Together(len(part), func(i int, turn *bound.Turn) { got[i], errs[i] = part[i].on(m, net, boxes, turn) })
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
		answers = append(answers, got...)
	}
	return answers, nil
}

// on answers the task on a model in a search's turn.
func (t *Task) on(m *bound.Model, net network.Network, boxes *bound.Boxes, turn *bound.Turn) (Answer, error) {
	p := newPhased(t, net)
	if t.Noise != nil {
		p.proof = &Proof{}
	}
	proved := false
	p.lines = t.Noise == nil && CutsBox(net)
	err := p.on(m, boxes, turn, func() (err error) {
		if p.lines {
			proved, err = p.cells(m, p.roots())
		} else {
			proved, err = p.tree()
		}
		return err
	})
	if err != nil && !errors.Is(err, errStopped) {
		return Answer{}, err
	}
	numbers := append(slices.Concat(p.known.lo...), slices.Concat(p.known.hi...)...)
	answer := Answer{Proved: proved, Tried: p.tried, Numbers: append(numbers, p.bounds...)}
	if proved {
		answer.Proof = p.proof
	}
	return answer, nil
}

func newPhased(t *Task, net network.Network) *phased {
	return &phased{task: t, net: net, aimFrom: math.Inf(-1), batch: branchBatch, first: clausesFirst, most: columnsOf(net), layer: len(net) - 1, trees: map[int][]*side{}}
}

// phased is a Task under way on one device.
type phased struct {
	task *Task
	net  network.Network
	// most is how many rows go down at a time.
	most int
	s    *bound.Splits
	// known are the pre-activations of hidden layers, and open the neurons that may be on both sides
	// of their kink.
	known ranges
	open  []neuronAt
	// aimFrom is the bound from which on it may be worth while to bound neurons again for a
	// sub-problem.
	aimFrom float64
	// layer is the one whose rows sub-problems are about.
	layer int
	// trees holds the trees that hidden neurons have been bounded by, by layer, as far as they are to go on.
	trees map[int][]*side
	// from holds what this is a part of, whose neurons range further; nil: of nothing.
	from  *phased
	tried int
	// batch is how many sub-problems are cut at a time, and first how many are before hidden neurons
	// are refined.
	batch, first int
	// bounds are all that the device has said of sub-problems.
	bounds []float64
	// proof holds what is noted of how it was proved, nil if nobody wants to know.
	proof *Proof
	// lines says that the bounds of hidden layers are LBP's, and stay so.
	lines bool
}

// ranges are bounds of the pre-activations of hidden layers. phases says which of these have phases.
type ranges struct {
	lo, hi [][]float64
	phases []bool
}

// neuronAt is a neuron of a hidden layer.
type neuronAt struct{ layer, unit int }

// open reports whether a neuron may be on both sides of its kink.
func (r *ranges) open(l, i int) bool { return r.phases[l] && r.lo[l][i] < 0 && r.hi[l][i] > 0 }

// usual is the lower slope that LBP takes.
func (r *ranges) usual(l, i int) float64 {
	if r.hi[l][i] > -r.lo[l][i] {
		return 1
	}
	return 0
}

// on bounds the hidden layers on a model, for all networks in a weight box, and then has f work
// there.
func (p *phased) on(m *bound.Model, boxes *bound.Boxes, turn *bound.Turn, f func() error) error {
	var in *bound.Inputs
	var rows *bound.Rows
	defer turn.Always(func() {
		if rows != nil {
			m.ReleaseRows(rows)
		}
		if in != nil {
			m.ReleaseInputs(in)
		}
	})
	if err := turn.Do(func() (err error) {
		if in, err = m.UploadInputs([]property.Box{p.task.Box}); err == nil {
			rows, err = m.UploadRows([][]property.Row{p.task.Safe.Rows})
		}
		return err
	}); err != nil {
		return err
	}
	p.s = m.NewSplits(boxes, in, rows)
	p.s.InTurn(turn)
	defer p.s.Release()
	if err := p.hidden(); err != nil {
		return err
	}
	return f()
}

const (
	// unitRounds and rowRounds are how many steps of ascent the rows of hidden units and those of
	// the property get, childRounds those of a sub-problem and lastRounds those of one that has no
	// neuron left to cut at.
	unitRounds, rowRounds, childRounds, lastRounds = 20, 40, 10, 300
	// mostColumns is how many rows go down at a time, mostNumbers about how many numbers those have
	// over all neurons.
	mostColumns, mostNumbers = 512, 1 << 20
	// mostRaising is how many products raising the bounds of all layers may take; of those for which
	// it would take more the bounds of LBP have to do.
	mostRaising = 1 << 36
	// mostSlopes is how many slopes of theirs a proof may say.
	mostSlopes = 1 << 20
)

// columnsOf returns how many rows go down at a time.
func columnsOf(net network.Network) int {
	neurons := 0
	for _, l := range net[:len(net)-1] {
		if bound.HasPhases(l) {
			neurons += l.Outputs()
		}
	}
	return max(16, min(mostColumns, mostNumbers/neurons&^1))
}

// BytesApprox is about how much memory a task takes, on the device and the host: the numbers that rows have at every
// neuron, and the weights, in several forms.
func BytesApprox(net network.Network) int64 {
	const each, ofWeight = 100, 64
	units, weights := net[0].Inputs(), 0
	for _, l := range net {
		units, weights = units+l.Outputs(), weights+l.Weights()
	}
	return int64(each*columnsOf(net)*units + ofWeight*weights)
}

// hidden bounds the hidden layers, each neuron that may be on both sides of its kink by ascent.
func (p *phased) hidden() error {
	box := ReachOf(p.task.Box)
	var outputs []Reach
	below, raising, open, slopes, cut := 0, 0, 0, 0, false // cut: a layer below has phases
	for k := range p.net[:len(p.net)-1] {
		in := p.reach(k, &box, outputs)
		if err := p.allow(k, &in); err != nil {
			return err
		}
		lo, hi, err := p.s.Next()
		if err != nil {
			return err
		}
		p.known.lo, p.known.hi = append(p.known.lo, lo), append(p.known.hi, hi)
		p.known.phases = append(p.known.phases, bound.HasPhases(p.net[k]))
		var units []int
		for i := range lo {
			if cut && p.known.open(k, i) {
				units = append(units, i)
			}
		}
		raising, slopes = raising+2*len(units)*2*unitRounds*below, slopes+2*len(units)*open
		if p.lines || raising > mostRaising || p.proof != nil && slopes > mostSlopes {
			units = nil
		}
		if err := p.raiseUnits(k, units); err != nil {
			return err
		}
		p.noteLayer(k, units)
		if p.task.Noise != nil {
			outputs = append(outputs, p.task.Noise.OutputsUp(k, &in, lo, hi))
		}
		for i := range lo {
			if p.known.open(k, i) {
				p.open, open = append(p.open, neuronAt{k, i}), open+1
			}
		}
		below, cut = below+productsOf(p.net[k]), cut || p.known.phases[k]
	}
	in := p.reach(len(p.net)-1, &box, outputs)
	return p.allow(len(p.net)-1, &in)
}

// reach returns the reach of what feeds layer k, if there is noise.
func (p *phased) reach(k int, box *Reach, outputs []Reach) Reach {
	if p.task.Noise == nil {
		return Reach{}
	}
	return p.task.Noise.Into(k, box, outputs)
}

// raiseUnits raises the bounds of some units of hidden layer k, from either side.
func (p *phased) raiseUnits(k int, units []int) error {
	for chunk := range slices.Chunk(units, p.most/2) {
		if p.stopped() {
			return errStopped
		}
		rows := slices.Clone(chunk)
		for _, i := range chunk {
			rows = append(rows, p.net[k].Outputs()+i)
		}
		a := newAscent(p, k, rows)
		if err := a.climb(unitRounds); err != nil {
			return err
		}
		if err := p.s.Tighten(&a.q, a.best); err != nil {
			return err
		}
		p.noteSlopes(a)
	}
	return nil
}

func (p *phased) stopped() bool { return p.task.Stop != nil && p.task.Stop() }
