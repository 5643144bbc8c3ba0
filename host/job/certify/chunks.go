package certify

import (
	"context"
	"runtime"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/fault"
)

// Tasks are made and certified in chunks, so that memory does not grow with their number: at most
// chunkTasks, whose boxes take at most about chunkBytes. An engine ends each with a recheck and
// several wait for each other, so chunks are much larger than the groups of an engine; on devices that
// like large ones (bound.Wide) they are wideChunks times as large.
var (
	chunkTasks = 4096
	chunkBytes = 64 << 20
)

const wideChunks = 4

// inChunks certifies n tasks, of which number gives the numbers, and calls emit for the record of
// each, in this order, one call at a time. An error of emit is returned as it is if it is an
// *outfile.Error; others are those of Job.Run.
func (r *ready) inChunks(ctx context.Context, engines []*engine.Engine, n int, number func(i int) int, emit func(*record.Record) error) error {
	if r.tasks.search != nil {
		return r.inRadii(ctx, engines, n, number, emit)
	}
	times := 1
	if slices.ContainsFunc(engines, func(e *engine.Engine) bool { return bound.Wide(e.Device) }) {
		times = wideChunks
	}
	for first := 0; first < n; {
		chunk, err := r.chunk(first, n, times, number)
		if err != nil {
			return err
		}
		progress := func(done int) {
			if r.Progress != nil {
				r.Progress(first+done, n)
			}
		}
		emitted := first
		err = prove.Run(ctx, engines, r.cfg, chunk, progress, func(res *claim.Result) error {
			rec, err := r.record(res)
			if err != nil {
				return err
			}
			rec.Task = number(emitted)
			emitted++
			return emit(rec)
		})
		if err != nil {
			return r.blamed(ctx, err, engines)
		}
		first += len(chunk)
	}
	return nil
}

// chunk makes the tasks from the first of n on that are certified together, in chunks so many times as large
// as others.
func (r *ready) chunk(first, n, times int, number func(i int) int) ([]property.Task, error) {
	var chunk []property.Task
	bytes := 0
	err := inOrder(context.Background(), min(n-first, times*chunkTasks), r.atATime(), func(i int) (t property.Task, err error) {
		k := number(first + i)
		if k < len(r.made) && r.made[k].T != nil { // and fits
			t, r.made[k] = r.made[k], property.Task{}
			return t, nil
		}
		t, err = r.tasks.at(k)
		if err == nil {
			err = r.tasks.fits(&t, r.precision())
		}
		return t, err
	}, func(t property.Task) (more bool, err error) {
		if bytes += taskBytes(&t); bytes > times*chunkBytes && len(chunk) > 0 {
			return false, nil
		}
		chunk = append(chunk, t)
		return true, nil
	})
	return chunk, err
}

// taskBytes is about how much memory a task takes.
func taskBytes(t *property.Task) (bytes int) {
	for _, boxes := range [][]property.Box{t.T, t.Inner} {
		for _, b := range boxes {
			bytes += 8 * (len(b.Lo) + len(b.Hi))
		}
	}
	return bytes
}

// atATime is the number of tasks made at a time: a few for each core, and fewer where inputs are many.
func (r *ready) atATime() int {
	const ends, most = 4, 256 // of T and of what is inside
	return max(runtime.GOMAXPROCS(0), min(most, chunkBytes/2/(8*ends*max(1, r.post.Inputs()))))
}

// inOrder makes n things, numbers 0 to n-1, on all cores, so many at a time, and has each taken in their
// order, until one is not to be followed by more. The first error in this order is returned.
func inOrder[T any](ctx context.Context, n, atATime int, one func(i int) (T, error), take func(T) (more bool, err error)) error {
	things, errs := make([]T, min(n, atATime)), make([]error, min(n, atATime))
	for first := 0; first < n; first += atATime {
		part := min(atATime, n-first)
		if err := fault.OnCores(ctx, part, func(i int) { things[i], errs[i] = one(first + i) }); err != nil {
			return ended(ctx)
		}
		for i, t := range things[:part] {
			if errs[i] != nil {
				return errs[i]
			}
			if more, err := take(t); err != nil || !more {
				return err
			}
		}
	}
	return nil
}
