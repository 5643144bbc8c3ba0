package decide

import "slices"

// mostExact is up to how many products of numbers of any length are made for one cell.
const mostExact = 1 << 20

// exactly reports whether a cell is proved safe by exact arithmetic: where every neuron with a kink
// stays on one side of it, rows are linear on the cell and their least values are at its corners.
// It is for rows that just hold, with equality somewhere, which no rounded bound proves.
func (r *search) exactly(c open) bool {
	work := len(c.box.Lo) * (1 + r.net.Work())
	if work > mostExact {
		return false
	}
	y, ok := r.net.AffineOn(r.Weights, c.box.Lo, c.box.Hi)
	if !ok {
		return false
	}
	s := &r.Tasks[c.task].S
	lo := make([]float64, len(s.Rows))
	for i := range s.Rows {
		row := &s.Rows[i]
		lo[i] = -1
		if slices.Equal(row.CLo, row.CHi) && y.LeastSign(row.CLo, row.D) >= 0 {
			lo[i] = 0
		}
	}
	return s.Holds(lo)
}
