package certify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/record"
	"psafe/internal/outfile"
)

// compute opens the devices and certifies what is left to do.
func (r *ready) compute(ctx context.Context, old *earlier, found *unproved, tell func(*record.Record)) error {
	w, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	r.tellFirst(w.engines[0].Precision())
	began := time.Now()
	if err := r.goOn(ctx, w.engines, old, tell); err != nil {
		return err
	}
	if err := w.done(); err != nil || found.inputs == 0 {
		return err
	}
	r.Explain(r.diagnose(ctx, w.dev, found, time.Since(began)))
	return nil
}

// works are the engines of a run on its devices.
type works struct {
	dev     *Devices
	engines []*engine.Engine
}

// close gives everything back.
func (w *works) close() {
	for _, e := range w.engines {
		e.Close()
	}
	if w.dev.Close != nil {
		w.dev.Close()
	}
}

// done is for when everything is written.
func (w *works) done() error {
	if w.dev.Done == nil {
		return nil
	}
	return w.dev.Done()
}

// open opens the devices and loads the posterior.
func (r *ready) open(ctx context.Context) (w *works, err error) {
	if r.Opening != nil {
		r.Opening(r.post.Network().Chain())
	}
	dev, err := r.Open(r.precision())
	if err != nil {
		return nil, err
	}
	opened := &works{dev: dev}
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	for _, d := range dev.List {
		if d.Precision() != r.precision() {
			panic(fmt.Sprintf("certify: Open gives a device of %v, asked was %v", d.Precision(), r.precision()))
		}
	}
	// Loading ends with ctx; then prove.Run sees to it, and to what is asked of devices after that.
	loading := ctx
	over := func() error { return loading.Err() }
	recheck := engine.Recheck{Share: r.recheck(), Seed: r.cfg.Seed, Tell: r.tellDropped()}
	list := dev.List
	if dev.Beside != nil {
		list = append(slices.Clone(list), dev.Beside)
	}
	for i, d := range list {
		spare, beside := dev.Spare, i == len(dev.List)
		if beside {
			spare = nil
		}
		// All tasks count for reach, also those that are done: it decides numbers.
		eng, err := engine.NewOfDepth(bound.UntilOver(over, d), spare, r.post, r.reach(), or(r.Method.Depth, 0))
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ended(ctx)
		case err != nil:
			return nil, dev.blame(err, r.Posterior.Path)
		}
		eng.Recheck(recheck)
		eng.Model.Watch(r.Pass)
		eng.Drawn, eng.Beside = r.Drawn, beside
		opened.engines = append(opened.engines, eng)
	}
	loading = context.WithoutCancel(ctx)
	return opened, nil
}

// tellFirst tells what is to be known of the files and the method before anything is proved.
func (r *ready) tellFirst(p bound.Precision) {
	for _, n := range r.notes() {
		r.tell(n)
	}
	r.noteCeiling(p)
}

// notes returns what is to be known of the files.
func (r *ready) notes() []Note {
	return slices.Concat(told(r.read), Doubts(r.read), r.tasks.notes)
}

// blame is the error of loading a posterior: the file's fault where its numbers do not fit, and
// else the device's, as all of it that is not the file is the device's work.
func (d *Devices) blame(err error, file string) error {
	if isUnfit(err) {
		return fmt.Errorf("%s: %w", file, err)
	}
	if d.Blame != nil {
		err = d.Blame(err, file)
	}
	return &DeviceError{err}
}

// isUnfit reports whether numbers of a file do not fit, which no device could mend.
func isUnfit(err error) bool {
	_, unfit := errors.AsType[*bound.Unfit](err)
	return unfit
}

// goOn certifies what is left and writes it behind what there is. Nothing is left to
// refuse when it creates the file.
func (r *ready) goOn(ctx context.Context, engines []*engine.Engine, old *earlier, tell func(*record.Record)) error {
	if r.Out.Path == "" {
		w := r.Stdout
		if w == nil {
			w = io.Discard
		}
		return r.certify(ctx, engines, 0, w, tell)
	}
	out, err := r.Out.openPartial(old)
	if err != nil {
		return err
	}
	err = r.certify(ctx, engines, old.done, out, tell)
	if err == nil {
		err = out.commit()
	}
	if err != nil {
		return out.leave(err, r.tasks.n)
	}
	return nil
}

// certify writes a record for each of the tasks from number from on.
func (r *ready) certify(ctx context.Context, engines []*engine.Engine, from int, w io.Writer, tell func(*record.Record)) error {
	n := r.tasks.n - from
	if r.Progress != nil {
		r.Progress(0, n)
	}
	return r.inChunks(ctx, engines, n, func(i int) int { return from + i }, func(rec *record.Record) error {
		if err := r.write(rec, w); err != nil {
			return err
		}
		tell(rec)
		return nil
	})
}

// record returns what is written of a result, but for its task.
func (r *ready) record(res *claim.Result) (*record.Record, error) {
	rec := r.known(res.Task)
	rec.Fill(res, r.require())
	if rec.PeakBytes = peakBytes(); r.Out.OmitTiming {
		rec.Seconds, rec.PeakBytes = nil, nil
	}
	return rec, lastDoor(rec)
}

// blamed is an error of prove.Run, as Run returns it.
func (r *ready) blamed(ctx context.Context, err error, engines []*engine.Engine) error {
	_, unwritten := errors.AsType[*outfile.Error](err)
	_, refused := errors.AsType[*Contradiction](err)
	found, contradicts := errors.AsType[*claim.Contradiction](err)
	switch {
	case err == nil || unwritten || refused:
		return err
	case contradicts:
		return &Contradiction{found}
	case ctx.Err() != nil:
		return ended(ctx)
	case isUnfit(err): // of the posterior: tasks have been looked at when they were read
		return fmt.Errorf("%s: %w", r.Posterior.Path, err)
	}
	return &DeviceError{fmt.Errorf("device %s: %w", engines[0].Name(), err)}
}

// lastDoor refuses a record that says something false, whatever let it come so far.
func lastDoor(r *record.Record) error {
	if float64(r.PLower) <= float64(r.PUpper) {
		return nil
	}
	return &Contradiction{fmt.Errorf("index %d: p_lower %v is above p_upper %v", r.Index, r.PLower, r.PUpper)}
}

// tellDropped tells of devices that are dropped, one call at a time.
func (r *ready) tellDropped() func(*engine.Dropped) {
	var mu sync.Mutex
	return func(d *engine.Dropped) {
		mu.Lock()
		defer mu.Unlock()
		r.tell(&Dropped{d})
	}
}

// write writes a record; its error is an *outfile.Error.
func (r *ready) write(rec *record.Record, w io.Writer) error {
	err := rec.Write(w)
	if err == nil {
		return nil
	}
	if r.Out.Path == "" {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	return &outfile.Error{Path: r.Out.Path, Err: err}
}
