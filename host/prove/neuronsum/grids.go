package neuronsum

import (
	"context"

	"psafe/host/prove/neuronsum/grid"
	"psafe/host/read/property"
)

// Grids bounds the failure probability on the union of boxes by the sum over the points of grids,
// at most budget (package grid). Where little hope is left, 1 comes early. The error is ctx's, and
// then the bound is 1.
func (n *Sum) Grids(ctx context.Context, boxes []property.Box, s *property.Safe, budget int) (grid.Cover, error) {
	n, none := n.Until(ctx), grid.Cover{FailUp: 1}
	if !grid.Serves(n.net, boxes) {
		return none, ctx.Err()
	}
	for _, b := range boxes {
		if ctx.Err() != nil || n.SafeApprox(n.PointApprox(b, s), s) < pointHopeless {
			return none, ctx.Err()
		}
	}
	cover, err := grid.Bound(ctx, n.net, boxes, s, budget)
	if err != nil || !(cover.FailUp < 1-LeastTold) {
		return none, err
	}
	return cover, nil
}

// pointHopeless is how probable S must be at the worst point that is found, for grids to be chosen.
const pointHopeless = 0.3
