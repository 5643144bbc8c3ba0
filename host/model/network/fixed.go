package network

import (
	"fmt"
	"math"
)

// The linear maps without parameters: average pools, sums, and changes of order.

// AvgPool is the mean over a window, by channel. Padding counts in the divisor if CountPadding
// says so (PyTorch's default), else the mean is over what lies in the image (Keras). Global
// average pooling has a window of the size of the image.
type AvgPool struct {
	unweighted
	In           Image
	Window       Window
	CountPadding bool
}

// Add is the sum of Terms lists of N numbers each: a residual join.
type Add struct {
	unweighted
	N, Terms int
}

// Concat puts images of the same height and width together, channel after channel.
type Concat struct {
	unweighted
	Height, Width int
	Channels      []int
}

// Reorder gives number Order[i] of its input as its output i: a flatten in another order,
// or a part of the input.
type Reorder struct {
	unweighted
	In    int
	Order []int32
}

// Out is the shape of the outputs.
func (a AvgPool) Out() Image {
	return Image{a.Window.positions(0, a.In.Height), a.Window.positions(1, a.In.Width), a.In.Channels}
}

// Lowered has a position for each output and a tap for each place of the window; where the
// divisor differs, one for each divisor and place.
func (a AvgPool) Lowered() *Lowered {
	out, w := a.Out(), &a.Window
	size := w.Size[0] * w.Size[1]
	inside := make([][]int, 0, out.Height*out.Width)
	class, divisors := map[int]int{}, []int{}
	for y := range out.Height {
		for x := range out.Width {
			at, n := w.under(y, x, a.In), size
			for _, from := range at {
				if from < 0 && !a.CountPadding {
					n--
				}
			}
			if _, known := class[n]; !known {
				class[n], divisors = len(divisors), append(divisors, n)
			}
			inside = append(inside, append(at, class[n]))
		}
	}
	l := &Lowered{Positions: out.Len(), Taps: size * len(divisors), Channels: 1}
	for _, at := range inside {
		for ch := range a.In.Channels {
			for d := range divisors {
				for _, from := range at[:size] {
					if from >= 0 && d == at[size] {
						l.Tap = append(l.Tap, int32(from+ch))
					} else {
						l.Tap = append(l.Tap, -1)
					}
				}
			}
		}
	}
	for _, n := range divisors {
		lo, hi := reciprocal(n)
		for range size {
			l.CoefficientLo, l.CoefficientHi = append(l.CoefficientLo, lo), append(l.CoefficientHi, hi)
		}
	}
	return l
}

// reciprocal encloses 1/n in two float64, which are equal for powers of two. A window that
// lies in the padding altogether is refused by Check.
func reciprocal(n int) (lo, hi float64) {
	v := 1 / float64(max(1, n))
	if n&(n-1) == 0 {
		return v, v
	}
	return math.Nextafter(v, 0), math.Nextafter(v, 1)
}

// Lowered has a position for each output and a tap for each term.
func (a Add) Lowered() *Lowered {
	l := &Lowered{Positions: a.N, Taps: a.Terms, Channels: 1}
	for i := range a.N {
		for t := range a.Terms {
			l.Tap = append(l.Tap, int32(t*a.N+i))
		}
	}
	for range a.Terms {
		l.CoefficientLo = append(l.CoefficientLo, 1)
	}
	l.CoefficientHi = l.CoefficientLo
	return l
}

// order returns the order of the inputs as outputs take them.
func (c Concat) order() []int32 {
	var order []int32
	for at := range c.Height * c.Width {
		first := 0
		for _, n := range c.Channels {
			for ch := range n {
				order = append(order, int32(first+at*n+ch))
			}
			first += c.Height * c.Width * n
		}
	}
	return order
}

// Lowered has a position for each output and one tap.
func (c Concat) Lowered() *Lowered { return copied(c.order()) }

// Lowered has a position for each output and one tap.
func (r Reorder) Lowered() *Lowered { return copied(r.Order) }

func copied(order []int32) *Lowered {
	one := []float64{1}
	return &Lowered{Positions: len(order), Taps: 1, Channels: 1, Tap: order, CoefficientLo: one, CoefficientHi: one}
}

// Check refuses shapes that are empty, too large or do not fit, and windows that may lie in
// the padding altogether.
func (a AvgPool) Check() error {
	if err := a.In.check(); err != nil {
		return err
	}
	return poolCheck(a.In, &a.Window)
}

func poolCheck(in Image, w *Window) error {
	if err := w.check(in); err != nil {
		return err
	}
	for d, n := range []int{in.Height, in.Width} {
		last := (w.positions(d, n) - 1) * w.Stride[d]
		if w.Before[d] >= w.span(d) || last-w.Before[d] >= n || w.Dilation[d] > 1 && w.Before[d]+w.After[d] > 0 {
			return fmt.Errorf("a window of the pool may lie in the padding altogether (size %d, dilation %d, padding %d and %d)", w.Size[d], w.Dilation[d], w.Before[d], w.After[d])
		}
	}
	return nil
}

// Check refuses sums of fewer than two terms and empty ones.
func (a Add) Check() error {
	if a.N < 1 || a.Terms < 2 || a.N > 1<<24/a.Terms {
		return fmt.Errorf("a sum of %d lists of %d numbers is empty or too large", a.Terms, a.N)
	}
	return nil
}

// Check refuses fewer than two images and empty ones.
func (c Concat) Check() error {
	total := 0
	for _, n := range c.Channels {
		if err := (Image{c.Height, c.Width, n}).check(); err != nil {
			return err
		}
		total += n
	}
	if len(c.Channels) < 2 {
		return fmt.Errorf("%d images are put together: it takes two", len(c.Channels))
	}
	return Image{c.Height, c.Width, total}.check()
}

// Check refuses numbers that are not there.
func (r Reorder) Check() error {
	if len(r.Order) == 0 || r.In > 1<<24 {
		return fmt.Errorf("an order of %d of %d numbers is empty or too large", len(r.Order), r.In)
	}
	for _, j := range r.Order {
		if j < 0 || int(j) >= r.In {
			return fmt.Errorf("an order takes number %d of %d", j, r.In)
		}
	}
	return nil
}

// Inputs is the number of numbers of the image.
func (a AvgPool) Inputs() int { return a.In.Len() }

// Outputs is the number of numbers of the output image.
func (a AvgPool) Outputs() int { return a.Out().Len() }

// Inputs is N Terms.
func (a Add) Inputs() int { return a.N * a.Terms }

// Outputs is N.
func (a Add) Outputs() int { return a.N }

// Inputs is the number of numbers of all images.
func (c Concat) Inputs() int {
	n := 0
	for _, ch := range c.Channels {
		n += ch
	}
	return n * c.Height * c.Width
}

// Outputs is Inputs.
func (c Concat) Outputs() int { return c.Inputs() }

// Inputs is In.
func (r Reorder) Inputs() int { return r.In }

// Outputs is the length of Order.
func (r Reorder) Outputs() int { return len(r.Order) }
