package prove

import (
	"context"

	"psafe/host/read/property"
)

// Methods that have rooms of their own, by what Config says of them.

// byCentredBoxes is a box around the mean.
func byCentredBoxes(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	how := aroundMean{method: cfg.Method, gamma: cfg.Gamma, uniform: cfg.Uniform, splits: cfg.Splits}
	results, err := centredBoxes(ctx, e, how, tasks)
	for _, r := range results {
		r.Boxing = Centred.String()
	}
	return results, err
}

// byCLBP is concentration LBP.
func byCLBP(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	return concentration(ctx, e, cfg.Cells, tasks)
}

// byDraws decides drawn networks.
func byDraws(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	return statistical(ctx, e, networkDraws{networks: cfg.Samples, seed: cfg.Seed, confidence: cfg.Confidence, cells: cfg.Cells}, tasks)
}

// bySet decides every network of a finite set.
func bySet(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	return finite(ctx, e, cfg.Cells, !cfg.NoUpper, tasks)
}
