package property

import (
	"fmt"
	"slices"
)

// maxChannels is the greatest length of an axis that is taken for that of channels.
const maxChannels = 4

// InOrder is the points as a network takes them that has the channels of an image first,
// (C, H, W), or last, (H, W, C): they are reordered if the file has them the other way round.
// Which axis of the file they are is told by its length, 1 to 4, and known for PNG. Flat
// points, and those of which it cannot be told, are errors; points of two axes have one
// channel and stay as they are.
func (p *Points) InOrder(channels string) (*Points, error) {
	if channels != "first" && channels != "last" {
		return nil, fmt.Errorf("%s is neither first nor last", quote(channels))
	}
	if len(p.Shape) == 2 {
		return p, nil
	}
	if len(p.Shape) != 3 {
		return nil, fmt.Errorf("points of %s have shape %v and no channels to be reordered; give images of three axes", p.Source, p.Shape)
	}
	short := func(n int) bool { return n <= maxChannels }
	first, last := short(p.Shape[0]) && !p.channelsLast, short(p.Shape[2]) || p.channelsLast
	if first == last {
		return nil, fmt.Errorf("points of %s have shape %v, of which nobody can tell the axis of the channels; save them flat, in the network's order, and leave it out", p.Source, p.Shape)
	}
	if last == (channels == "last") {
		return p, nil
	}
	return p.reordered(channels), nil
}

// reordered moves the last axis to the front, for "first", or the first to the end.
func (p *Points) reordered(channels string) *Points {
	q := *p
	q.order, q.channelsLast = make([]int32, 0, p.Dim), false
	a, b, c := p.Shape[0], p.Shape[1], p.Shape[2]
	add := func(k int) {
		if p.order != nil {
			k = int(p.order[k])
		}
		q.order = append(q.order, int32(k))
	}
	if channels == "first" {
		q.Shape = []int{c, a, b}
		for k := range c {
			for pixel := range a * b {
				add(pixel*c + k)
			}
		}
		return &q
	}
	q.Shape = []int{b, c, a}
	for pixel := range b * c {
		for k := range a {
			add(k*b*c + pixel)
		}
	}
	return &q
}

// Cube reports whether the points are images whose three axes are as long as each other, so that no
// shape tells which of them is that of the channels.
func (p *Points) Cube() bool {
	return len(p.Shape) == 3 && p.Shape[0] > 1 && p.Shape[0] == p.Shape[1] && p.Shape[1] == p.Shape[2]
}

// OrderOf returns how the points have to be reordered for a network whose file says that an input
// has that shape: "" if they need not be, else "first" or "last". Axes of length 1 count for
// nothing, and neither does the shape of flat points. Points of another shape are an error.
func (p *Points) OrderOf(shape []int) (string, error) {
	is, want := longAxes(p.Shape), longAxes(shape)
	if len(p.Shape) < 2 || len(shape) < 2 || slices.Equal(is, want) {
		return "", nil
	}
	if len(is) == 3 && len(want) == 3 {
		switch {
		case slices.Equal(want, []int{is[2], is[0], is[1]}) && is[2] <= maxChannels:
			return "first", nil
		case slices.Equal(want, []int{is[1], is[2], is[0]}) && is[0] <= maxChannels:
			return "last", nil
		}
	}
	return "", fmt.Errorf("points of %s have shape %v, the posterior's file says %v; give them in that shape", p.Source, p.Shape, shape)
}

// longAxes is a shape without its axes of length 1.
func longAxes(shape []int) []int {
	return slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
}

// shuffled are numbers of a point in the order of the network.
func (p *Points) shuffled(raw []float64) []float64 {
	out := make([]float64, p.Dim)
	for k, from := range p.order {
		out[k] = raw[from]
	}
	return out
}
