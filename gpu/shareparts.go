package gpu

import "psafe/host/bound"

// shareParts hold what the stages of SharedVar and ShareBox have in common: sums of blocks of
// positions, and the greatest magnitudes of the inputs.
type shareParts struct {
	// sums and magnitudes are of each block of positions, [P x of x Channels x R].
	sums, magnitudes *array
	of               int
	// greatest squares, places of them for each input.
	greatest *array
	places   int
}

// shareParts makes them for f to work with: a has items x positions x step coefficients, maxSq
// inputs x in squares.
func (d *Device) shareParts(a *array, items, positions, channels, rows int, maxSq *array, inputs, in int, f func(shareParts) error) error {
	of := blocks(positions)
	n := items * of * channels * rows
	return d.parts([]int{n, n}, func(parts []*array) error {
		s := shareParts{parts[0], parts[1], of, maxSq, in}
		w := work{d.moved(a.n + 2*n), 2 * int64(a.n)}
		if err := d.launch("shareparts", n, w, s.sums, s.magnitudes, a, rows, positions, channels, of); err != nil {
			return err
		}
		return d.greatest(maxSq, inputs, in, func(greatest *array, places int) error {
			s.greatest, s.places = greatest, places
			return f(s)
		})
	})
}

// greatest leaves the greatest of the squares of each input among at most a block of numbers.
func (d *Device) greatest(squares *array, inputs, in int, f func(greatest *array, places int) error) error {
	if in <= bound.Block {
		return f(squares, in)
	}
	b := blocks(in)
	return d.parts([]int{inputs * b}, func(parts []*array) error {
		if err := d.launch("sharemost", inputs*b, work{d.moved(squares.n + inputs*b), int64(squares.n)}, parts[0], squares, in, b); err != nil {
			return err
		}
		return d.greatest(parts[0], inputs, b, f)
	})
}

// shareStages reports whether a row's sum over channels, and for each over positions and taps, is
// taken in stages. They are four launches and more.
func (d *Device) shareStages(rows, channels, positions, taps int) bool {
	return d.inStages(rows, channels*(positions+taps)/(4*bound.Block))
}
