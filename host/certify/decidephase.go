package certify

import (
	"context"
	"errors"
	"slices"

	"psafe/host/bound"
	"psafe/host/network"
	"psafe/host/property"
)

// Branch and bound over the phases of ReLUs, for networks of many inputs, where cutting T proves
// little (docs/concentration.md, section 5). Lower slopes are raised for every row on the way, those
// of hidden layers' units included (Xu et al. 2021, alpha-CROWN), and where that does not do, neurons
// are taken to be active or not, one after the other, with a multiplier for each (Wang et al. 2021,
// beta-CROWN). Sub-problems of one network and box are rows of one item. Every bound is the device's
// and holds, however slopes, multipliers and neurons were chosen: package bound, Splits.

// phaseTask asks whether one network is in a safe set on a box.
type phaseTask struct {
	weights drawn
	box     property.Box
	safe    *property.Safe
	// most is how many sub-problems may be looked at.
	most int
	// stop says that nobody wants to know any more; nil: never.
	stop func() bool
	// proved is the answer, and tried is how many sub-problems it took.
	proved bool
	tried  int
}

// canPhase says whether phases serve a network and a set: a chain with ReLU, and a set that is one
// conjunction of rows, each of which is then proved by itself.
func canPhase(net network.Network, safe *property.Safe) bool {
	return bound.CanSplit(net) && len(safe.Any) == 1 && len(safe.Any[0]) > 0
}

// provePhases answers tasks.
func (e *Engine) provePhases(ctx context.Context, tasks []*phaseTask) error {
	for _, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := guarded(e, "phases of one network", []*phaseTask{t}, e.phasesOn); err != nil {
			return err
		}
	}
	return nil
}

// errStopped ends a task that nobody wants to know the end of.
var errStopped = errors.New("stopped")

// phasesOn answers tasks on a model.
func (e *Engine) phasesOn(m *bound.Model, tasks []*phaseTask) ([]answer, error) {
	var answers []answer
	for _, t := range tasks {
		p := &phased{task: t, net: e.normal.Network()}
		proved, err := p.run(m)
		if err != nil && !errors.Is(err, errStopped) {
			return nil, err
		}
		numbers := append(slices.Concat(p.known.lo...), slices.Concat(p.known.hi...)...)
		answers = append(answers, answer{append(numbers, p.bounds...), func() { t.proved, t.tried = proved, p.tried }})
	}
	return answers, nil
}

// phased is a phaseTask under way on one device.
type phased struct {
	task *phaseTask
	net  network.Network
	s    *bound.Splits
	// known are the pre-activations of hidden layers, and open the neurons that may be on both sides
	// of their kink.
	known phaseRanges
	open  []neuronAt
	tried int
	// bounds are all that the device has said of sub-problems.
	bounds []float64
}

// phaseRanges are bounds of the pre-activations of hidden layers.
type phaseRanges struct{ lo, hi [][]float64 }

// neuronAt is a neuron of a hidden layer.
type neuronAt struct{ layer, unit int }

// open says that a neuron may be on both sides of its kink.
func (r *phaseRanges) open(l, i int) bool { return r.lo[l][i] < 0 && r.hi[l][i] > 0 }

// usual is the lower slope that LBP takes.
func (r *phaseRanges) usual(l, i int) float64 {
	if r.hi[l][i] > -r.lo[l][i] {
		return 1
	}
	return 0
}

// run says whether the task is proved.
func (p *phased) run(m *bound.Model) (bool, error) {
	boxes, err := m.Upload([]bound.Explicit{enclose(p.task.weights, m.Device().Precision())})
	if err != nil {
		return false, err
	}
	defer m.ReleaseBoxes(boxes)
	in, rows, release, err := upload(m, []property.Box{p.task.box}, [][]property.Row{p.task.safe.Rows})
	if err != nil {
		return false, err
	}
	defer release()
	p.s = m.NewSplits(boxes, in, rows)
	defer p.s.Release()
	if err := p.hidden(); err != nil {
		return false, err
	}
	return p.tree()
}

const (
	// unitRounds and rowRounds are how many steps of ascent the rows of hidden units and those of
	// the property get, childRounds those of a sub-problem.
	unitRounds, rowRounds, childRounds = 20, 40, 10
	// mostColumns is how many rows go down at a time.
	mostColumns = 512
)

// hidden bounds the hidden layers, each neuron that may be on both sides of its kink by ascent.
func (p *phased) hidden() error {
	for k := range p.net[:len(p.net)-1] {
		lo, hi, err := p.s.Next()
		if err != nil {
			return err
		}
		p.known.lo, p.known.hi = append(p.known.lo, lo), append(p.known.hi, hi)
		var rows []int
		for i := range lo {
			if k > 0 && p.known.open(k, i) {
				rows = append(rows, i, len(lo)+i)
			}
		}
		for chunk := range slices.Chunk(rows, mostColumns) {
			if p.stopped() {
				return errStopped
			}
			a := newAscent(p, k, chunk)
			if err := a.climb(unitRounds); err != nil {
				return err
			}
			if err := p.s.Tighten(&a.q, a.best); err != nil {
				return err
			}
		}
	}
	for l := range p.known.lo {
		for i := range p.known.lo[l] {
			if p.known.open(l, i) {
				p.open = append(p.open, neuronAt{l, i})
			}
		}
	}
	return nil
}

func (p *phased) stopped() bool { return p.task.stop != nil && p.task.stop() }
