package gpu

import "psafe/host/bound"

var _ = wraps("gathersum")

// GatherSum is defined in bound.GatherSum.
func (d *Device) GatherSum(a bound.GatherSum) error {
	numbers := a.J * a.R
	w := work{d.moved(a.P * (a.N*a.R + numbers)), int64(a.P) * int64(a.E) * int64(a.R)}
	return d.launch("gathersum", a.P*d.runs(numbers), w, d.arrays(a), a.Select != nil, a.Add, a.N, a.J, a.R, numbers)
}
