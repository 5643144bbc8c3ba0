package certify

import (
	"context"

	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Tasks are made and certified in chunks, so that memory does not grow with their number: at most
// chunkTasks, whose boxes take at most about chunkBytes. An engine ends each with a recheck and
// several wait for each other, so chunks are much larger than the groups of an engine.
var (
	chunkTasks = 4096
	chunkBytes = 64 << 20
)

// inChunks certifies n tasks, of which number gives the numbers, and calls emit for the record of
// each, in this order, one call at a time. An error of emit is returned as it is if it is an
// *outfile.Error; others are those of Job.Run.
func (r *ready) inChunks(ctx context.Context, engines []*engine.Engine, n int, number func(i int) int, emit func(*record.Record) error) error {
	for first := 0; first < n; {
		chunk, err := r.chunk(first, n, number)
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

// chunk makes the tasks from the first of n on that are certified together.
func (r *ready) chunk(first, n int, number func(i int) int) ([]property.Task, error) {
	var chunk []property.Task
	bytes := 0
	for i := first; i < n && len(chunk) < chunkTasks; i++ {
		t, err := r.tasks.at(number(i))
		if err == nil {
			err = r.tasks.fits(&t, r.precision())
		}
		if err != nil {
			return nil, err
		}
		for _, boxes := range [][]property.Box{t.T, t.Inner} {
			for _, b := range boxes {
				bytes += 8 * (len(b.Lo) + len(b.Hi))
			}
		}
		if bytes > chunkBytes && len(chunk) > 0 {
			break
		}
		chunk = append(chunk, t)
	}
	return chunk, nil
}
