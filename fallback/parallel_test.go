package fallback

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"psafe/host/bound"
)

// TestOperationsLook: an operation that takes long looks whether to go on at each of its pieces,
// has the same bits as one that does not look, and ends with what it is told.
func TestOperationsLook(t *testing.T) {
	defer func(d time.Duration) { lookEvery = d }(lookEvery)
	lookEvery = 0
	const n, rows = 8, 40 * rowTile
	stop := errors.New("enough")
	var looks, most atomic.Int64
	d := New(bound.Float64).(*Device[float64])
	within := d.Within(func() error {
		if looks.Add(1) > most.Load() {
			return stop
		}
		return nil
	})
	fill := func(size int) bound.Array {
		a, err := d.NewArray(size)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.(*array[float64]).v {
			a.(*array[float64]).v[i] = float64(i%7 - 3)
		}
		return a
	}
	substitute := func(on bound.Device) ([]float64, error) {
		w, b := fill(n*n), fill(n)
		a := bound.BackSubstitute{P: 1, PerBox: 1, In: n, Out: n, R: rows, S: bound.Interval{Lo: fill(n * rows)}, C: fill(rows), A: fill(n * rows), CIn: fill(rows),
			W: bound.Interval{Lo: w, Hi: w}, B: bound.Interval{Lo: b, Hi: b}}
		err := on.Do(a)
		return a.S.Lo.(*array[float64]).v, err
	}
	want, err := substitute(d)
	if err != nil || looks.Load() != 0 {
		t.Fatalf("%v after %d looks", err, looks.Load())
	}
	most.Store(1 << 40)
	got, err := substitute(within)
	if err != nil || looks.Load() < rows/rowTile || !slices.Equal(got, want) {
		t.Errorf("%v after %d looks, the same: %v", err, looks.Load(), slices.Equal(got, want))
	}
	for _, k := range []int64{0, 1, 9} {
		looks.Store(0)
		most.Store(k)
		if _, err := substitute(within); err != stop || looks.Load() > k+int64(d.workers) {
			t.Errorf("after %d looks: %v and %d more", k, err, looks.Load()-k)
		}
	}
}

// TestOverRows: every row of every item is done, once, and several cores have work if there is
// enough for them.
func TestOverRows(t *testing.T) {
	d := New(bound.Float32).(*Device[float32])
	for _, workers := range []int{1, 2, 16} {
		d.workers = workers
		for _, items := range []int{1, 3, 100} {
			for _, rows := range []int{1, rowTile - 1, rowTile, 2*rowTile + 1, 9*rowTile + 7} {
				for _, terms := range []int{1, pieceWork} {
					done := make([]atomic.Int32, items*rows)
					var pieces atomic.Int32
					err := d.overRows(items, rows, terms, func(p, r, n int) {
						pieces.Add(1)
						for i := range n {
							done[p*rows+r+i].Add(1)
						}
					})
					if err != nil {
						t.Fatal(err)
					}
					for i := range done {
						if done[i].Load() != 1 {
							t.Fatalf("%d workers, %d items of %d rows: row %d is done %d times", workers, items, rows, i, done[i].Load())
						}
					}
					if n := int(pieces.Load()); items == 1 && (n == 1) != (rows < 2*rowTile || terms == 1) {
						t.Errorf("%d workers, %d rows of %d terms: %d pieces", workers, rows, terms, n)
					}
				}
			}
		}
	}
}

// TestLane: a lane has its share of cores and memory, at least one core, and the arrays of all.
func TestLane(t *testing.T) {
	d := New(bound.Float32).(*Device[float32])
	d.workers = 8
	for n, cores := range map[int]int{1: 8, 3: 2, 9: 1} {
		lane := bound.Lane(bound.Until(t.Context(), d), n)
		if lane.MemoryLimit() != d.memory/int64(n) {
			t.Errorf("one of %d lanes has %d bytes of %d", n, lane.MemoryLimit(), d.memory)
		}
		if l := d.Lane(n).(*Device[float32]); l.workers != cores {
			t.Errorf("one of %d lanes has %d of 8 cores", n, l.workers)
		}
		a, err := d.NewArray(1)
		got := make([]float64, 1)
		if err := errors.Join(err, d.Write(a, []float64{float64(n)}), lane.Read(got, a)); err != nil || got[0] != float64(n) {
			t.Errorf("one of %d lanes reads %v, %v", n, got[0], err)
		}
	}
}
