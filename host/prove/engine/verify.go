package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/read/property"
)

// Probe is one weight box (a multiple of standard deviations around the mean, or
// explicit end-points) to be verified on all input boxes of a task.
type Probe struct {
	Task  *property.Task
	Gamma []float64
	Box   *bound.Explicit
	// Margin is the answer: the least over the task's input boxes of
	// Safe.MarginLo. The box is safe exactly if margin >= 0.
	Margin float64
	// Dead[k][j] says, if asked for, that neuron j of layer k is never positive on the
	// box and T; it is nil for layers of which nothing is said.
	Dead [][]bool
}

// GammaProbe asks about the box of these half-widths around the mean, BoxProbe about one by
// its end-points. Nothing is safe before a device has answered.
func GammaProbe(t *property.Task, gamma []float64) *Probe {
	return &Probe{Task: t, Gamma: gamma, Margin: math.Inf(-1)}
}

func BoxProbe(t *property.Task, box *bound.Explicit) *Probe {
	return &Probe{Task: t, Box: box, Margin: math.Inf(-1)}
}

// How describes how probes are verified.
type How struct {
	Method bound.Propagation
	// WantDead asks for probe.dead.
	WantDead bool
	// oneBox reports whether all probes have one and the same box; verify sees to it.
	oneBox bool
}

// Verify answers all probes. All tasks of a call have the same number of input
// boxes.
func (e *Engine) Verify(ctx context.Context, how How, probes []*Probe) error {
	shared := map[string][]*Probe{}
	var order []string
	var pairs []*Probe
	for _, p := range probes {
		if p.Box != nil {
			pairs = append(pairs, p)
			continue
		}
		key := fmt.Sprint(p.Gamma)
		if shared[key] == nil {
			order = append(order, key)
		}
		shared[key] = append(shared[key], p)
	}
	one := how
	one.oneBox = true
	for _, key := range order {
		// One box for many inputs is worth a batch of its own.
		if same := shared[key]; len(same) >= 4 {
			if err := e.chunks(ctx, one, same); err != nil {
				return err
			}
		} else {
			pairs = append(pairs, same...)
		}
	}
	return e.chunks(ctx, how, pairs)
}

// chunks cuts probes into batches that fit the device.
func (e *Engine) chunks(ctx context.Context, how How, probes []*Probe) error {
	if len(probes) == 0 {
		return nil
	}
	size := e.chunkSize(how, probes)
	for chunk := range slices.Chunk(probes, size) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := Guarded(e, how.work(probes[0]), chunk, how.on); err != nil {
			return err
		}
	}
	return nil
}

// chunkSize returns how many of the probes fit the device at a time.
func (e *Engine) chunkSize(how How, probes []*Probe) int {
	rows, regions := len(probes[0].Task.S.Rows), len(probes[0].Task.T)
	perBox, perItem := e.Model.Footprint(how.Method, rows)
	per := perItem * int64(regions)
	free := e.Budget()
	if how.oneBox {
		free -= perBox
	} else {
		per += perBox
	}
	return max(1, min(e.AtATime(free, per, 4096), e.Model.MostItems(rows)/regions))
}

// work names the kind of work that a probe is: boxes that a device draws, or is given.
func (how How) work(p *Probe) string {
	words := how.Method.String() + " of weight boxes"
	if how.oneBox {
		words = how.Method.String() + " of one weight box"
	}
	if p.Box != nil {
		words += " by their ends"
	}
	if how.WantDead {
		words += " with dead neurons"
	}
	return words
}

// on answers probes in one batch of a model.
func (how How) on(m *bound.Model, probes []*Probe) ([]Answer, error) {
	boxes, err := how.boxes(m, probes)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	per := len(probes[0].Task.T)
	var regions []property.Box
	var rows [][]property.Row
	for _, p := range probes {
		if len(p.Task.T) != per {
			panic(fmt.Sprintf("prove: tasks with %d and %d input boxes in one batch", per, len(p.Task.T)))
		}
		for _, t := range p.Task.T {
			regions, rows = append(regions, t), append(rows, p.Task.S.Rows)
		}
	}
	in, dr, release, err := Upload(m, regions, rows)
	if err != nil {
		return nil, err
	}
	defer release()
	items := len(regions)
	job := bound.Query{Propagation: how.Method, Boxes: boxes, Inputs: in, Rows: dr, Batch: bound.Batch{Items: items, PerBox: per, Inputs: items}}
	if how.oneBox {
		job.Batch.PerBox = items
	}
	dead := make([][][]bool, len(probes))
	if how.WantDead {
		job.Observe = func(what string, layer int, a bound.Array) error {
			if what != "pre.hi" {
				return nil
			}
			return observeDead(m.Device(), dead, layer, per, a)
		}
	}
	margins, err := m.Propagate(job)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(probes))
	for i, p := range probes {
		lo := Lowers(margins, len(p.Task.S.Rows), i*per, per)
		answers[i] = Answer{append(lo, flags(dead[i])...), func() {
			p.Margin = LeastMargin(lo, &p.Task.S, per)
			if how.WantDead {
				p.Dead = dead[i]
			}
		}}
	}
	return answers, nil
}

// boxes makes the weight boxes of probes on a model: one for all, or one for each.
func (how How) boxes(m *bound.Model, probes []*Probe) (*bound.Boxes, error) {
	if probes[0].Box != nil {
		var list []bound.Explicit
		for _, p := range probes {
			list = append(list, *p.Box)
		}
		return m.Upload(list)
	}
	if how.oneBox {
		probes = probes[:1]
	}
	spec := bound.BoxSpec{Gamma: make([][]float64, len(probes[0].Gamma))}
	for k := range spec.Gamma {
		for _, p := range probes {
			spec.Gamma[k] = append(spec.Gamma[k], p.Gamma[k])
		}
	}
	return m.Draw(spec)
}

// Upload copies input boxes, and rows for each, to a model's device.
func Upload(m *bound.Model, regions []property.Box, rows [][]property.Row) (in *bound.Inputs, dr *bound.Rows, release func(), err error) {
	if in, err = m.UploadInputs(regions); err != nil {
		return nil, nil, nil, err
	}
	if dr, err = m.UploadRows(rows); err != nil {
		m.ReleaseInputs(in)
		return nil, nil, nil, err
	}
	return in, dr, func() { m.ReleaseRows(dr); m.ReleaseInputs(in) }, nil
}

// Lowers are the lower bounds of so many rows for each of per items from item first on.
func Lowers(m *bound.Margins, rows, first, per int) []float64 {
	var lo []float64
	for i := range per {
		lo = append(lo, m.Lo(first + i)[:rows]...)
	}
	return lo
}

// LeastMargin is the least margin over per items that have these lower bounds, as many of each:
// those of the rows of s first.
func LeastMargin(lo []float64, s *property.Safe, per int) float64 {
	each, n := len(lo)/per, len(s.Rows)
	least := s.MarginLo(lo[:n])
	for i := 1; i < per; i++ {
		least = min(least, s.MarginLo(lo[i*each:i*each+n]))
	}
	return least
}

// observeDead notes in dead, which has a list of layers for each probe, the neurons of a layer
// whose upper bound is <= 0 for each of its per input boxes.
func observeDead(dev bound.Device, dead [][][]bool, layer, per int, a bound.Array) error {
	hi, err := bound.ReadAll(dev, a)
	if err != nil {
		return err
	}
	n := len(hi) / (per * len(dead))
	for i := range dead {
		for len(dead[i]) <= layer {
			dead[i] = append(dead[i], nil)
		}
		never := make([]bool, n)
		for j := range never {
			never[j] = true
			for t := range per {
				never[j] = never[j] && hi[(i*per+t)*n+j] <= 0
			}
		}
		dead[i][layer] = never
	}
	return nil
}

// flags are 1 for true and 0 for false.
func flags(lists [][]bool) []float64 {
	var all []float64
	for _, list := range lists {
		for _, yes := range list {
			flag := 0.0
			if yes {
				flag = 1
			}
			all = append(all, flag)
		}
	}
	return all
}
