package fallback

import "psafe/host/bound"

// BackSubstitute is defined in bound.BackSubstitute.
func (d *Device[T]) BackSubstitute(a bound.BackSubstitute) error {
	t := backSubstitute[T]{a: a, d: d}
	t.sLo, t.sHi = d.interval(a.S)
	t.rows, t.c, t.cIn = d.data(a.A), d.data(a.C), d.data(a.CIn)
	t.wLo, t.wHi = d.interval(a.W)
	t.bLo, t.bHi = d.interval(a.B)
	tiles := (a.R + rowTile - 1) / rowTile
	if t.sHi != nil && a.W.Lo != a.W.Hi && tiles > 1 {
		if err := t.findWeights(); err != nil {
			return err
		}
	}
	return d.parallel(a.P*tiles, 1, func(from, to int) {
		scratch := d.rows.Get().(*sparseRow[T])
		defer d.rows.Put(scratch)
		for i := from; i < to; i++ {
			r := i % tiles * rowTile
			t.tile(i/tiles, r, min(rowTile, a.R-r), scratch)
		}
	})
}

// rowTile is the number of rows in one piece of work.
const rowTile = 32

type backSubstitute[T bound.Real] struct {
	a                                          bound.BackSubstitute
	d                                          *Device[T]
	sLo, sHi, c, rows, cIn, wLo, wHi, bLo, bHi []T
	// weights has, for each box and input, a word for each block of outputs: the bits of those whose
	// weight is not [0, 0]. It is nil where looking for them is not worth while.
	weights []uint32
}

// words is how many blocks outputs make.
func words(outputs int) int { return (outputs + bound.Block - 1) / bound.Block }

// findWeights fills in weights. Intervals of what lies under taps are often [0, 0], as units of max(t, 0)
// are that are never positive.
func (t *backSubstitute[T]) findWeights() error {
	out, n := t.a.Out, words(t.a.Out)
	boxes := (t.a.P + t.a.PerBox - 1) / t.a.PerBox
	t.weights = make([]uint32, boxes*t.a.In*n)
	return t.d.parallel(boxes*t.a.In, 1+pieceWork/out, func(from, to int) {
		for j := from; j < to; j++ {
			lo, hi := t.wLo[j*out:][:out], t.wHi[j*out:][:out]
			for i := range out {
				if lo[i] != 0 || hi[i] != 0 {
					t.weights[j*n+i/bound.Block] |= 1 << (i % bound.Block)
				}
			}
		}
	})
}

// sparseRow is one row of A without its zeros, which add nothing to any sum
// (weight boxes are finite): ends[k] is where block k stops.
type sparseRow[T bound.Real] struct {
	at   []int
	a    []T
	ends []int
	// Of rows side by side: met has a word for each block, of the outputs at which a row is not 0, and
	// place has rowTile entries for each of those, where no other output has left its own.
	met   []uint32
	place []T
}

func (s *sparseRow[T]) gather(rows []T, first, stride, n int) {
	s.at, s.a, s.ends = s.at[:0], s.a[:0], s.ends[:0]
	for i := range n {
		if a := rows[first+i*stride]; a != 0 {
			s.at, s.a = append(s.at, i), append(s.a, a)
		}
		if i%bound.Block == bound.Block-1 || i == n-1 {
			s.ends = append(s.ends, len(s.a))
		}
	}
}

// tile computes rows r, ..., r+n-1 of item p.
func (t *backSubstitute[T]) tile(p, r, n int, s *sparseRow[T]) {
	if backSubstituteLanes(t, p, r, n, s) {
		return
	}
	for i := range n {
		t.row(p, r+i, s)
	}
}

// row computes row r of item p.
func (t *backSubstitute[T]) row(p, r int, s *sparseRow[T]) {
	in, out, rows := t.a.In, t.a.Out, t.a.R
	s.gather(t.rows, p*out*rows+r, rows, out)
	box := p / t.a.PerBox
	wLo, wHi := t.wLo[box*in*out:(box+1)*in*out], t.wHi[box*in*out:(box+1)*in*out]
	at := p*in*rows + r
	t.sums(t.sLo[at:], wLo, wHi, s)
	if t.sHi != nil {
		t.sums(t.sHi[at:], wHi, wLo, s)
	}
	c := s.dot(t.bLo[box*out:(box+1)*out], t.bHi[box*out:(box+1)*out])
	t.c[p*rows+r] = t.d.down(t.cIn[p*rows+r] + c)
}

// sums writes, for every input j, the sum over outputs of a times lo or hi.
func (t *backSubstitute[T]) sums(dst, lo, hi []T, s *sparseRow[T]) {
	in, out, rows := t.a.In, t.a.Out, t.a.R
	j := 0
	for ; j+8 <= in; j += 8 {
		sum := s.dot8(lo[j*out:(j+8)*out], hi[j*out:(j+8)*out], out)
		for k, v := range sum {
			dst[(j+k)*rows] = v
		}
	}
	for ; j < in; j++ {
		dst[j*rows] = s.dot(lo[j*out:(j+1)*out], hi[j*out:(j+1)*out])
	}
}

// dot is sum_i (a_i >= 0 ? a_i lo_i : a_i hi_i) in blocks.
func (s *sparseRow[T]) dot(lo, hi []T) T {
	var total T
	k := 0
	for _, end := range s.ends {
		var sum T
		for ; k < end; k++ {
			if a := s.a[k]; a >= 0 {
				sum += T(a * lo[s.at[k]])
			} else {
				sum += T(a * hi[s.at[k]])
			}
		}
		total += sum
	}
	return total
}

// dot8 is dot for eight inputs at once: the sign of a_i is looked at once for
// all of them, and their sums do not wait for each other.
func (s *sparseRow[T]) dot8(lo, hi []T, n int) (total [8]T) {
	k := 0
	for _, end := range s.ends {
		var s0, s1, s2, s3, s4, s5, s6, s7 T
		for ; k < end; k++ {
			a, i := s.a[k], s.at[k]
			w := lo
			if !(a >= 0) {
				w = hi
			}
			s0 += T(a * w[i])
			s1 += T(a * w[n+i])
			s2 += T(a * w[2*n+i])
			s3 += T(a * w[3*n+i])
			s4 += T(a * w[4*n+i])
			s5 += T(a * w[5*n+i])
			s6 += T(a * w[6*n+i])
			s7 += T(a * w[7*n+i])
		}
		for m, v := range [8]T{s0, s1, s2, s3, s4, s5, s6, s7} {
			total[m] += v
		}
	}
	return total
}
