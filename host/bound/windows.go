package bound

import (
	"slices"

	"psafe/host/model/network"
)

// Rows over windows (docs/theory.md, section 4.8). What a unit of a convolution depends on lies in a
// window of each layer below, and the windows of all positions look alike: they are one small
// network without padding, seen at other places. So rows of a layer may be taken down as those of
// the channels of one position, with one item for each image and position.

// worthWindows is the largest part of the work that windows may leave.
const worthWindows = 0.75

// planViews decides which layers' rows are taken down by windows.
func (m *Model) planViews(net network.Network) {
	layouts := net.Layouts()
	for k := range m.layers {
		l, s := &m.layers[k], layouts[k]
		v := view{starts: [2]int{s.Height, s.Width}, perStart: s.Channels}
		switch {
		case k == len(m.layers)-1:
		case l.pool && l.oneChannel:
			if of, known := network.WindowsOf(net[k].Map); known && s.Height*s.Width > 1 {
				v.Windows, v.perStart = net.WindowsBelow(layouts, l.feed[0], of, m.met(l.feed[0])), s.Channels*l.window
			}
		case !l.pool && l.needed && (l.opens || l.meetsClosed):
			v.Windows = net.UnitWindows(layouts, k, m.met(k))
		}
		if v.Windows != nil && m.pays(&v) {
			l.view = &v
		}
	}
}

// pays makes the layers of a view, and says whether they do.
func (m *Model) pays(v *view) bool {
	v.layers = slices.Clone(m.layers)
	whole := v.rowWork()
	for l := range v.layers {
		if v.Maps[l] == nil {
			if v.Reached[l] { // where rows end
				v.layers[l].out = v.Places[l].Len() * v.Layouts[l].Channels
			}
			continue
		}
		if err := v.shape(l); err != nil || !v.layers[l].within(&m.layers[l]) {
			return false // numbers that do not fit, or more than whole maps have
		}
	}
	input := len(v.layers)
	v.width = v.Places[input].Len() * v.Layouts[input].Channels
	return v.rowWork() <= m.cuts.windows*whole
}

// rowWork returns how many multiplications a row takes on its way down.
func (v *view) rowWork() float64 {
	work := 0.0
	for l := range v.layers {
		if v.Maps[l] != nil {
			work += v.layers[l].work()
		}
	}
	return work
}

// within reports whether sums over the windows are not longer than those over the whole maps, for
// whose roundings Relax charges (docs/theory.md, section 4.8). Those of GatherSum may be, in one
// block, as what lies outside of the image adds exact zeros.
func (l *layer) within(whole *layer) bool {
	return l.out <= whole.out && l.positions <= whole.positions && l.longest <= max(Block, whole.longest)
}

// work returns how many multiplications a row takes through the layer.
func (l *layer) work() float64 {
	if l.pool {
		return float64(l.out * l.window)
	}
	return float64(l.positions) * float64(l.taps) * float64(l.channels)
}

// shape makes layer l of the view that of its windows.
func (v *view) shape(l int) error {
	lay, w := &v.layers[l], v.Maps[l]
	lay.out, lay.longest, lay.meets, lay.lists, lay.first = w.Outputs(), 0, false, lists{}, []int{0}
	each := w.Inputs() / len(lay.feed)
	for _, s := range lay.feed {
		i := v.Source(s)
		lay.first = append(lay.first, lay.first[len(lay.first)-1]+v.Places[i].Len()*v.Layouts[i].Channels)
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
				i := v.Source(lay.feed[source])
				numbers[e] = int32(lay.first[source] + v.Places[i].Number(v.Inside[l], v.Layouts[i].Channels, int(j)%each))
			}
		}
	}
	return nil
}

// view copies the lists of the view of a layer. Rows of members of a pool are the same in all items, so
// that they are cut once and for all.
func (u *uploader) view(v *view, pool bool) {
	for l := range v.layers {
		lay := &v.layers[l]
		if v.Maps[l] == nil {
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
	n, part := v.starts[0]*v.starts[1], v.perStart
	if pool {
		part = v.part
	}
	for at := 0; at < n; at += v.each {
		for row := 0; row < v.perStart; row += part {
			u.sight(v, sight{at: at, n: min(v.each, n-at), row: row, rows: min(part, v.perStart-row)})
		}
	}
}

// sight copies the lists of a sight.
func (u *uploader) sight(v *view, s sight) {
	s.first = s.at*v.perStart + s.row
	s.units, s.seen = u.span(s.first, s.n*s.rows).at, make([]list, len(v.Places))
	if s.row > 0 { // of the same starts as the sight before
		s.seen = v.sights[len(v.sights)-1].seen
		v.sights = append(v.sights, s)
		return
	}
	for i, p := range v.Places {
		if !v.Reached[i] {
			continue
		}
		image := v.Layouts[i]
		var seen []float64
		for start := s.at; start < s.at+s.n; start++ {
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
