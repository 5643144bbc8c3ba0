package certify

import (
	"context"

	"psafe/host/property"
)

func (e *Engine) neuronSum(ctx context.Context, cfg Config, tasks []property.Task) ([]*Result, error) {
	return e.concentrated(ctx, cfg, tasks)
}
