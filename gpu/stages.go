package gpu

import "psafe/host/bound"

// Sums in two stages, on GPUs: work-items that own one row each are few where there are few items or
// rows, and the rest of the device waits while they walk over the neurons of a layer. There the
// blocks of the order of summation are shared out, and a second kernel adds them up in their order,
// so that all bits stay.

// With manyTasks work-items a device has enough to do, and with fewer than leastParts parts of a sum
// a second launch costs more than it gains.
const (
	manyTasks  = 1 << 16
	leastParts = 4
)

// inStages reports whether sums of parts parts each, by tasks work-items, are taken in two stages.
func (d *Device) inStages(tasks, parts int) bool {
	return d.shape.Lanes == 1 && (d.allInStages || tasks < manyTasks && parts >= leastParts)
}

// blocks returns how many blocks a sum of n terms has.
func blocks(n int) int { return up(n, bound.Block) }
