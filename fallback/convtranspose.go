package fallback

import (
	"slices"

	"psafe/host/bound"
)

// ConvTranspose is defined in bound.ConvTranspose.
func (d *Device[T]) ConvTranspose(a bound.ConvTranspose) error {
	t := convTranspose[T]{a: a, d: d, convLists: d.convLists(a)}
	t.out, t.rows = d.data(a.Out), d.data(a.A)
	t.wLo, t.wHi = d.interval(a.W)
	t.needed = d.data(a.Needed)
	t.tiles = (a.R + rowTile - 1) / rowTile
	n := a.P * t.tiles * a.Positions
	t.used, t.counts = make([]int32, n*a.Channels), make([]int32, n)
	err := d.parallel(n, 1+pieceWork/(a.Channels*rowTile), func(from, to int) {
		for i := from; i < to; i++ {
			t.findUsed(i)
		}
	})
	if err != nil {
		return err
	}
	runs := (a.J + placeTile - 1) / placeTile
	return d.parallel(a.P*t.tiles*runs, 1, func(from, to int) {
		for i := from; i < to; i++ {
			j := i % runs * placeTile
			t.places(i/runs, j, min(j+placeTile, a.J))
		}
	})
}

// placeTile is the number of places in one piece of work.
const placeTile = 64

type convTranspose[T bound.Real] struct {
	a                   bound.ConvTranspose
	d                   *Device[T]
	out, rows, wLo, wHi []T
	needed              []T // nil: all are
	*convLists
	tiles        int
	used, counts []int32 // by item, tile of rows and position: the channels that are not 0 in all rows
}

// convLists are the lists of a ConvTranspose, for so many places, entries and positions of taps.
type convLists struct {
	of       [4]int
	lists    sumLists
	position []int32 // of each entry
	// kind is the same for places beside each other that are under taps of the same positions.
	kind []int32
}

// convLists returns the lists of an operation, which a model asks for again and again: they are kept with
// Entry, until somebody asks for its numbers or those of Start.
func (d *Device[T]) convLists(a bound.ConvTranspose) *convLists {
	entry, start, of := a.Entry.(*array[T]), a.Start.(*array[T]), [4]int{a.J, a.E, a.Positions, a.K}
	if l := entry.lists.Load(); l != nil && start.lists.Load() == l && l.of == of {
		return l
	}
	l := &convLists{of: of, lists: d.sumLists(a.Start, a.Entry, a.J, a.E, a.Positions*a.K, "ConvTranspose")}
	l.position, l.kind = make([]int32, len(l.lists.entry)), make([]int32, a.J)
	for e, at := range l.lists.entry {
		l.position[e] = at / int32(a.K)
	}
	for j := 1; j < a.J; j++ {
		if l.kind[j] = l.kind[j-1]; !slices.Equal(l.positionsOf(j-1), l.positionsOf(j)) {
			l.kind[j]++
		}
	}
	start.lists.Store(l)
	entry.lists.Store(l)
	return l
}

// findUsed lists the channels of position i of all items and tiles.
func (t *convTranspose[T]) findUsed(i int) {
	q, tile, p := i%t.a.Positions, i/t.a.Positions%t.tiles, i/t.a.Positions/t.tiles
	r := tile * rowTile
	n, at := min(rowTile, t.a.R-r), (p*t.a.Positions+q)*t.a.Channels*t.a.R+r
	used, channels := t.used[i*t.a.Channels:], t.a.Channels
	for o := range channels {
		row := t.rows[at+o*t.a.R:][:n]
		some, known := anyLanes(t.d.vectors, row)
		if !known {
			some = slices.ContainsFunc(row, func(a T) bool { return a != 0 })
		}
		if some {
			used[t.counts[i]] = int32(o)
			t.counts[i]++
		}
	}
}

// usedAt are the channels used of position q in a tile of an item.
func (t *convTranspose[T]) usedAt(item, q int) []int32 {
	i := item*t.a.Positions + q
	return t.used[i*t.a.Channels:][:t.counts[i]]
}

// places computes places j to end-1 of a tile of rows, number item of all items and tiles.
func (t *convTranspose[T]) places(item, j, end int) {
	p, r := item/t.tiles, item%t.tiles*rowTile
	n := min(rowTile, t.a.R-r)
	for j < end {
		var list [mostAlike]int
		some, next := t.alike(p, j, end, &list)
		if some > 0 && !convTransposeLanes(t, item, list[:some], r, n) {
			for _, i := range list[:some] {
				t.put(p, i, r, t.sums(item, i, r, n), n)
			}
		}
		for i := j; i < next && t.needed != nil && !t.a.Add; i++ {
			if t.needed[p*t.a.J+i] == 0 {
				clear(t.out[(p*t.a.J+i)*t.a.R+r:][:n])
			}
		}
		j = next
	}
}

// mostAlike is the greatest number of places whose coefficients are read once.
const mostAlike = 4

// alike lists the needed ones of the places of an item from j to next-1: they are under taps of the same
// positions.
func (t *convTranspose[T]) alike(p, j, end int, list *[mostAlike]int) (n, next int) {
	for ; j < end && n < mostAlike; j++ {
		switch {
		case t.needed != nil && t.needed[p*t.a.J+j] == 0:
			continue
		case n > 0 && t.kind[j] != t.kind[list[0]]:
			return n, j
		}
		list[n] = j
		n++
	}
	return n, j
}

// positionsOf are the positions of the list of place j.
func (l *convLists) positionsOf(j int) []int32 {
	return l.position[l.lists.start[j]:l.lists.start[j+1]]
}

// sums are those of place j in rows r, ..., r+n-1.
func (t *convTranspose[T]) sums(item, j, r, n int) (total [rowTile]T) {
	list := t.lists.of(j)
	for e0 := 0; e0 < len(list); e0 += bound.Block {
		var block [rowTile]T
		for _, at := range list[e0:min(e0+bound.Block, len(list))] {
			add(block[:n], t.tap(item, int(at)/t.a.K, int(at)%t.a.K, r, n))
		}
		add(total[:n], block[:n])
	}
	return total
}

// tap is S of tap k at position q.
func (t *convTranspose[T]) tap(item, q, k, r, n int) []T {
	var total [rowTile]T
	p, used := item/t.tiles, t.usedAt(item, q)
	w := (p/t.a.PerBox*t.a.K + k) * t.a.Channels
	for u := 0; u < len(used); {
		var block [rowTile]T
		for end := (used[u]/bound.Block + 1) * bound.Block; u < len(used) && used[u] < end; u++ {
			o := int(used[u])
			lo, hi := t.wLo[w+o], t.wHi[w+o]
			for i, a := range t.rows[((p*t.a.Positions+q)*t.a.Channels+o)*t.a.R+r:][:n] {
				if a >= 0 {
					block[i] += T(a * lo)
				} else {
					block[i] += T(a * hi)
				}
			}
		}
		add(total[:n], block[:n])
	}
	return total[:n]
}

// put writes sums of place j, or adds them to what there is.
func (t *convTranspose[T]) put(p, j, r int, sums [rowTile]T, n int) {
	out := t.out[(p*t.a.J+j)*t.a.R+r:][:n]
	if t.a.Add {
		add(out, sums[:n])
	} else {
		copy(out, sums[:n])
	}
}
