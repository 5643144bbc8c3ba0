package network

import "fmt"

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
	// ChannelsFirst says that the input list is (C, H, W), as PyTorch has images.
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
	out, w := c.Out(), &c.Window
	taps := w.Size[0] * w.Size[1] * c.In.Channels
	l := &Lowered{Positions: out.Height * out.Width, Taps: taps, Channels: c.Filters}
	for y := range out.Height {
		for x := range out.Width {
			for a := range w.Size[0] {
				for b := range w.Size[1] {
					for ch := range c.In.Channels {
						l.Tap = append(l.Tap, c.number(w.at(0, y, a, c.In.Height), w.at(1, x, b, c.In.Width), ch))
					}
				}
			}
		}
	}
	if c.Groups == 1 {
		return l
	}
	each, filters := c.In.Channels/c.Groups, c.Filters/c.Groups
	for k := range taps {
		at, ch := k/c.In.Channels, k%c.In.Channels
		for o := range c.Filters {
			p := int32(-1)
			if o/filters == ch/each {
				p = int32((at*each+ch%each)*c.Filters + o)
			}
			l.Weight = append(l.Weight, p)
		}
	}
	return l
}

// number is the place of a number in the input list, -1 in the padding.
func (c *Conv) number(y, x, ch int) int32 {
	switch {
	case y < 0 || x < 0:
		return -1
	case c.ChannelsFirst:
		return int32((ch*c.In.Height+y)*c.In.Width + x)
	}
	return int32((y*c.In.Width+x)*c.In.Channels + ch)
}
