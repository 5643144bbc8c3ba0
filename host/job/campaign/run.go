package campaign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/record"
	"psafe/internal/outfile"
)

// Prepared is a job whose files have been read: a *certify.Prepared.
type Prepared interface {
	Len() int
	Known(k int) (*record.Record, error)
	Files() ([]certify.InputFile, error)
	Certify(ctx context.Context, tasks []int, emit func(k int, rec *record.Record) error) error
	Close()
}

// Run certifies what is missing of a shard.
type Run struct {
	*Folder
	Shard Shard
	// Prepare reads the files of a job, which is given by its flags, and whose paths start from
	// Folder.BaseDir. progress is for its Job.Progress.
	Prepare func(args []string, progress func(done, total int)) (Prepared, error)
	// Status is the exit status that an error means.
	Status func(error) int
	// Limit, if it is not 0, is how long Certify may take; then it ends with a *certify.OutOfTime.
	Limit time.Duration
	// Progress, if set, is told how many of the tasks are done that were missing, one call at a
	// time.
	Progress func(done, total int)
}

// Found holds what a shard has: of its tasks, Done have a record.
type Found struct {
	Span
	Done    int
	missing Bits // from First on
}

// Check refuses a campaign that was planned for other numbers.
func (r *Run) Check() error {
	if r.Numerics == prove.Numerics {
		return nil
	}
	return fmt.Errorf("%s: was planned by psafe %s, whose bounds are of numerics %d, those of this psafe of %d: run it with that psafe, or plan the campaign again, into another folder",
		r.Dir, r.Version, r.Numerics, prove.Numerics)
}

// Look looks for the records of the shard. Nothing is changed.
func (r *Run) Look(ctx context.Context) (*Found, error) {
	span := r.Shard.Span(r.Tasks)
	found := &Found{Span: span, missing: newBits(span.Len())}
	err := r.eachTask(span, ctx.Err, func(t *Task, records []*cursor) error {
		if len(records) == 0 {
			found.missing.set(t.Task - span.First)
		} else {
			found.Done++
		}
		return nil
	})
	return found, err
}

// errLimit is the cause of a context that ends with Run.Limit.
var errLimit = errors.New("the time limit of the run is up")

// Certify certifies what Look has not found. Where it fails, what is finished stays for the next
// attempt, and a file beside it says why. Errors are those of certify.Prepared, and of one line
// about a file.
func (r *Run) Certify(ctx context.Context, found *Found) error {
	if found.Done == found.Len() {
		return nil
	}
	if r.Limit > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, r.Limit, errLimit)
		defer end()
	}
	a, err := beginAttempt(r.Dir, r.Shard, found.Span, found.Len()-found.Done, r.Status)
	if err != nil {
		return err
	}
	w := &work{Run: r, Found: found, attempt: a}
	w.tell(0)
	if err = w.certify(ctx); err == nil {
		err = a.complete()
	}
	if err != nil {
		err = r.ended(ctx, err, fmt.Sprintf(": %d of %d tasks of shard %v are done: run it again to go on from there", found.Done+w.done, found.Len(), r.Shard))
		a.leave(err, r.Status(err))
	}
	return err
}

// Fail leaves word that a process which was to do the shard failed before Certify, or without
// its leave.
func (r *Run) Fail(err error) {
	if span := r.Shard.Span(r.Tasks); span.Len() > 0 {
		a := &attempt{shard: r.Shard, path: attemptPath(r.Dir, span)}
		a.writeFailed(&Failed{Status: r.Status(err), Error: err.Error()})
	}
}

// Faulted reports whether a fault of psafe has ended an attempt at tasks of the shard: another one
// is not worth a third. What cannot be read, Look complains of.
func (r *Run) Faulted() bool {
	files, _ := r.attempts()
	span := r.Shard.Span(r.Tasks)
	return slices.ContainsFunc(files, func(a attemptFile) bool {
		if a.kind != "failed" || !a.span.overlaps(span) {
			return false
		}
		var failed Failed
		r.word(a, &failed)
		return failed.Status == statusFault || failed.Status == statusFaultAgain
	})
}

// ended is err, in words for whoever stopped the shard; kept says what is finished.
func (r *Run) ended(ctx context.Context, err error, kept string) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w%s", err, kept)
	case context.Cause(ctx) == errLimit:
		return &certify.OutOfTime{Words: kept}
	}
	return &certify.Interrupted{Words: kept}
}

// work is a shard that is being certified.
type work struct {
	*Run
	*Found
	attempt *attempt
	// done counts records that are written.
	done int
}

func (w *work) tell(done int) {
	if w.Progress != nil {
		w.Progress(done, w.Len()-w.Done)
	}
}

// certify certifies the missing tasks of one job after the other.
func (w *work) certify(ctx context.Context) error {
	for i := w.JobOf(w.First); i < len(w.Jobs) && w.Jobs[i].First < w.End; i++ {
		job := &w.Jobs[i]
		var tasks []int
		for n := max(w.First, job.First); n < min(w.End, job.First+job.Tasks); n++ {
			if w.missing.has(n - w.First) {
				tasks = append(tasks, n-job.First)
			}
		}
		if len(tasks) == 0 {
			continue
		}
		if err := w.certifyJob(ctx, job, tasks); err != nil {
			return err
		}
	}
	return nil
}

// certifyJob certifies tasks of a job, which are counted from its first.
func (w *work) certifyJob(ctx context.Context, job *Call, tasks []int) error {
	before := w.done
	p, err := w.Prepare(job.Args, func(done, _ int) { w.tell(before + done) })
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (paths of the campaign start from %s: put the file there, or plan the campaign again)", err, w.BaseDir())
	}
	if err != nil {
		return err
	}
	defer p.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.same(job, p); err != nil {
		return err
	}
	if err := w.identical(ctx, job, p, tasks); err != nil {
		return err
	}
	return p.Certify(ctx, tasks, func(k int, rec *record.Record) error {
		rec.Task, rec.Tasks, rec.Run = job.First+k, w.Tasks, w.Campaign
		line, err := rec.Line()
		if err == nil {
			_, err = w.attempt.file.Write(line)
		}
		if err != nil {
			return &outfile.Error{Path: w.attempt.path + recordsSuffix, Err: err}
		}
		w.done++
		return nil
	})
}

// same compares the files of a job with those that were planned.
func (w *work) same(job *Call, p Prepared) error {
	files, err := p.Files()
	if err != nil {
		return err
	}
	var is []File
	for _, f := range files {
		is = append(is, File{Path: f.Path, Field: f.Field, SHA256: f.SHA256})
		if at := slices.IndexFunc(job.Files, func(p File) bool { return p.Field == f.Field && p.Path == f.Path }); at >= 0 && job.Files[at].SHA256 != f.SHA256 {
			return fmt.Errorf("%s: has changed since the campaign was planned (%s was %.12s..., is %.12s...): put the file back, or plan the campaign again, into another folder",
				f.Path, f.Field, job.Files[at].SHA256, f.SHA256)
		}
	}
	if !slices.Equal(is, job.Files) || p.Len() != job.Tasks {
		return fmt.Errorf("%s: its files say %d tasks of %d files for the job of tasks %d to %d, the manifest %d of %d: plan the campaign again, into another folder",
			w.Dir, p.Len(), len(is), job.First, job.First+job.Tasks-1, job.Tasks, len(job.Files))
	}
	return nil
}

// identical compares what tasks of a job ask with what was planned.
func (w *work) identical(ctx context.Context, job *Call, p Prepared, tasks []int) error {
	planned, err := w.TasksFrom(job.First + tasks[0])
	if err != nil {
		return err
	}
	defer planned.Close()
	for _, k := range tasks {
		if k%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var t *Task
		for t == nil || t.Task < job.First+k {
			if t, err = planned.Next(); err != nil {
				return err
			}
		}
		rec, err := p.Known(k)
		if err != nil {
			return err
		}
		if rec.ID != t.ID {
			return fmt.Errorf("%s: task %d (index %d, %s) asks something else than was planned: its id is %s, in the manifest %s: a file that has no digest, or psafe itself, has changed: plan the campaign again, into another folder",
				w.Dir, t.Task, rec.Index, rec.Property, rec.ID, t.ID)
		}
	}
	return nil
}

// Bits is a set of small numbers.
type Bits []uint64

func newBits(n int) Bits { return make(Bits, (n+63)/64) }

func (b Bits) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b Bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
