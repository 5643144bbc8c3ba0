package network_test

import (
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
)

// TestWindowed: at every place of every window, a map takes in by its window what it takes in by the
// whole image, with the same coefficients, and by padding what lies outside; pools likewise.
func TestWindowed(t *testing.T) {
	found := 0
	for i := range 400 {
		r := rand.New(rand.NewPCG(31, uint64(i)))
		in := network.Image{Height: 4 + r.IntN(4), Width: 4 + r.IntN(4), Channels: 1 + r.IntN(2)}
		w := network.Window{Dilation: [2]int{1, 1}}
		for d := range 2 {
			w.Size[d], w.Stride[d], w.Before[d], w.After[d] = 1+r.IntN(3), 1+r.IntN(2), r.IntN(2), r.IntN(2)
		}
		var m network.Map
		var out network.Image
		source := network.Layout{Image: in}
		switch r.IntN(3) {
		case 0:
			c := network.Conv{In: in, Window: w, Filters: 2, Groups: 1, ChannelsFirst: r.IntN(2) == 0}
			m, out, source.ChannelsFirst = c, c.Out(), c.ChannelsFirst
		case 1:
			a := network.AvgPool{In: in, Window: w, CountPadding: r.IntN(2) == 0}
			m, out = a, a.Out()
		default:
			p := network.MaxPool{In: in, Window: w}
			m, out = p, p.Out()
		}
		if m.Check() != nil {
			continue
		}
		of := network.Places{Step: [2]int{1 + r.IntN(2), 1}, First: [2]int{-1, 0}, Size: [2]int{1 + r.IntN(3), 2}}
		by, inside := network.Windowed(m, []network.Layout{source}, out, of)
		if by == nil {
			continue
		}
		found++
		sameTaps(t, m, by, source, out, of, inside)
	}
	if found < 100 {
		t.Errorf("%d maps have windows", found)
	}
}

// taken lists what each output takes in, place by place, and what the places count.
func taken(m network.Map) (taps []int32, each int, coefficients []float64) {
	switch m := m.(type) {
	case network.MaxPool:
		return m.Members(), m.Window.Size[0] * m.Window.Size[1], nil
	case network.Linear:
		l := m.Lowered()
		return l.Tap, l.Taps, nil
	}
	l := m.(network.Fixed).Lowered()
	return l.Tap, l.Taps, l.CoefficientHi
}

func sameTaps(t *testing.T, m, by network.Map, source network.Layout, out network.Image, of, inside network.Places) {
	t.Helper()
	whole, n, counts := taken(m)
	window, k, countsBy := taken(by)
	for i := range counts {
		if counts[i] != countsBy[i] {
			t.Fatalf("%+v: coefficients %v, by windows %v", m, counts, countsBy)
		}
	}
	units := len(whole) / n / (out.Height * out.Width) // at each position
	if k != n || len(window) != of.Len()*units*k {
		t.Fatalf("%+v: %d taps, %d numbers by windows, for %d", m, n, len(window), of.Len())
	}
	for y := range 3 {
		for x := range 3 {
			seen := inside.At(y, x, source.Image)
			for at, position := range of.At(y, x, out) {
				for e := range units * k {
					if position < 0 {
						continue
					}
					want := int(whole[position*units*k+e])
					got := int(window[at*units*k+e])
					p, c := seen[got/source.Channels], got%source.Channels
					switch {
					case p < 0:
						got = -1
					case source.ChannelsFirst:
						got = c*source.Height*source.Width + p
					default:
						got = p*source.Channels + c
					}
					if got != want {
						t.Fatalf("%+v at %d, %d: place %d of position %d takes %d, not %d", m, y, x, e, at, got, want)
					}
				}
			}
		}
	}
}
