package network

import "slices"

// Places hold where windows of an image lie, one for each of many starts: row i of the window of
// start (y, x) is row Step[0] y + First[0] + i of the image, for i in [0, Size[0]), and columns
// likewise. Some may lie outside of the image.
type Places struct{ Step, First, Size [2]int }

// Len is the number of positions of a window.
func (p Places) Len() int { return p.Size[0] * p.Size[1] }

// At are the positions of the window of one start in an image, row by row, -1 for those outside.
func (p Places) At(y, x int, s Image) []int {
	at := make([]int, 0, p.Len())
	for i := range p.Size[0] {
		for j := range p.Size[1] {
			r, c := p.Step[0]*y+p.First[0]+i, p.Step[1]*x+p.First[1]+j
			if r < 0 || r >= s.Height || c < 0 || c >= s.Width {
				at = append(at, -1)
			} else {
				at = append(at, r*s.Width+c)
			}
		}
	}
	return at
}

// Around is the smallest window around both, which go by the same steps; otherwise there is none.
func (p Places) Around(of Places) (u Places, same bool) {
	for d := range 2 {
		u.First[d] = min(p.First[d], of.First[d])
		u.Size[d] = max(p.First[d]+p.Size[d], of.First[d]+of.Size[d]) - u.First[d]
	}
	u.Step = p.Step
	return u, p.Step == of.Step
}

// Number is the number, channels last, in this window of what has a number in a window inside.
func (p Places) Number(inside Places, channels, number int) int {
	at := number / channels
	r := at/inside.Size[1] + inside.First[0] - p.First[0]
	c := at%inside.Size[1] + inside.First[1] - p.First[1]
	return (r*p.Size[1]+c)*channels + number%channels
}

// Layout is an image as a list of numbers: channels last, unless ChannelsFirst says (C, H, W).
type Layout struct {
	Image
	ChannelsFirst bool
}

// Layouts returns the layouts of the outputs of each layer and, as the last entry, of the network's
// input. One without channels is not known to be an image.
func (n Network) Layouts() []Layout {
	layouts := make([]Layout, len(n)+1)
	for k := range n {
		feed := n.Feed(k)
		switch m := n[k].Map.(type) {
		case Conv:
			if feed[0] < 0 {
				layouts[len(n)] = Layout{m.In, m.ChannelsFirst}
			}
			layouts[k].Image = m.Out()
		case MaxPool:
			layouts[k].Image = m.Out()
		case AvgPool:
			layouts[k].Image = m.Out()
		case Add:
			if feed[0] >= 0 {
				layouts[k] = layouts[feed[0]]
			}
		}
	}
	return layouts
}

// Windowed is a map as seen by a window of its outputs, which are an image, in places of: the same
// map over that window, without padding, whose inputs are windows of what its sources give, in
// places in and channels last. Where the map has padding they lie outside of the image: 0 there, or
// no member of a pool. It is nil where the window's matrix would depend on where it lies, and where
// sources or outputs are no images of one size.
func Windowed(m Map, sources []Layout, out Image, of Places) (w Map, in Places) {
	switch m := m.(type) {
	case Conv:
		if len(sources) == 1 && sources[0] == (Layout{m.In, m.ChannelsFirst}) {
			m.ChannelsFirst = false
			in = m.Window.inside(of, &m.In)
			return m, in
		}
	case MaxPool:
		if len(sources) == 1 && sources[0] == (Layout{Image: m.In}) {
			in = m.Window.inside(of, &m.In)
			return m, in
		}
	case AvgPool:
		if len(sources) == 1 && sources[0] == (Layout{Image: m.In}) {
			coefficients := m.Lowered().CoefficientHi
			in = m.Window.inside(of, &m.In)
			if slices.Equal(coefficients, m.Lowered().CoefficientHi) {
				return m, in
			}
		}
	case Add:
		for _, s := range sources {
			if s != (Layout{Image: out}) {
				return nil, in
			}
		}
		if len(sources) == m.Terms && out.Len() == m.N {
			return Add{N: of.Len() * out.Channels, Terms: m.Terms}, of
		}
	}
	return nil, in
}

// inside makes the window one without padding, and the image what lies under it for outputs in
// such places.
func (w *Window) inside(of Places, s *Image) (in Places) {
	for d := range 2 {
		in.Step[d] = of.Step[d] * w.Stride[d]
		in.First[d] = of.First[d]*w.Stride[d] - w.Before[d]
		in.Size[d] = (of.Size[d]-1)*w.Stride[d] + w.span(d)
	}
	w.Before, w.After = [2]int{}, [2]int{}
	s.Height, s.Width = in.Size[0], in.Size[1]
	return in
}

// Windows are a network below one of its layers as windows have it. By layer, and as the last
// entry for the network's input: what is Reached on the way down, and the places of its windows.
// Maps are the layers' maps over those, nil where the way ends, and Inside, by layer, the places of what each takes in; they
// may be a part of the source's window, if others take more.
type Windows struct {
	Layouts []Layout
	Reached []bool
	Places  []Places
	Maps    []Map
	Inside  []Places
}

// Source is the entry of layer s, or of the network's input if that is -1.
func (w *Windows) Source(s int) int {
	if s < 0 {
		return len(w.Maps)
	}
	return s
}

// WindowsBelow are the windows under those of layer top in places of, on the way down through the
// layers that met has, all if it is nil; nil where there are none: below maps that Windowed refuses,
// and where paths of different strides meet.
func (n Network) WindowsBelow(layouts []Layout, top int, of Places, met []bool) *Windows {
	w := &Windows{Layouts: layouts, Reached: make([]bool, len(n)+1), Places: make([]Places, len(n)+1), Maps: make([]Map, len(n)), Inside: make([]Places, len(n))}
	w.Reached[top], w.Places[top] = true, of
	for l := top; l >= 0; l-- {
		if !w.Reached[l] || l < top && met != nil && !met[l] {
			continue
		}
		var sources []Layout
		for _, s := range n.Feed(l) {
			sources = append(sources, layouts[w.Source(s)])
		}
		if w.Maps[l], w.Inside[l] = Windowed(n[l].Map, sources, layouts[l].Image, w.Places[l]); w.Maps[l] == nil {
			return nil
		}
		for _, s := range n.Feed(l) {
			i, same := w.Source(s), true
			if w.Reached[i] {
				w.Places[i], same = w.Places[i].Around(w.Inside[l])
			} else {
				w.Reached[i], w.Places[i] = true, w.Inside[l]
			}
			if !same {
				return nil
			}
		}
	}
	return w
}

// UnitWindows are the windows under single positions of layer k, whose outputs are an image of more
// than one, as WindowsBelow has them; nil where there are none.
func (n Network) UnitWindows(layouts []Layout, k int, met []bool) *Windows {
	if s := layouts[k]; s.Channels == 0 || s.Height*s.Width == 1 {
		return nil
	}
	return n.WindowsBelow(layouts, k, Places{Step: [2]int{1, 1}, Size: [2]int{1, 1}}, met)
}

// WindowsOf are the places of the windows of a max pool. It is false of other maps, and of pools whose
// windows have gaps.
func WindowsOf(m Map) (of Places, known bool) {
	pool, known := m.(MaxPool)
	if !known || pool.Window.Dilation != [2]int{1, 1} {
		return of, false
	}
	return pool.Window.inside(Places{Step: [2]int{1, 1}, Size: [2]int{1, 1}}, &pool.In), true
}
