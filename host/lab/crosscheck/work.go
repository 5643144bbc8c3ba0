package crosscheck

import (
	"context"

	"psafe/host/bound"
	"psafe/host/lab/lockstep"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// work is the job's tasks on a pair of devices, by one method.
type work struct {
	post *posterior.Posterior
	seed uint64
	// tasks are all of them.
	tasks []property.Task
	// regions are the input boxes of all tasks, rows those of each one's property.
	regions []property.Box
	rows    [][]property.Row
	pair    *lockstep.Device
	found   []bounds
}

// bounds is one array that a run observed: "pre.hi" of a layer follows its "pre.lo", and so do those of a
// probability.
type bounds struct {
	what   string
	layer  int
	values []float64
}

func (j *Settings) work(pair *lockstep.Device) *work {
	w := &work{post: j.Posterior, seed: j.Seed, pair: pair, tasks: j.Tasks[:min(len(j.Tasks), MostTasks)]}
	for _, t := range w.tasks {
		for _, b := range t.T {
			w.regions, w.rows = append(w.regions, b), append(w.rows, t.S.Rows)
		}
	}
	return w
}

// observe keeps an array; reading it compares it.
func (w *work) observe(what string, layer int, a bound.Array) error {
	values, err := bound.ReadAll(w.pair, a)
	if err != nil {
		return err
	}
	w.found = append(w.found, bounds{what, layer, values})
	return nil
}

// run bounds the tasks by a method.
func (w *work) run(ctx context.Context, method prove.Method) error {
	if !w.post.Independent() {
		return w.certify(ctx, method)
	}
	model, err := bound.NewModel(w.pair, w.post, 4)
	if err != nil {
		return err
	}
	defer model.Release()
	if method == prove.CLBP {
		return w.clbp(model)
	}
	m, err := bound.ParsePropagation(method.String())
	if err != nil {
		return err
	}
	return w.propagate(model, m)
}

// certify proves the tasks of a posterior of any kind, with all that this asks of a device.
func (w *work) certify(ctx context.Context, method prove.Method) error {
	e, err := engine.New(w.pair, nil, w.post, 4)
	if err != nil {
		return err
	}
	defer e.Close()
	return prove.Run(ctx, []*engine.Engine{e}, prove.Config{Method: method}, w.tasks, nil, func(r *claim.Result) error {
		w.found = append(w.found, bounds{"probability.lo", r.Task.Index, []float64{r.Lower()}}, bounds{"probability.hi", r.Task.Index, []float64{r.Upper()}})
		return nil
	})
}

func (w *work) clbp(model *bound.Model) error {
	t, err := model.NewCLBPTrial(w.post, clbp.NoiseMoments(w.post), w.regions, w.rows)
	if err != nil {
		return err
	}
	defer t.Release()
	return t.Run(w.observe)
}

// propagate bounds every input box for every weight box.
func (w *work) propagate(model *bound.Model, method bound.Propagation) error {
	boxes, err := w.boxes(model)
	if err != nil {
		return err
	}
	defer model.ReleaseBoxes(boxes)
	if err := w.draw(model); err != nil {
		return err
	}
	inputs, err := model.UploadInputs(w.regions)
	if err != nil {
		return err
	}
	defer model.ReleaseInputs(inputs)
	rows, err := model.UploadRows(w.rows)
	if err != nil {
		return err
	}
	defer model.ReleaseRows(rows)
	n := len(w.regions)
	_, err = model.Propagate(bound.Query{
		Propagation: method, Boxes: boxes, Inputs: inputs, Rows: rows,
		Batch:   bound.Batch{Items: n * boxes.Count(), PerBox: n, Inputs: n},
		Observe: w.observe,
	})
	return err
}

// boxes uploads weight boxes made in float32, so that both precisions propagate the same
// ones: around the mean with half-widths 0, 1 and 3, and around four samples.
func (w *work) boxes(model *bound.Model) (*bound.Boxes, error) {
	var list []bound.Explicit
	for _, s := range []bound.BoxSpec{w.spec(false, 0, 1, 3), w.spec(true, 0, 0.125, 0.5, 2)} {
		for b := range s.Count() {
			box, err := bound.HostBox(w.post, bound.Float32, s, b)
			if err != nil {
				return nil, err
			}
			list = append(list, box)
		}
	}
	return model.Upload(list)
}

// draw lets both devices draw boxes of their own, which the lockstep compares.
func (w *work) draw(model *bound.Model) error {
	for _, sampled := range []bool{false, true} {
		boxes, err := model.Draw(w.spec(sampled, 0, 0.5, 2.5))
		if err != nil {
			return err
		}
		model.ReleaseBoxes(boxes)
	}
	return nil
}

// spec is a box for each half-width.
func (w *work) spec(sampled bool, gammas ...float64) bound.BoxSpec {
	s := bound.BoxSpec{Sampled: sampled, Seed: w.seed}
	for range w.post.Layers {
		s.Gamma = append(s.Gamma, gammas)
	}
	return s
}
