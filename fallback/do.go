package fallback

import (
	"fmt"

	"psafe/host/bound"
)

// Do performs an operation by the loop of the file of its name. Arrays of sizes that it does not need
// panic.
func (d *Device[T]) Do(op bound.Operation) error {
	bound.Check(op)
	switch op := op.(type) {
	case bound.DrawBox:
		return d.DrawBox(op)
	case bound.MergeRows:
		return d.MergeRows(op)
	case bound.Affine:
		return d.Affine(op)
	case bound.Activate:
		return d.Activate(op)
	case bound.Relax:
		return d.Relax(op)
	case bound.RelaxRows:
		return d.RelaxRows(op)
	case bound.BackSubstitute:
		return d.BackSubstitute(op)
	case bound.Concretize:
		return d.Concretize(op)
	case bound.Intersect:
		return d.Intersect(op)
	case bound.SquareRows:
		return d.SquareRows(op)
	case bound.NoiseRows:
		return d.NoiseRows(op)
	case bound.Widen:
		return d.Widen(op)
	case bound.Vary:
		return d.Vary(op)
	case bound.PoolStar:
		return d.PoolStar(op)
	case bound.PoolLines:
		return d.PoolLines(op)
	case bound.Gather:
		return d.Gather(op)
	case bound.GatherSum:
		return d.GatherSum(op)
	case bound.ConvTranspose:
		return d.ConvTranspose(op)
	case bound.PlaceRows:
		return d.PlaceRows(op)
	case bound.PairNoise:
		return d.PairNoise(op)
	case bound.SharedVar:
		return d.SharedVar(op)
	case bound.ShareBox:
		return d.ShareBox(op)
	case bound.ShareRows:
		return d.ShareRows(op)
	case bound.SplitRows:
		return d.SplitRows(op)
	}
	panic(fmt.Sprintf("fallback: Do: no operation %T", op))
}
