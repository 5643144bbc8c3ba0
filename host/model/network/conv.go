package network

import (
	"fmt"
	"iter"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Conv is a convolution of images, two-dimensional (or one-dimensional, with Height 1), in
// the sense of cross-correlation: kernels are not flipped. Weights are (rows, columns,
// In.Channels/Groups, Filters) as in Keras, biases (Filters). Outputs are an image with
// Filters channels. With Groups g, filters g' Filters/g and on see the channels g' C/g and on;
// with Groups = C it is depthwise. A batch norm in inference is one of 1 x 1 and Groups =
// Filters = C: its weights are gains, its biases shifts.
type Conv struct {
	In      Image
	Window  Window
	Filters int
	Groups  int
	// ChannelsFirst reports whether the input list is (C, H, W), as PyTorch has images.
	ChannelsFirst bool
}

// Out is the shape of the outputs.
func (c Conv) Out() Image {
	return Image{c.Window.positions(0, c.In.Height), c.Window.positions(1, c.In.Width), c.Filters}
}

// Inputs is the number of numbers of an image.
func (c Conv) Inputs() int { return c.In.Len() }

// Outputs is the number of numbers of an output image.
func (c Conv) Outputs() int { return c.Out().Len() }

// Weights is rows * columns * channels of a group * filters.
func (c Conv) Weights() int {
	return c.Window.Size[0] * c.Window.Size[1] * (c.In.Channels / c.Groups) * c.Filters
}

// Biases is Filters.
func (c Conv) Biases() int { return c.Filters }

// Check refuses shapes that are empty, too large or do not fit.
func (c Conv) Check() error {
	if err := c.In.check(); err != nil {
		return err
	}
	if err := c.Window.check(c.In); err != nil {
		return err
	}
	if c.Groups < 1 || c.Filters < 1 || c.In.Channels%c.Groups != 0 || c.Filters%c.Groups != 0 {
		return fmt.Errorf("%d channels and %d filters cannot be shared by %d groups", c.In.Channels, c.Filters, c.Groups)
	}
	return c.Out().check()
}

// Lowered has the window's places as positions and (row, column, channel) as taps.
func (c Conv) Lowered() *Lowered {
	out := c.Out()
	taps := c.Window.Size[0] * c.Window.Size[1] * c.In.Channels
	l := &Lowered{Positions: out.Height * out.Width, Taps: taps, Channels: c.Filters}
	l.Tap = slices.Repeat([]int32{-1}, l.Positions*taps)
	c.Window.each(c.In, func(p, place, row, column int) {
		for ch := range c.In.Channels {
			l.Tap[p*taps+place*c.In.Channels+ch] = int32(c.number(row, column, ch))
		}
	})
	if c.Groups == 1 {
		return l
	}
	for k := range taps {
		for o := range c.Filters {
			l.Weight = append(l.Weight, int32(c.weight(k/c.In.Channels, k%c.In.Channels, o)))
		}
	}
	return l
}

// number is the place of a number in the input list.
func (c *Conv) number(row, column, ch int) int {
	if c.ChannelsFirst {
		return (ch*c.In.Height+row)*c.In.Width + column
	}
	return (row*c.In.Width+column)*c.In.Channels + ch
}

// weight returns the weight of a place of the window, from a channel to a filter; -1 if they are of
// different groups.
func (c *Conv) weight(place, ch, filter int) int {
	each := c.In.Channels / c.Groups
	if filter/(c.Filters/c.Groups) != ch/each {
		return -1
	}
	return (place*each+ch%each)*c.Filters + filter
}

// BiasOf is the channel of output i.
func (c Conv) BiasOf(i int) int { return i % c.Filters }

// Into gives the inputs under the window of output i, channel by channel in every place.
func (c Conv) Into(i int) iter.Seq2[int, int] {
	w, filter := &c.Window, i%c.Filters
	each := c.In.Channels / c.Groups
	first := filter / (c.Filters / c.Groups) * each
	columns := w.positions(1, c.In.Width)
	y, x := i/c.Filters/columns, i/c.Filters%columns
	return func(yield func(int, int) bool) {
		for place := range w.Size[0] * w.Size[1] {
			row, column := w.at(0, y, place/w.Size[1], c.In.Height), w.at(1, x, place%w.Size[1], c.In.Width)
			if row < 0 || column < 0 {
				continue
			}
			for ch := first; ch < first+each; ch++ {
				if !yield(c.number(row, column, ch), c.weight(place, ch, filter)) {
					return
				}
			}
		}
	}
}

// From gives the outputs whose windows have input j, filter by filter in every position.
func (c Conv) From(j int) iter.Seq2[int, int] {
	row, column, ch := j/c.In.Channels/c.In.Width, j/c.In.Channels%c.In.Width, j%c.In.Channels
	if c.ChannelsFirst {
		row, column, ch = j/c.In.Width%c.In.Height, j%c.In.Width, j/c.In.Width/c.In.Height
	}
	w, filters := &c.Window, c.Filters/c.Groups
	rows, columns := w.positions(0, c.In.Height), w.positions(1, c.In.Width)
	first := ch / (c.In.Channels / c.Groups) * filters
	return func(yield func(int, int) bool) {
		for place := range w.Size[0] * w.Size[1] {
			y, x := w.position(0, row, place/w.Size[1], rows), w.position(1, column, place%w.Size[1], columns)
			if y < 0 || x < 0 {
				continue
			}
			for filter := first; filter < first+filters; filter++ {
				if !yield((y*columns+x)*c.Filters+filter, c.weight(place, ch, filter)) {
					return
				}
			}
		}
	}
}

// rows calls visit for every position and every channel under it that lies in the image, with
// the input's number, the weights from there to the filters of its group, which are contiguous, and
// what the list of outputs has of these.
func (c *Conv) rows(weight, outputs []float64, visit func(input int, weight, outputs []float64)) {
	each, filters := c.In.Channels/c.Groups, c.Filters/c.Groups
	step := c.number(0, 0, 1)
	if c.In.Channels == 1 {
		step = 0
	}
	c.Window.each(c.In, func(p, place, row, column int) {
		input := c.number(row, column, 0)
		for g := range c.Groups {
			out := outputs[p*c.Filters+g*filters:][:filters]
			for ch := range each {
				visit(input, weight[(place*each+ch)*c.Filters+g*filters:][:filters], out)
				input += step
			}
		}
	})
}

func (c Conv) forwardApprox(zeta, weight, bias, z []float64) {
	for at := 0; at < len(zeta); at += c.Filters {
		copy(zeta[at:], bias)
	}
	c.rows(weight, zeta, func(input int, w, out []float64) { floats.AddScaled(out, z[input], w) })
}

func (c Conv) backApprox(dz, weight, _, dzeta []float64) {
	clear(dz)
	c.rows(weight, dzeta, func(input int, w, out []float64) { dz[input] += floats.Dot(w, out) })
}

func (c Conv) addGradient(dw, db, z, dzeta []float64) {
	for i, d := range dzeta {
		db[i%c.Filters] += d
	}
	c.rows(dw, dzeta, func(input int, w, out []float64) { floats.AddScaled(w, z[input], out) })
}

// Gain reports whether the map multiplies each channel by one weight, as a batch norm in inference does.
func (c Conv) Gain() bool {
	unit := Window{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	return c.Window == unit && c.Groups == c.In.Channels && c.Filters == c.In.Channels
}

// channel returns the channel of input j.
func (c Conv) channel(j int) int {
	if c.ChannelsFirst {
		return j / (c.In.Height * c.In.Width)
	}
	return j % c.In.Channels
}
