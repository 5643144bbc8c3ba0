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
	query      CLBPQuery
}

// NewCLBPTrial uploads the posterior that the model is of and, for each of the input boxes,
// its rows. The caller releases the trial before the model.
func (m *Model) NewCLBPTrial(post *posterior.Posterior, moments Moments, boxes []property.Box, rows [][]property.Row) (*CLBPTrial, error) {
	t := &CLBPTrial{model: m}
	var err error
	if t.deviations, err = m.NewDeviations(post, moments); err == nil {
		if t.query.Inputs, err = m.UploadNoisy(boxes); err == nil {
			t.query.Rows, err = m.UploadRows(rows)
		}
	}
	if err != nil {
		t.Release()
		return nil, err
	}
	t.query.Quantiles = Quantiles{Single: 4.75, Radius: 5.5}
	for k := range post.Layers {
		t.query.Quantiles.Many = append(t.query.Quantiles.Many, 4.75+float64(k)/8)
	}
	return t, nil
}

// Run runs the batch; observe is CLBPQuery.Observe and may be nil.
func (t *CLBPTrial) Run(observe func(what string, layer int, a Array) error) error {
	query := t.query
	query.Observe = observe
	_, err := t.deviations.PropagateCLBP(query)
	return err
}

// Release gives the device's memory back.
func (t *CLBPTrial) Release() {
	if t.query.Rows != nil {
		t.model.ReleaseRows(t.query.Rows)
	}
	if t.query.Inputs != nil {
		t.model.ReleaseNoisy(t.query.Inputs)
	}
	if t.deviations != nil {
		t.deviations.Release()
	}
}
