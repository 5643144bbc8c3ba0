package paper

import "psafe/host/bound"

// recorder is a device that does what the one in it does and keeps, as host
// numbers, what the operations of one Propagate wrote.
type recorder struct {
	bound.Device
	// box are the end-points of the weight box, by array.
	box []ends
	// affine are the pre-activations of every layer, the margins last.
	affine []ends
	// z are the activations of every hidden layer.
	z []ends
	// relaxLo and relaxHi are the two lines of every hidden layer.
	relaxLo, relaxHi []lines
	// rows are the rows over the inputs of every layer, in the order of the way
	// down; the last is over the network's input.
	rows []rows
	// bounds is the last Concretize's.
	bounds []float64
}

// ends, lines and rows are what bound.Interval, bound.Line and the results of
// bound.BackSubstitute hold; hi of rows is lo if the operation was given none.
type (
	ends  struct{ lo, hi []float64 }
	lines struct{ a, b []float64 }
	rows  struct{ lo, hi, c []float64 }
)

// read copies arrays, first the first.
func (r *recorder) read(arrays ...bound.Array) ([][]float64, error) {
	var out [][]float64
	for _, a := range arrays {
		v, err := bound.ReadAll(r.Device, a)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// readEnds adds an interval to a list.
func (r *recorder) readEnds(list *[]ends, of bound.Interval) error {
	v, err := r.read(of.Lo, of.Hi)
	if err == nil {
		*list = append(*list, ends{v[0], v[1]})
	}
	return err
}

// DrawBox keeps the weight box.
func (r *recorder) DrawBox(a bound.DrawBox) error {
	if err := r.Device.DrawBox(a); err != nil {
		return err
	}
	return r.readEnds(&r.box, a.Box)
}

// Affine keeps pre-activations.
func (r *recorder) Affine(a bound.Affine) error {
	if err := r.Device.Affine(a); err != nil {
		return err
	}
	return r.readEnds(&r.affine, a.Pre)
}

// Activate keeps activations.
func (r *recorder) Activate(a bound.Activate) error {
	if err := r.Device.Activate(a); err != nil {
		return err
	}
	return r.readEnds(&r.z, a.Z)
}

// Relax keeps the two lines.
func (r *recorder) Relax(a bound.Relax) error {
	if err := r.Device.Relax(a); err != nil {
		return err
	}
	v, err := r.read(a.Lo.A, a.Lo.B, a.Hi.A, a.Hi.B)
	if err == nil {
		r.relaxLo, r.relaxHi = append(r.relaxLo, lines{v[0], v[1]}), append(r.relaxHi, lines{v[2], v[3]})
	}
	return err
}

// BackSubstitute keeps the rows.
func (r *recorder) BackSubstitute(a bound.BackSubstitute) error {
	if err := r.Device.BackSubstitute(a); err != nil {
		return err
	}
	hi := a.S.Hi
	if hi == nil {
		hi = a.S.Lo
	}
	v, err := r.read(a.S.Lo, hi, a.C)
	if err == nil {
		r.rows = append(r.rows, rows{v[0], v[1], v[2]})
	}
	return err
}

// Concretize keeps the bounds.
func (r *recorder) Concretize(a bound.Concretize) error {
	if err := r.Device.Concretize(a); err != nil {
		return err
	}
	v, err := r.read(a.Bound)
	if err == nil {
		r.bounds = v[0]
	}
	return err
}
