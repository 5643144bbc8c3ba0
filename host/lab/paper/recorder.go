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

// Do keeps what the operation wrote: the weight box, pre-activations, activations, lines, rows, bounds.
func (r *recorder) Do(op bound.Operation) error {
	if err := r.Device.Do(op); err != nil {
		return err
	}
	switch a := op.(type) {
	case bound.DrawBox:
		return r.readEnds(&r.box, a.Box)
	case bound.Affine:
		return r.readEnds(&r.affine, a.Pre)
	case bound.Activate:
		return r.readEnds(&r.z, a.Z)
	case bound.Relax:
		v, err := r.read(a.Lo.A, a.Lo.B, a.Hi.A, a.Hi.B)
		if err == nil {
			r.relaxLo, r.relaxHi = append(r.relaxLo, lines{v[0], v[1]}), append(r.relaxHi, lines{v[2], v[3]})
		}
		return err
	case bound.BackSubstitute:
		hi := a.S.Hi
		if hi == nil {
			hi = a.S.Lo
		}
		v, err := r.read(a.S.Lo, hi, a.C)
		if err == nil {
			r.rows = append(r.rows, rows{v[0], v[1], v[2]})
		}
		return err
	case bound.Concretize:
		v, err := r.read(a.Bound)
		if err == nil {
			r.bounds = v[0]
		}
		return err
	}
	return nil
}
