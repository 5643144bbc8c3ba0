package fallback

import (
	"slices"
	"sync"
	"time"

	"psafe/host/bound"
	"psafe/internal/fault"
	"psafe/internal/fpcontrol"
)

// Within is d, with its arrays, for work that has to stop when over returns an error: whatever
// takes long asks it in the middle, from several goroutines, and ends with what it says. Outputs
// are of no use then.
func (d *Device[T]) Within(over func() error) bound.Device {
	within := *d
	within.over = append(slices.Clip(d.over), over)
	return &within
}

// Lane is d, with its arrays, for one of n that work beside each other, each with its share of the cores
// and of the memory.
func (d *Device[T]) Lane(n int) bound.Device {
	lane := *d
	lane.workers, lane.memory = max(1, d.workers/n), d.memory/int64(n)
	return &lane
}

// ended returns why the work has to stop.
func (d *Device[T]) ended() error {
	for _, over := range d.over {
		if err := over(); err != nil {
			return err
		}
	}
	return nil
}

// parallel runs f over [0, n) cut into runs of at least grain, on all cores. The error is that of
// ended. What runs in a thread in which numbers are rounded otherwise is found by Read.
func (d *Device[T]) parallel(n, grain int, f func(from, to int)) error {
	step := max(grain, (n+4*d.workers-1)/(4*d.workers))
	run := func(from, to int) error {
		fpcontrol.Check()
		defer fpcontrol.Check()
		return d.looking(from, to, grain, f)
	}
	if d.workers == 1 || n <= step {
		return run(0, n)
	}
	var wait sync.WaitGroup
	next := make(chan int, (n+step-1)/step)
	for i := 0; i < n; i += step {
		next <- i
	}
	close(next)
	errs := make([]error, d.workers)
	for w := range d.workers {
		fault.Go(&wait, func() {
			for i := range next {
				if errs[w] = run(i, min(i+step, n)); errs[w] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pieceWork is the number of terms of sums that are worth a piece of work of their own.
const pieceWork = 1 << 14

// overRows runs f over the rows of items, rows r to r+n-1 of item p at a time, each of which is a sum of
// so many terms, on all cores: all rows of an item at once, or whole tiles of them where there
// are fewer items than make work for all cores.
func (d *Device[T]) overRows(items, rows, terms int, f func(p, r, n int)) error {
	pieces := max(1, min((4*d.workers+items-1)/items, rows/rowTile, rows*terms/pieceWork))
	return d.parallel(items*pieces, 1, func(from, to int) {
		for i := from; i < to; i++ {
			p, k := i/pieces, i%pieces
			r, end := rows/rowTile*k/pieces*rowTile, rows/rowTile*(k+1)/pieces*rowTile
			if k == pieces-1 {
				end = rows
			}
			f(p, r, end-r)
		}
	})
}

// lookEvery is about how long a worker computes without looking whether to go on.
var lookEvery = 10 * time.Millisecond

// looking runs f over [from, to) in pieces that take about lookEvery, if the work may have to stop.
func (d *Device[T]) looking(from, to, grain int, f func(from, to int)) error {
	if len(d.over) == 0 {
		f(from, to)
		return nil
	}
	for size := max(grain, (to-from)/16); from < to; {
		if err := d.ended(); err != nil {
			return err
		}
		end, start := min(from+size, to), time.Now()
		f(from, end)
		took := max(time.Since(start), 1)
		size = max(grain, int(min(float64(end-from)*float64(lookEvery)/float64(took), float64(to))))
		from = end
	}
	return nil
}
