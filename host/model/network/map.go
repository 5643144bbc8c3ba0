package network

import "fmt"

// Map describes what a layer does to its inputs before its activation. Its input is one list of
// numbers: the outputs of the layers that feed it, one after the other (Layer.Sources). All lists
// are flat; those of images are channels last, number (y W + x) C + c, whatever the order in files.
//
// There are three kinds: Linear maps, which have weights; Fixed ones, which are linear and
// have none; and MaxPool. What can only serve some asks for the type and refuses the others.
type Map interface {
	// Inputs and Outputs are the lengths of what goes in and comes out; Weights and Biases
	// those of the lists of parameters, 0 for maps without any.
	Inputs() int
	Outputs() int
	Weights() int
	Biases() int
	// Check says what is wrong with the shape, nil if nothing is.
	Check() error
	// terms counts what the outputs are sums or maxima of, padding and biases included.
	work() int
	// forwardApprox writes the pre-activations of an input vector to zeta; backApprox
	// writes the gradient with respect to z, given that with respect to zeta. Ordinary
	// float64.
	forwardApprox(zeta, weight, bias, z []float64)
	backApprox(dz, weight, z, dzeta []float64)
}

// Lowered is a linear map as devices compute it: products of one small matrix with the
// inputs under its taps, at each of some positions (docs/theory.md, section 4.6),
//
//	zeta[p Channels + o] = sum_k W[k][o] z[Tap[p Taps + k]] + bias[o],   z of Tap -1 being 0
//
// The matrix is W[k][o] = weight[Weight[k Channels + o]], 0 where that is -1, for maps with
// weights; for those without, any number between CoefficientLo[k] and CoefficientHi[k], the
// real coefficient being one that float64 may not have, and bias is 0.
type Lowered struct {
	Positions, Taps, Channels int
	// Tap is [Positions x Taps]; nil for one position whose tap k is input k.
	Tap []int32
	// Weight is [Taps x Channels]; nil where it is k Channels + o.
	Weight []int32
	// CoefficientLo and CoefficientHi are [Taps] of maps with one channel and no weights.
	CoefficientLo, CoefficientHi []float64
}

// Dense reports whether the map is one matrix that every input meets, of parameters in its order.
func (l *Lowered) Dense() bool { return l.Tap == nil && l.Weight == nil && l.CoefficientLo == nil }

// Input is the input under tap k at position p, -1 if there is none.
func (l *Lowered) Input(p, k int) int {
	if l.Tap == nil {
		return k
	}
	return int(l.Tap[p*l.Taps+k])
}

// Param is the parameter at [k][o] of the matrix, -1 if there is none.
func (l *Lowered) Param(k, o int) int {
	if l.Weight == nil {
		return k*l.Channels + o
	}
	return int(l.Weight[k*l.Channels+o])
}

// Image is the shape of a list of numbers that is an image.
type Image struct{ Height, Width, Channels int }

// Len is the number of numbers.
func (s Image) Len() int { return s.Height * s.Width * s.Channels }

// String is like 28x28x3.
func (s Image) String() string { return fmt.Sprintf("%dx%dx%d", s.Height, s.Width, s.Channels) }

func (s Image) check() error {
	const most = 1 << 24 // devices number units in float32
	if s.Height < 1 || s.Width < 1 || s.Channels < 1 || s.Height > most || s.Width > most/s.Height || s.Channels > most/s.Height/s.Width {
		return fmt.Errorf("image %v is empty or has more than 2^24 numbers", s)
	}
	return nil
}

// Window describes how a kernel or a pool moves over an image, in rows and in columns. Stride and
// dilation are at least 1; padding is before and after, and may be 0.
type Window struct {
	Size, Stride, Dilation, Before, After [2]int
}

// span returns how far the window reaches in one direction.
func (w *Window) span(d int) int { return (w.Size[d]-1)*w.Dilation[d] + 1 }

// positions is the number of places in one direction of n numbers.
func (w *Window) positions(d, n int) int {
	return (n+w.Before[d]+w.After[d]-w.span(d))/w.Stride[d] + 1
}

// at returns where tap t of place p lies in one direction of n numbers, -1 in the padding.
func (w *Window) at(d, p, t, n int) int {
	i := p*w.Stride[d] + t*w.Dilation[d] - w.Before[d]
	if i < 0 || i >= n {
		return -1
	}
	return i
}

// position is the place in one direction of n positions whose tap t lies at i, -1 if there is
// none.
func (w *Window) position(d, i, t, n int) int {
	from := i + w.Before[d] - t*w.Dilation[d]
	if from < 0 || from%w.Stride[d] != 0 || from/w.Stride[d] >= n {
		return -1
	}
	return from / w.Stride[d]
}

// each calls visit for every position and every place of the window there that lies in the
// image: their numbers, and the pixel's row and column.
func (w *Window) each(s Image, visit func(position, place, row, column int)) {
	rows, columns := w.positions(0, s.Height), w.positions(1, s.Width)
	for y := range rows {
		for x := range columns {
			for a := range w.Size[0] {
				r := w.at(0, y, a, s.Height)
				if r < 0 {
					continue
				}
				for b := range w.Size[1] {
					if c := w.at(1, x, b, s.Width); c >= 0 {
						visit(y*columns+x, a*w.Size[1]+b, r, c)
					}
				}
			}
		}
	}
}

// under returns where the window at position (y, x) lies in an image, by its place: the first number of a pixel, -1 in
// the padding.
func (w *Window) under(y, x int, s Image) []int {
	at := make([]int, 0, w.Size[0]*w.Size[1])
	for i := range cap(at) {
		r, c := w.at(0, y, i/w.Size[1], s.Height), w.at(1, x, i%w.Size[1], s.Width)
		if r < 0 || c < 0 {
			at = append(at, -1)
		} else {
			at = append(at, (r*s.Width+c)*s.Channels)
		}
	}
	return at
}

func (w *Window) check(s Image) error {
	for d, n := range []int{s.Height, s.Width} {
		what := []string{"height", "width"}[d]
		switch {
		case w.Size[d] < 1 || w.Stride[d] < 1 || w.Dilation[d] < 1 || w.Before[d] < 0 || w.After[d] < 0:
			return fmt.Errorf("%s: window %d, stride %d, dilation %d, padding %d and %d: sizes must be at least 1, padding at least 0", what, w.Size[d], w.Stride[d], w.Dilation[d], w.Before[d], w.After[d])
		case w.Size[d] > 1<<20 || w.Stride[d] > 1<<20 || w.Dilation[d] > 1<<20 || w.Before[d] > 1<<20 || w.After[d] > 1<<20:
			return fmt.Errorf("%s: a window, stride, dilation or padding of more than 2^20", what)
		case w.span(d) > n+w.Before[d]+w.After[d]:
			return fmt.Errorf("%s: a window that reaches over %d does not fit %d with its padding", what, w.span(d), n+w.Before[d]+w.After[d])
		}
	}
	return nil
}
