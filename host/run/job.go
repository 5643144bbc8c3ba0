// Package run is where everything meets that certifying takes: a Job says of which
// posterior, on which inputs, by which method, on which devices and to which file, and Run
// does it, one result record for each input. It proves nothing itself: certify does, and
// report writes what was proved. What is here is what lies around it: what goes together
// and what does not, records that survive whatever ends the program, notes and errors.
//
// Package main of psafe makes a Job of flags, and paper makes hundreds. Errors name the
// settings by their flags, as in "--eps is missing".
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/posterior/format"
	"psafe/host/property"
	"psafe/host/report"
	"psafe/internal/outfile"
)

// Job is what psafe certify does. Pointers are settings that need not be given: nil
// leaves them to psafe, and records list those that decide numbers exactly if they are
// given. Decimal numbers are texts, since what they say is exact.
type Job struct {
	Posterior Posterior
	Tasks     Tasks
	Method    Method
	// Precision is that of the bounds on the device, float32 if it is not given.
	Precision *bound.Precision
	// Require is the probability that decides a verdict, a decimal: safe needs p_lower, as
	// it is written, at least this, unsafe p_upper less. DefaultRequire if it is empty. If it is
	// given, Auto tries no more for an input of which the verdict is known.
	Require string
	Out     Output
	// Recheck is the share of the time that goes into comparing answers of a device with those
	// of the spare one (certify.Recheck), DefaultRecheck if it is not given. It decides no
	// number.
	Recheck *float64

	// TimeLimit, if it is given, is how long an input may take: what was proved until then is
	// its record, which says so. Numbers depend on it.
	TimeLimit *time.Duration
	// TotalTimeLimit, if it is given, is how long Run may take; then it ends with an *OutOfTime.
	TotalTimeLimit *time.Duration

	// Version names the program in records.
	Version string
	// Open gives the devices. It is called once, and only if there is work for them.
	Open Opener
	// Stdout gets the records where Out.Path is empty; nil if they are only returned.
	Stdout io.Writer
	// Progress, if set, is told how many of the records that this run has to make are
	// done, one call at a time; Note, if set, what a user should know beside them.
	Progress func(done, total int)
	Note     func(Note)
}

// DefaultRequire is the probability that a verdict asks for if nobody says otherwise.
const DefaultRequire = "0.9"

// DefaultRecheck is the share of the time for rechecks if nobody says otherwise.
const DefaultRecheck = 0.005

// Posterior names a posterior and says how it is read.
type Posterior struct {
	// Path is a file or a folder, in any of the formats of package posterior.
	Path string
	// Options are what the file does not say.
	Options format.Options
	// Factor is a decimal that every standard deviation is multiplied by, empty for 1.
	Factor string
}

// Read reads the posterior.
func (p *Posterior) Read() (*posterior.Posterior, error) {
	post, err := format.Read(p.Path, p.Options)
	if err != nil {
		return nil, foreignFolder(p.Path, foreignFile(p.Path, err))
	}
	if p.Factor == "" {
		return post, nil
	}
	factor, err := property.NewDecimal(p.Factor)
	if err == nil {
		err = post.Widen(factor.Lo, factor.Hi)
	}
	if err != nil {
		return nil, fmt.Errorf("--scale-factor %.40s: %w", p.Factor, err)
	}
	return post, nil
}

// scaleWords says what the posterior's spread is, for records.
func (p *Posterior) scaleWords(post *posterior.Posterior) string {
	if p.Factor == "" {
		return post.ScaleList()
	}
	return post.ScaleList() + " x " + p.Factor
}

// Output says where the records go.
type Output struct {
	// Path is the result file; empty for Job.Stdout. A name that ends in .csv or .parquet is
	// that of a table beside the records.
	Path string
	// Resume goes on with the records that an earlier run left in Path.partial.
	Resume bool
	// OmitTiming leaves out times and memory, so that two runs give the same bytes.
	OmitTiming bool
}

// Opener opens the devices of a run. Its error is a *DeviceError if a device is to blame.
type Opener func(bound.Precision) (*Devices, error)

// Devices are what a run computes on; only List is needed.
type Devices struct {
	// List has one device or more, all of the precision asked for. Numbers do not depend
	// on how many there are.
	List []bound.Device
	// Spare makes the device of last resort, nil where List is that one.
	Spare func() bound.Device
	// Blame says what to tell the user where loading the posterior of a file failed for
	// the device's sake, nil if it did not.
	Blame func(err error, file string) error
	// Done is called when everything is written, before Close; Close ends every run.
	Done  func() error
	Close func()
}

// ready is a job whose files have been read.
type ready struct {
	*Job
	post  *posterior.Posterior
	tasks *taskList
	// all are the tasks of the list, nil for a Prepared.
	all []property.Task
	cfg certify.Config
	// words are for the field flags of records, id for their field run.
	words, id string
}

// Run does the job and returns all its records, those of earlier runs that it went on
// with too. Where it fails, what is finished stays in Out.Path.partial. Errors: *Interrupted
// if ctx ended, *OutOfTime if TotalTimeLimit is up, *DeviceError if a device is to blame,
// *Contradiction if two bounds cannot both be true, *outfile.Error if a record cannot be
// written; any other is about a setting or a file, of one line that names it.
//
// Where Out.Path is a table (report.IsTable), all this is about report.RecordsFile of it, and
// the table is written when all records are there.
func (j *Job) Run(ctx context.Context) ([]*report.Record, error) {
	if !report.IsTable(j.Out.Path) {
		return j.run(ctx)
	}
	inputs := append(j.inputs(), report.RecordsFile(j.Out.Path))
	if err := outfile.Refuse(j.Out.Path, inputs...); err != nil {
		return nil, fmt.Errorf("--out %w", err)
	}
	inner := *j
	inner.Out.Path = report.RecordsFile(j.Out.Path)
	records, err := inner.run(ctx)
	if err != nil {
		return nil, err
	}
	return records, writeTable(j.Out.Path, records, inputs)
}

// writeTable writes the table of a run whose records are on the disk.
func writeTable(path string, records []*report.Record, inputs []string) error {
	file, err := outfile.Create(path, inputs...)
	if err != nil {
		return fmt.Errorf("--out %w", err)
	}
	defer file.Discard()
	if err := report.WriteTable(path, file, records); err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w: the records are in %s", path, outfile.Reason(err), report.RecordsFile(path))
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}

func (j *Job) run(ctx context.Context) ([]*report.Record, error) {
	if j.TotalTimeLimit != nil && *j.TotalTimeLimit > 0 { // read refuses others
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, *j.TotalTimeLimit, errTotal)
		defer end()
	}
	r, err := j.read()
	if err != nil {
		return nil, err
	}
	if r.all, err = r.tasks.all(); err != nil {
		return nil, err
	}
	if err := r.complete(); err != nil {
		return nil, err
	}
	r.identify()
	old, err := r.earlier()
	if err != nil {
		return nil, err
	}
	if old.note != nil {
		j.tell(old.note)
	}
	switch {
	case old.final:
		return old.records, nil
	case j.Out.Path != "" && len(old.records) == len(r.all): // stopped just before the file got its name
		return old.records, old.settle(j.Out.Path)
	}
	records, err := r.compute(ctx, old)
	if late, ok := errors.AsType[*OutOfTime](err); ok && late.Words == "" && len(old.records) > 0 {
		late.Words = late.where(len(old.records), len(r.all), j.Out.Path+PartialSuffix)
	}
	return records, err
}

func (j *Job) tell(n Note) {
	if j.Note != nil {
		j.Note(n)
	}
}

// require is Require, which check has read.
func (j *Job) require() property.Exact { return property.MustExact(cmp.Or(j.Require, DefaultRequire)) }

func (j *Job) recheck() float64 { return or(j.Recheck, DefaultRecheck) }

func (j *Job) precision() bound.Precision { return or(j.Precision, bound.Float32) }

// or is what was given, or else what is taken in its place.
func or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// read checks the settings and reads the files that they name.
func (j *Job) read() (*ready, error) {
	word, cfg, err := j.Method.config()
	if err != nil {
		return nil, err
	}
	if err := j.check(cfg.Strategy); err != nil {
		return nil, err
	}
	cfg.TimeLimit = or(j.TimeLimit, 0)
	r := &ready{Job: j, cfg: cfg}
	if r.post, err = j.Posterior.Read(); err != nil {
		return nil, unfound("--posterior", err)
	}
	if word, err = r.suits(word); err != nil {
		return nil, err
	}
	r.words = j.numberWords(word)
	if j.stopsAt(word) {
		r.cfg.Decided = func(res *certify.Result) bool {
			return report.Verdict(res.Lower(), res.Upper(), j.require()) != report.Unknown
		}
	}
	r.tasks, err = j.Tasks.load(r.post)
	return r, err
}

// check refuses what contradicts itself or says nothing.
func (j *Job) check(strategy certify.Strategy) error {
	m := &j.Method
	gamma, samples, splits := or(m.Gamma, 0), or(m.Samples, 0), or(m.Splits, 0)
	switch {
	case j.Posterior.Path == "":
		return errors.New("--posterior is missing: name a posterior file, as in --posterior net.npz")
	case m.Gamma != nil && !(gamma >= leastGamma && gamma <= mostGamma):
		return fmt.Errorf("--gamma %v is not between %v and %v standard deviations", gamma, leastGamma, mostGamma)
	case m.Samples != nil && (samples < 1 || samples > mostSamples):
		return fmt.Errorf("--samples %d is not between 1 and %d", samples, mostSamples)
	case splits < 0:
		return fmt.Errorf("--splits %d is negative: give 0 or more cuts", splits)
	case splits > 0 && m.Gamma != nil:
		return errors.New("--splits and --gamma cannot be combined: pieces are cut from wider boxes than any one gamma: leave one out")
	case strategy == certify.Sampled && (splits > 0 || or(m.Uniform, false)):
		return errors.New("--splits and --uniform are for --boxes centred: leave them out, or --boxes sampled")
	case j.Out.Resume && j.Out.Path == "":
		return errors.New("--resume needs --out FILE: what is finished is in FILE.partial")
	case j.TimeLimit != nil && *j.TimeLimit <= 0:
		return fmt.Errorf("--time-limit %v is not above 0: give a time such as 10s", *j.TimeLimit)
	case j.TotalTimeLimit != nil && *j.TotalTimeLimit <= 0:
		return fmt.Errorf("--total-time-limit %v is not above 0: give a time such as 1h", *j.TotalTimeLimit)
	case j.TimeLimit != nil && strategy == certify.Sampled:
		return errors.New("--time-limit is not for --boxes sampled: inputs share the boxes; --samples says how many, and --total-time-limit ends the run")
	case !(j.recheck() >= 0 && j.recheck() <= 1):
		return fmt.Errorf("--recheck %v is not between 0 and 1", j.recheck())
	}
	require, err := property.NewExact(cmp.Or(j.Require, DefaultRequire))
	if err != nil {
		return fmt.Errorf("--require %w", err)
	}
	if require.Cmp(property.Exact{}) < 0 || require.Cmp(property.MustExact("1")) > 0 {
		return fmt.Errorf("--require %.40s is no probability: give a decimal from 0 to 1", j.Require)
	}
	return nil
}

// complete checks what depends on the tasks, those of r.all.
func (r *ready) complete() error {
	if r.cfg.Strategy != certify.Sampled {
		return nil
	}
	samples, gamma := r.cfg.Samples, r.cfg.Gamma
	for _, t := range r.all {
		switch {
		case samples == 0 && t.Samples == 0:
			return errors.New("--boxes sampled needs --samples N: how many boxes to draw")
		case gamma == 0 && t.Gamma == 0:
			return errors.New("--boxes sampled needs --gamma G: the half-width of each box in standard deviations")
		case gamma == 0 && !(t.Gamma >= leastGamma && t.Gamma <= mostGamma):
			return fmt.Errorf("%s: property %d (%q): gamma %v is not between %v and %v", r.tasks.source, t.Index, t.Name, t.Gamma, leastGamma, mostGamma)
		case samples == 0 && t.Samples > mostSamples:
			return fmt.Errorf("%s: property %d (%q): %d samples are more than %d", r.tasks.source, t.Index, t.Name, t.Samples, mostSamples)
		}
	}
	return nil
}

// reach is the largest half-width that the run can ask for.
func (r *ready) reach() float64 {
	reach := math.Max(12, r.cfg.Gamma)
	if r.cfg.Strategy == certify.Sampled {
		for _, t := range r.all {
			reach = math.Max(reach, t.Gamma)
		}
	}
	return reach
}
