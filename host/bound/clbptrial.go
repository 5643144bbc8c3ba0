package bound

import (
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// CLBPTrial is one batch of concentration LBP, uploaded and ready to run again and again: to
// compare two devices or to time one. Its quantiles are numbers of both precisions and belong
// to no probability, so nothing that it computes is a bound.
type CLBPTrial struct {
	model      *Model
	deviations *Deviations
	job        CLBPQuery
}

// NewCLBPTrial uploads the posterior that the model is of and, for each of the input boxes,
// its rows. The caller releases the trial before the model.
func (m *Model) NewCLBPTrial(post *posterior.Posterior, moments Moments, boxes []property.Box, rows [][]property.Row) (*CLBPTrial, error) {
	t := &CLBPTrial{model: m}
	var err error
	if t.deviations, err = m.NewDeviations(post, moments); err == nil {
		if t.job.Inputs, err = m.UploadNoisy(boxes); err == nil {
			t.job.Rows, err = m.UploadRows(rows)
		}
	}
	if err != nil {
		t.Release()
		return nil, err
	}
	t.job.Quantiles = Quantiles{Single: 4.75, Radius: 5.5}
	for k := range post.Layers {
		t.job.Quantiles.Many = append(t.job.Quantiles.Many, 4.75+float64(k)/8)
	}
	return t, nil
}

// Run runs the batch; observe is CLBPJob.Observe and may be nil.
func (t *CLBPTrial) Run(observe func(what string, layer int, a Array) error) error {
	job := t.job
	job.Observe = observe
	_, err := t.deviations.PropagateCLBP(job)
	return err
}

// Release gives the device's memory back.
func (t *CLBPTrial) Release() {
	if t.job.Rows != nil {
		t.model.ReleaseRows(t.job.Rows)
	}
	if t.job.Inputs != nil {
		t.model.ReleaseNoisy(t.job.Inputs)
	}
	if t.deviations != nil {
		t.deviations.Release()
	}
}
