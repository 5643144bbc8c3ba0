package bound

import "psafe/host/model/network"

// Rows over windows (docs/convolution.md, section 11). What a unit of a convolution depends on lies in a
// window of each layer below, and the windows of all positions look alike: they are one small
// network without padding, seen at other places. So rows of a layer may be taken down as those of
// the channels of one position, with one item for each image and position.

// view is the network below a layer as the windows of its positions have it.
type view struct {
	// starts are the positions that rows start at, [rows, columns]; channels the rows of each
	// before they are mirrored.
	starts [2]int
	rows   int
	// layers are as in Model, those on the way by their windows; places and layouts say where the
	// windows of each layer, and as last entry of the network's input, lie in what; width is the
	// numbers of the input's.
	layers  []layer
	places  []network.Places
	layouts []network.Layout
	reached []bool
	width   int
	// each is how many starts are taken down at a time.
	each int
	// flight is about how many numbers the rows of a start take on their way down, widest the most
	// in one array.
	flight, widest int
	sights         []sight
}

// sight is a view for some of the starts, number at and the next n.
type sight struct {
	at, n int
	// units are their rows among those of all starts, from number at*rows on; seen, by layer and for
	// the input, what their windows have of it: positions, or numbers of an input with channels
	// first.
	units Array
	seen  []list
	// lower and upper are where bounds of a start's mirrored rows are, for the lower ends of units and
	// for the upper ones.
	lower, upper Array
}

// worthWindows is how much of the work windows have to leave at most.
const worthWindows = 0.75

// planViews decides which layers' rows are taken down by windows.
func (m *Model) planViews(net network.Network) {
	layouts := net.Layouts()
	for k := range m.layers {
		l := &m.layers[k]
		switch {
		case k == len(m.layers)-1 || l.dense || layouts[k].Channels == 0:
		case l.pool && l.oneChannel:
			of, known := network.WindowsOf(net[k].Map)
			if known {
				l.view = m.newView(net, layouts, l.feed[0], of, [2]int{layouts[k].Height, layouts[k].Width}, layouts[k].Channels*l.window)
			}
		case !l.pool && l.needed && (l.opens || l.meetsClosed):
			of := network.Places{Step: [2]int{1, 1}, Size: [2]int{1, 1}}
			l.view = m.newView(net, layouts, k, of, [2]int{layouts[k].Height, layouts[k].Width}, layouts[k].Channels)
		}
	}
}

// newView is that of rows over the inputs of layer top, of whose outputs each start has a window in
// places of; nil where there are no windows, or they do not pay.
func (m *Model) newView(net network.Network, layouts []network.Layout, top int, of network.Places, starts [2]int, rows int) *view {
	if starts[0]*starts[1] == 1 {
		return nil
	}
	n := len(net)
	v := &view{starts: starts, rows: rows, layers: append([]layer(nil), m.layers...), places: make([]network.Places, n+1), layouts: layouts, reached: make([]bool, n+1)}
	index := func(s int) int { return (s + n + 1) % (n + 1) }
	maps, inside := make([]network.Map, n), make([]network.Places, n)
	v.places[top], v.reached[top] = of, true
	for l := top; l >= 0; l-- {
		if !v.reached[l] {
			continue
		}
		var sources []network.Layout
		for _, s := range m.layers[l].feed {
			sources = append(sources, layouts[index(s)])
		}
		if maps[l], inside[l] = network.Windowed(net[l].Map, sources, layouts[l].Image, v.places[l]); maps[l] == nil {
			return nil
		}
		for _, s := range m.layers[l].feed {
			i := index(s)
			if !v.reached[i] {
				v.places[i], v.reached[i] = inside[l], true
				continue
			}
			var same bool
			if v.places[i], same = v.places[i].Around(inside[l]); !same {
				return nil
			}
		}
	}
	whole, work := 0.0, 0.0
	for l := range n {
		if !v.reached[l] {
			continue
		}
		whole += m.layers[l].work()
		if err := v.shape(l, maps[l], inside[l], index); err != nil {
			return nil // numbers that do not fit, which whole maps may still have
		}
		work += v.layers[l].work()
	}
	v.width = v.places[n].Len() * layouts[n].Channels
	if !(work <= m.cuts.windows*whole) {
		return nil
	}
	return v
}

// work is how many multiplications a row takes through the layer.
func (l *layer) work() float64 {
	if l.pool {
		return float64(l.out * l.window)
	}
	return float64(l.positions) * float64(l.taps) * float64(l.channels)
}

// shape makes layer l of the view that of its windows: w, whose inputs lie in places inside of what
// the sources' windows hold.
func (v *view) shape(l int, w network.Map, inside network.Places, index func(int) int) error {
	lay := &v.layers[l]
	lay.out, lay.longest, lay.meets, lay.lists, lay.first = w.Outputs(), 0, false, lists{}, []int{0}
	each := w.Inputs() / len(lay.feed)
	for _, s := range lay.feed {
		i := index(s)
		lay.first = append(lay.first, lay.first[len(lay.first)-1]+v.places[i].Len()*v.layouts[i].Channels)
	}
	lay.in = lay.first[len(lay.feed)]
	if err := lay.shape(w); err != nil {
		return err
	}
	lay.dense = false
	for _, numbers := range [][]int32{lay.hostTap, lay.hostMembers} {
		for e, j := range numbers {
			if j >= 0 {
				source := int(j) / each
				i := index(lay.feed[source])
				numbers[e] = int32(lay.first[source] + v.places[i].Number(inside, v.layouts[i].Channels, int(j)%each))
			}
		}
	}
	return nil
}

// uploadView copies the lists of a view.
func (u *uploader) view(v *view) {
	for l := range v.layers {
		lay := &v.layers[l]
		if !v.reached[l] {
			continue
		}
		u.sources(lay)
		if lay.pool {
			u.stars(lay)
		} else {
			u.taps(lay)
		}
		real := &u.m.layers[l]
		lay.weight, lay.matrix, lay.negative, lay.noBias = real.weight, real.matrix, real.negative, real.noBias
		lay.hostTap, lay.hostMembers, lay.hostWeight, lay.hostCoefficient = nil, nil, nil, [2][]float64{}
	}
	n := v.starts[0] * v.starts[1]
	for at := 0; at < n; at += v.each {
		u.sight(v, at, min(v.each, n-at))
	}
}

// sight copies the lists of a view's starts from at on.
func (u *uploader) sight(v *view, at, n int) {
	s := sight{at: at, n: n, units: u.span(at*v.rows, n*v.rows).at, seen: make([]list, len(v.places))}
	half := func(first int) Array {
		return u.numbers(n*v.rows, func(i int) float64 { return float64(i/v.rows*2*v.rows + first + i%v.rows) })
	}
	s.lower, s.upper = half(0), half(v.rows)
	for i, p := range v.places {
		if !v.reached[i] {
			continue
		}
		image := v.layouts[i]
		var seen []float64
		for start := at; start < at+n; start++ {
			for _, j := range p.At(start/v.starts[1], start%v.starts[1], image.Image) {
				if !image.ChannelsFirst {
					seen = append(seen, float64(j))
					continue
				}
				for c := range image.Channels {
					if j < 0 {
						seen = append(seen, -1)
					} else {
						seen = append(seen, float64(c*image.Height*image.Width+j))
					}
				}
			}
		}
		s.seen[i] = list{u.numbers(len(seen), func(e int) float64 { return seen[e] }), len(seen)}
	}
	v.sights = append(v.sights, s)
}
