package main

import (
	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Concentration LBP in crosscheck and bench: one batch, with quantiles that are
// numbers of both precisions.

// clbpRun is one Concentrate of input boxes with rows, ready to run.
type clbpRun struct {
	model *bound.Model
	conc  *bound.Deviations
	job   bound.CLBPJob
}

func newCLBPRun(d bound.Device, post *posterior.Posterior, regions []property.Box, rows [][]property.Row) (*clbpRun, error) {
	m, err := bound.NewModel(d, post, 4)
	if err != nil {
		return nil, err
	}
	c := &clbpRun{model: m}
	if c.conc, err = m.NewDeviations(post, certify.NoiseMoments(post)); err == nil {
		if c.job.Inputs, err = m.UploadNoisy(regions); err == nil {
			c.job.Rows, err = m.UploadRows(rows)
		}
	}
	if err != nil {
		c.release()
		return nil, err
	}
	c.job.Quantiles = bound.Quantiles{Single: 4.75, Radius: 5.5}
	for k := range post.Layers {
		c.job.Quantiles.Many = append(c.job.Quantiles.Many, 4.75+float64(k)/8)
	}
	return c, nil
}

func (c *clbpRun) run() error {
	_, err := c.conc.PropagateCLBP(c.job)
	return err
}

func (c *clbpRun) release() {
	if c.job.Rows != nil {
		c.model.ReleaseRows(c.job.Rows)
	}
	if c.job.Inputs != nil {
		c.model.ReleaseNoisy(c.job.Inputs)
	}
	if c.conc != nil {
		c.conc.Release()
	}
	c.model.Release()
}
