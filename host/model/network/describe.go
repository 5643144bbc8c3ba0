package network

import (
	"fmt"
)

// Describe is a map in plain words: 64 x 32 of a dense layer, or convolution 5x5, 28x28x1 to
// 24x24x6, stride 2.
func Describe(m Map) string {
	switch m := m.(type) {
	case Dense:
		return fmt.Sprintf("%d x %d", m.In, m.Out)
	case Conv:
		words := moved("convolution", m.In, m.Out(), &m.Window)
		switch {
		case m.Groups > 1 && m.Groups == m.In.Channels:
			words += ", by channel"
		case m.Groups > 1:
			words += fmt.Sprintf(", %d groups", m.Groups)
		}
		if m.ChannelsFirst {
			words += ", channels first"
		}
		return words
	case AvgPool:
		words := moved("average pool", m.In, m.Out(), &m.Window)
		if m.CountPadding && m.Window.padded() {
			words += " that counts"
		}
		return words
	case MaxPool:
		return moved("max pool", m.In, m.Out(), &m.Window)
	case Add:
		return fmt.Sprintf("sum of %d x %d", m.Terms, m.N)
	case Concat:
		return fmt.Sprintf("%d images put together, %v", len(m.Channels), Image{m.Height, m.Width, m.Inputs() / m.Height / m.Width})
	case Reorder:
		return fmt.Sprintf("%d of %d in another order", len(m.Order), m.In)
	}
	return fmt.Sprintf("%T", m)
}

func (w *Window) padded() bool { return w.Before != [2]int{} || w.After != [2]int{} }

// moved describes how a window moves, where that is not one by one without padding.
func moved(what string, in, out Image, w *Window) string {
	by := func(p [2]int) string {
		if p[0] == p[1] {
			return fmt.Sprint(p[0])
		}
		return fmt.Sprintf("%dx%d", p[0], p[1])
	}
	one := [2]int{1, 1}
	words := fmt.Sprintf("%s %dx%d, %v to %v", what, w.Size[0], w.Size[1], in, out)
	if w.Stride != one {
		words += ", stride " + by(w.Stride)
	}
	if w.Dilation != one {
		words += ", dilation " + by(w.Dilation)
	}
	switch {
	case !w.padded():
	case w.Before == w.After:
		words += ", padding " + by(w.Before)
	default:
		words += fmt.Sprintf(", padding %s before and %s after", by(w.Before), by(w.After))
	}
	return words
}
