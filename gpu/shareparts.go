package gpu

import "psafe/host/bound"

// shareParts hold what the stages of SharedVar and ShareBox have in common: sums of blocks of
// positions, and the greatest magnitudes of the inputs.
type shareParts struct {
	// on has, beside the operation's arrays, n partSums and partMags of each block of positions, [P x of x
	// Channels x R], and greatest squares, places of them for each input.
	on            arrays
	n, of, places int
}

// shareParts makes them for f to work with: a has items x positions x channels x rows coefficients, maxSq
// inputs x in squares.
func (d *Device) shareParts(on arrays, items, positions, channels, rows, inputs, in int, f func(shareParts) error) error {
	of := blocks(positions)
	n, all := items*of*channels*rows, items*positions*channels*rows
	return d.parts(on, []part{{"partSums", n}, {"partMags", n}}, func(on arrays) error {
		if err := d.launch("shareparts", n, work{d.moved(all + 2*n), 2 * int64(all)}, on, rows, positions, channels, of); err != nil {
			return err
		}
		return d.greatest(on.get("maxSq"), inputs, in, func(greatest *array, places int) error {
			return f(shareParts{on.with("greatest", greatest), n, of, places})
		})
	})
}

// greatest leaves the greatest of the squares of each input among at most a block of numbers.
func (d *Device) greatest(squares *array, inputs, in int, f func(greatest *array, places int) error) error {
	if in <= bound.Block {
		return f(squares, in)
	}
	b := blocks(in)
	return d.parts(arrays{{"squares", squares}}, []part{{"greatest", inputs * b}}, func(on arrays) error {
		if err := d.launch("sharemost", inputs*b, work{d.moved(squares.n + inputs*b), int64(squares.n)}, on, in, b); err != nil {
			return err
		}
		return d.greatest(on.get("greatest"), inputs, b, f)
	})
}

// shareStages reports whether a row's sum over channels, and for each over positions and taps, is
// taken in stages. They are four launches and more.
func (d *Device) shareStages(rows, channels, positions, taps int) bool {
	return d.inStages(rows, channels*(positions+taps)/(4*bound.Block))
}
