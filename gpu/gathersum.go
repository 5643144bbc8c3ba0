package gpu

import "psafe/host/bound"

var _ = wraps("gathersum")

// GatherSum is defined in bound.GatherSum.
func (d *Device) GatherSum(a bound.GatherSum) error {
	out, in := d.array(a.Out, a.P*a.J*a.R, "GatherSum.Out"), d.array(a.In, a.P*a.N*a.R, "GatherSum.In")
	start, entry := d.array(a.Start, a.J+1, "GatherSum.Start"), d.array(a.Entry, a.E, "GatherSum.Entry")
	var slot, selected *array
	if a.Select != nil {
		slot, selected = d.array(a.Slot, a.E, "GatherSum.Slot"), d.array(a.Select, a.P*a.N, "GatherSum.Select")
	}
	numbers := a.J * a.R
	w := work{d.moved(a.P * (a.N*a.R + numbers)), int64(a.P) * int64(a.E) * int64(a.R)}
	return d.launch("gathersum", a.P*d.runs(numbers), w, out, in, start, entry, slot, selected,
		selected != nil, a.Add, a.N, a.J, a.R, numbers)
}
