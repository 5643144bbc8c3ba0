package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/report"
	"psafe/internal/outfile"
)

// compute opens the devices and certifies what is left to do.
func (r *ready) compute(ctx context.Context, old *earlier) ([]*report.Record, error) {
	dev, err := r.Open(r.precision())
	if err != nil {
		return nil, err
	}
	for _, d := range dev.List {
		if d.Precision() != r.precision() {
			panic(fmt.Sprintf("run: Open gives a device of %v, asked was %v", d.Precision(), r.precision()))
		}
	}
	if dev.Close != nil {
		defer dev.Close()
	}
	spare := dev.Spare
	if spare != nil {
		spare = func() bound.Device { return bound.Until(ctx, dev.Spare()) }
	}
	if err := r.tasks.fits(r.precision()); err != nil {
		return nil, err
	}
	recheck := certify.Recheck{Share: r.recheck(), Seed: r.cfg.Seed, Tell: r.tellDropped()}
	var engines []*certify.Engine
	for _, d := range dev.List {
		// All tasks count for reach, also those that are done: it decides numbers.
		eng, err := certify.NewEngine(bound.Until(ctx, d), spare, r.post, r.reach())
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ended(ctx)
		case err != nil:
			return nil, dev.blame(err, r.Posterior.Path)
		}
		defer eng.Close()
		eng.Recheck(recheck)
		engines = append(engines, eng)
	}
	for _, n := range slices.Concat(told(r.post), Doubts(r.post), r.tasks.notes) {
		r.tell(n)
	}
	r.noteCeiling(engines[0].Precision())
	records, err := r.goOn(ctx, engines, old)
	if err == nil && dev.Done != nil {
		err = dev.Done()
	}
	return records, err
}

// blame decides whether loading a posterior failed for the device's sake or for the
// file's.
func (d *Devices) blame(err error, file string) error {
	if d.Blame != nil {
		if fault := d.Blame(err, file); fault != nil {
			return &DeviceError{fault}
		}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// goOn certifies what is left and writes it behind what there is. Nothing is left to
// refuse when it creates the file.
func (r *ready) goOn(ctx context.Context, engines []*certify.Engine, old *earlier) ([]*report.Record, error) {
	all := r.tasks.tasks
	if r.Out.Path == "" {
		w := r.Stdout
		if w == nil {
			w = io.Discard
		}
		return r.certify(ctx, engines, 0, w)
	}
	out, err := openPartial(r.Out.Path, old)
	if err != nil {
		return nil, err
	}
	records, err := r.certify(ctx, engines, len(old.records), out)
	if err == nil {
		err = out.commit()
	}
	if err != nil {
		return nil, out.leave(err, len(all))
	}
	return append(old.records, records...), nil
}

// certify writes a record for each of the tasks from number from on.
func (r *ready) certify(ctx context.Context, engines []*certify.Engine, from int, w io.Writer) ([]*report.Record, error) {
	tasks := r.tasks.tasks[from:]
	progress := func(done int) {
		if r.Progress != nil {
			r.Progress(done, len(tasks))
		}
	}
	progress(0)
	var records []*report.Record
	err := certify.Run(ctx, engines, r.cfg, tasks, progress, func(res *certify.Result) error {
		rec := r.known(res.Task)
		rec.Task = from + len(records)
		rec.Fill(res, r.require())
		if err := lastDoor(rec); err != nil {
			return err
		}
		if rec.PeakBytes = peakBytes(); r.Out.OmitTiming {
			rec.Seconds, rec.PeakBytes = nil, nil
		}
		records = append(records, rec)
		return r.write(rec, w)
	})
	_, unwritten := errors.AsType[*outfile.Error](err)
	_, refused := errors.AsType[*Contradiction](err)
	found, contradicts := errors.AsType[*certify.Contradiction](err)
	switch {
	case err == nil || unwritten || refused:
	case contradicts:
		err = &Contradiction{found}
	case ctx.Err() != nil:
		err = ended(ctx)
	default:
		err = &DeviceError{fmt.Errorf("device %s: %w", engines[0].Name(), err)}
	}
	return records, err
}

// lastDoor refuses a record that says something false, whatever let it come so far.
func lastDoor(r *report.Record) error {
	if float64(r.PLower) <= float64(r.PUpper) {
		return nil
	}
	return &Contradiction{fmt.Errorf("index %d: p_lower %v is above p_upper %v", r.Index, r.PLower, r.PUpper)}
}

// tellDropped tells of devices that are dropped, one call at a time.
func (r *ready) tellDropped() func(*certify.Dropped) {
	var mu sync.Mutex
	return func(d *certify.Dropped) {
		mu.Lock()
		defer mu.Unlock()
		r.tell(&Dropped{d})
	}
}

// write writes a record; its error is an *outfile.Error.
func (r *ready) write(rec *report.Record, w io.Writer) error {
	err := rec.Write(w)
	if err == nil {
		return nil
	}
	if r.Out.Path == "" {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	return &outfile.Error{Path: r.Out.Path, Err: err}
}
