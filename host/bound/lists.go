package bound

import "psafe/host/model/network"

// linearLists takes over how a linear map is computed.
func (l *layer) linearLists(low *network.Lowered) error {
	l.positions, l.taps, l.channels, l.dense = low.Positions, low.Taps, low.Channels, low.Dense()
	l.hostTap, l.hostWeight, l.hostCoefficient = low.Tap, low.Weight, [2][]float64{low.CoefficientLo, low.CoefficientHi}
	if n := max(l.positions*l.taps, l.taps*l.channels); n >= mostNumber {
		return Unfitf("%d places with %d taps and %d channels have numbers that do not fit devices, which count to 2^24", l.positions, l.taps, l.channels)
	}
	if l.dense {
		l.longest = 1
		return nil
	}
	count, last := make([]int, l.in), make([]int, l.in)
	for e, j := range l.hostTap {
		if j >= 0 {
			count[j]++
			l.longest = max(l.longest, count[j])
			position := 1 + e/l.taps
			l.meets = l.meets || last[j] == position
			last[j] = position
		}
	}
	return nil
}

// poolLists takes over the members of a max pool's windows.
func (l *layer) poolLists(members []int32) error {
	l.hostMembers = members
	if n := len(members); n >= mostNumber {
		return Unfitf("windows of %d members in all have numbers that do not fit devices, which count to 2^24", n)
	}
	count := make([]int, l.in)
	for _, j := range members {
		if j >= 0 {
			count[j]++
			l.longest = max(l.longest, count[j])
		}
	}
	return nil
}

// uploader copies whole numbers to a model's device until something fails.
type uploader struct {
	m   *Model
	err error
}

// numbers copies n numbers to an array that is the model's.
func (u *uploader) numbers(n int, f func(i int) float64) Array {
	if u.err != nil {
		return nil
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = f(i)
	}
	var a Array
	if a, u.err = u.m.uploadOne(v); u.err != nil {
		return nil
	}
	u.m.held = append(u.m.held, a)
	return a
}

func (u *uploader) ints(v []int32) Array {
	return u.numbers(len(v), func(i int) float64 { return float64(v[i]) })
}

// span is the numbers at, at+1, ..., at+n-1.
func (u *uploader) span(at, n int) list {
	return list{u.numbers(n, func(i int) float64 { return float64(at + i) }), n}
}

// sumsOf makes the lists of a GatherSum: entry e goes to place places[e], if that is one of
// from, ..., from+n-1. order has the entries of all places, one after the other.
func (u *uploader) sumsOf(places func(e int) int, entries, from, n int) (s sumList, order []int32) {
	start := make([]int32, n+1)
	for e := range entries {
		if j := places(e) - from; j >= 0 && j < n {
			start[j+1]++
		}
	}
	for j := range n {
		start[j+1] += start[j]
	}
	next := append([]int32(nil), start...)
	order = make([]int32, start[n])
	for e := range entries {
		if j := places(e) - from; j >= 0 && j < n {
			order[next[j]] = int32(e)
			next[j]++
		}
	}
	if len(order) == 0 {
		order = []int32{0} // of no list: an array has an entry
	}
	return sumList{start: u.ints(start), entry: u.ints(order), places: n, entries: len(order)}, order
}

// sources copies the lists of what feeds a layer.
func (u *uploader) sources(l *layer) {
	for i := range l.feed {
		from, to := l.first[i], l.first[i+1]
		l.parts, l.locals = append(l.parts, u.span(from, to-from)), append(l.locals, u.span(0, to-from))
	}
}

// taps copies the lists of what lies under the taps of a linear map.
func (u *uploader) taps(l *layer) {
	under := func(e int) int { return l.inputUnder(e/l.taps, e%l.taps) }
	l.tap = u.numbers(l.positions*l.taps, func(e int) float64 { return float64(under(e)) })
	l.across = u.numbers(l.positions*l.taps, func(e int) float64 { return float64(l.inputUnder(e%l.positions, e/l.positions)) })
	for i := range l.feed {
		s, _ := u.sumsOf(under, l.positions*l.taps, l.first[i], l.first[i+1]-l.first[i])
		l.sums = append(l.sums, s)
	}
	l.atPlaces, _ = u.sumsOf(func(int) int { return 0 }, l.positions, 0, 1)
}

// linear copies the lists of a linear map.
func (u *uploader) linear(l *layer) {
	u.taps(l)
	if l.hostWeight != nil {
		l.weight = u.ints(l.hostWeight)
	}
	if !l.weighted {
		u.fixed(l)
	}
}

// fixed copies the matrix of a map without parameters.
func (u *uploader) fixed(l *layer) {
	p, c := u.m.dev.Precision(), l.hostCoefficient
	lo := func(t int) float64 { return p.RoundLo(c[0][t]) }
	hi := func(t int) float64 { return p.RoundHi(c[1][t]) }
	exact := true
	for t := range l.taps {
		exact = exact && lo(t) == hi(t)
	}
	ends := func(lo, hi func(t int) float64) Interval {
		a := u.numbers(l.taps, lo)
		if exact { // one array says so
			return Interval{a, a}
		}
		return Interval{a, u.numbers(l.taps, hi)}
	}
	l.matrix = ends(lo, hi)
	l.negative = ends(func(t int) float64 { return -hi(t) }, func(t int) float64 { return -lo(t) })
	none := u.numbers(1, func(int) float64 { return 0 })
	l.noBias = Interval{none, none}
}

// stars copies the lists of the members of a max pool.
func (u *uploader) stars(l *layer) {
	l.members = u.ints(l.hostMembers)
	// The rows of unit v come to the star of its window only: the member of the slot that the
	// entry has and that the star has too.
	w := l.window
	n := len(l.hostMembers)
	s, order := u.sumsOf(func(e int) int { return int(l.hostMembers[e]) }, n, 0, l.in)
	s.entry = u.numbers(len(order), func(i int) float64 { return float64(int(order[i]) / w) })
	l.slots = u.numbers(len(order), func(i int) float64 { return float64(int(order[i]) % w) })
	l.sums = []sumList{s}
}

// pool copies the lists of a max pool.
func (u *uploader) pool(l *layer) {
	u.stars(l)
	w, n := l.window, len(l.hostMembers)
	for at := 0; at < n && l.view == nil; at += l.chunk * w {
		size := min(l.chunk*w, n-at)
		l.leads = append(l.leads, run{
			at: at, n: size, local: u.span(0, size).at,
			unit:   u.numbers(size, func(i int) float64 { return float64(l.member(at + i)) }),
			window: u.numbers(size, func(i int) float64 { return float64((at + i) / w) }),
		})
	}
}
