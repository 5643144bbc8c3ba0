// Package certify runs a job from files to records: a Job says of which posterior, on which inputs,
// by which method, on which devices and to which file, and Run does it, one result record for each
// input. It proves nothing itself: certify does, and report writes what was proved. What is here is
// what lies around it: what goes together and what does not, records that survive whatever ends the
// program, notes and errors.
//
// Package main of psafe makes a Job of flags, and paper makes hundreds. Errors name the
// settings by their flags, as in "--eps is missing".
package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Job describes what psafe certify does. Pointers are settings that need not be given: nil
// leaves them to psafe, and records list those that decide numbers exactly if they are
// given. Decimal numbers are texts, since what they say is exact.
type Job struct {
	Posterior Posterior
	Tasks     Tasks
	Method    Method
	// Precision holds the precision of the bounds on the device, float32 if it is not given.
	Precision *bound.Precision
	// Require is the probability that decides a verdict, a decimal: safe needs p_lower, as
	// it is written, at least this, unsafe p_upper less. DefaultRequire if it is empty. If it is
	// given, Auto tries no more for an input of which the verdict is known.
	Require string
	Out     Output
	// Strict makes an error of what is doubted of the files (audit.Doubt) and otherwise only told.
	Strict bool
	// Recheck is the share of the time that goes into comparing answers of a device with those
	// of the spare one (engine.Recheck), DefaultRecheck if it is not given. It decides no
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
	// Opening, if it is set, is told before whether the network is a chain of dense layers.
	Opening func(chain bool)
	// Stdout gets the records where Out.Path is empty; nil if they are only returned.
	Stdout io.Writer
	// Progress, if set, is told how many of the records that this run has to make are
	// done, one call at a time; Note, if set, what a user should know beside them.
	Progress func(done, total int)
	Note     func(Note)
	// Pass, if set, is told often how far a pass of concentration LBP over the network is
	// (bound.Model.Watch), from several goroutines at a time.
	Pass func(share float64)
	// Drawn, if set, is told often which share of the drawn networks of some inputs is decided, as Pass is.
	Drawn func(share float64)
	// Explain, if set, is told when all records are there why inputs are unknown, if some are. It
	// costs up to two seconds.
	Explain func(*Unproved)
}

// DefaultRequire is the probability that a verdict asks for if nobody says otherwise.
const DefaultRequire = "0.9"

// DefaultRecheck is the share of the time for rechecks if nobody says otherwise.
const DefaultRecheck = 0.005

// Posterior names a posterior and says how it is read.
type Posterior struct {
	// Path is a file or a folder, in any of the formats of package posterior.
	Path string
	// Options holds what the file does not say.
	Options format.Options
	// Factor is a decimal that every standard deviation is multiplied by, empty for 1.
	Factor string
	// Predictive is PredictiveLinearised or empty: what functions of x the posterior is about.
	Predictive string
}

// What functions of x a posterior may be about: networks, and these linearised in their weights about the
// mean (posterior.Linearised).
const (
	PredictiveNetworks   = "networks"
	PredictiveLinearised = "linearised"
)

// Read reads the posterior.
func (p *Posterior) Read() (*posterior.Posterior, error) {
	post, err := format.Read(p.Path, p.Options)
	if err != nil {
		return nil, foreignFolder(p.Path, foreignFile(p.Path, err))
	}
	if p.Factor != "" {
		factor, err := property.NewDecimal(p.Factor)
		if err == nil && !post.Independent() {
			return nil, fmt.Errorf("--scale-factor is for independent normal weights; %s has %s: leave it out", p.Path, post.Describe())
		}
		if err == nil {
			err = post.Widen(factor.Lo, factor.Hi)
		}
		if err != nil {
			return nil, fmt.Errorf("--scale-factor %.40s: %w", p.Factor, err)
		}
	}
	switch p.predictive() {
	case "":
		return post, nil
	case PredictiveLinearised:
		if post, err = post.Linearised(); err != nil {
			return nil, fmt.Errorf("--predictive %s: %s: %w", p.Predictive, p.Path, err)
		}
		return post, nil
	}
	return nil, fmt.Errorf("--predictive %.40q is none of %s, %s", p.Predictive, PredictiveNetworks, PredictiveLinearised)
}

// predictive is Predictive, empty for networks.
func (p *Posterior) predictive() string {
	if p.Predictive == PredictiveNetworks {
		return ""
	}
	return p.Predictive
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
	// Resume goes on with the records that an earlier run left in Path.partial. Overwrite
	// replaces what is there and is not gone on with; without it nothing is replaced.
	Resume, Overwrite bool
	// Columns are those of a table in their order, nil for all, of CSV those that say something.
	Columns []string
	// OmitTiming leaves out times and memory, so that two runs give the same bytes.
	OmitTiming bool
}

// Opener opens the devices of a run. Its error is a *DeviceError if a device is to blame.
type Opener func(bound.Precision) (*Devices, error)

// Devices holds what a run computes on; only List is needed.
type Devices struct {
	// List has one device or more, all of the precision asked for. Numbers do not depend
	// on how many there are.
	List []bound.Device
	// Spare makes the device of last resort, nil where List is that one.
	Spare func() bound.Device
	// Beside is the processor's cores that take work off devices, nil if they do not.
	Beside bound.Device
	// Blame says what to tell the user where loading the posterior of a file failed for
	// the device's sake; nil for the error itself.
	Blame func(err error, file string) error
	// Done is called when everything is written, before Close; Close ends every run.
	Done  func() error
	Close func()
}

// ready is a job whose files have been read.
type ready struct {
	*Job
	// post is the posterior that is certified: read, that of the file, or with noise of its inputs, at pairs of them, or
	// beside the other network.
	post, read *posterior.Posterior
	noise      property.InputNoise
	other      *posterior.Posterior
	tasks      *taskList
	cfg        prove.Config
	// boxings holds what the tasks ask of drawn boxes, each once, and asking how many ask for it.
	boxings []boxing
	asking  map[boxing]int
	// made are the first tasks, a chunk at most, which survey made and chunk takes: each is empty after that.
	made []property.Task
	// took are the seconds that reading the posterior and the tasks took.
	took [2]float64
	// words are for the field flags of records, id for their field run.
	words, id string
}

// Run is Each for few records: it returns them all.
func (j *Job) Run(ctx context.Context) ([]*record.Record, error) {
	var records []*record.Record
	if err := j.Each(ctx, func(r *record.Record) { records = append(records, r) }); err != nil {
		return nil, err
	}
	return records, nil
}

// Each does the job and calls tell for each of its records, those of earlier runs that it went on
// with too, in their order, one call at a time. It keeps none: memory does not grow with their
// number. Where it fails, what is finished stays in Out.Path.partial. Errors: *Interrupted
// if ctx ended, *OutOfTime if TotalTimeLimit is up, *DeviceError if a device is to blame,
// *Contradiction if two bounds cannot both be true, *outfile.Error if a record cannot be
// written; any other is about a setting or a file, of one line that names it.
//
// Where Out.Path is a table (record.IsTable), all this is about record.RecordsFile of it, and
// the table is written when all records are there.
func (j *Job) Each(ctx context.Context, tell func(*record.Record)) error {
	if err := j.Refuse(); err != nil {
		return err
	}
	if !record.IsTable(j.Out.Path) {
		return j.run(ctx, tell)
	}
	inner := *j
	inner.Out.Path = record.RecordsFile(j.Out.Path)
	if err := inner.run(ctx, tell); err != nil {
		return err
	}
	return WriteTable(j.Out.Path, j.Out.oldTable(), j.Out.Columns, append(j.inputs(), inner.Out.Path))
}

func (j *Job) run(ctx context.Context, tell func(*record.Record)) error {
	if j.TotalTimeLimit != nil && *j.TotalTimeLimit > 0 { // read refuses others
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, *j.TotalTimeLimit, errTotal)
		defer end()
	}
	r, err := j.read()
	if err != nil {
		return err
	}
	err = r.work(ctx, tell)
	if late, ok := errors.AsType[*OutOfTime](err); ok && late.Words == "" {
		if done := r.left(); done > 0 {
			late.Words = late.where(done, r.tasks.n, j.Out.Path+PartialSuffix)
		}
	}
	return err
}

// work does what is left to do.
func (r *ready) work(ctx context.Context, tell func(*record.Record)) error {
	if err := r.survey(ctx); err != nil {
		return err
	}
	if err := r.doubted(); err != nil {
		return err
	}
	old, err := r.earlier(ctx)
	if err != nil {
		return err
	}
	if old.note != nil {
		r.tell(old.note)
	}
	var found unproved
	if r.Explain != nil {
		all := tell
		tell = func(rec *record.Record) { found.add(rec); all(rec) }
	}
	if err := old.each(tell); err != nil {
		return err
	}
	switch {
	case old.final: // as it was told when it was made
		return nil
	case r.Out.Path != "" && old.done == r.tasks.n: // stopped just before the file got its name
		return r.Out.settle(old)
	}
	return r.compute(ctx, old, &found, tell)
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

// or returns what was given, or else what is taken in its place.
func or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// read checks the settings and reads the files that they name.
func (j *Job) read() (*ready, error) {
	cfg, err := j.Method.config()
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(j.check(&cfg), j.searches()); err != nil {
		return nil, err
	}
	cfg.TimeLimit = or(j.TimeLimit, 0)
	r := &ready{Job: j, cfg: cfg}
	began := time.Now()
	if r.read, err = j.Posterior.Read(); err != nil {
		return nil, unfound("--posterior", err)
	}
	r.post = r.read
	r.took[0] = time.Since(began).Seconds()
	if err = r.transform(); err != nil {
		return nil, err
	}
	if err = r.suits(); err != nil {
		return nil, err
	}
	r.words = j.numberWords(r.cfg.Method)
	if j.stopsAt(r.cfg.Method) {
		r.cfg.Decided = func(res *claim.Result) bool {
			return record.Verdict(res.Lower(), res.Upper(), j.require()) != record.Unknown
		}
	}
	began = time.Now()
	if r.tasks == nil {
		r.tasks, err = j.Tasks.load(r.read)
	}
	r.took[1] = time.Since(began).Seconds()
	if err == nil && r.tasks.search != nil && j.Method.NoUpper {
		r.tasks.certifiedOnly()
	}
	return r, err
}

// addNoise adds the noise of the inputs to the posterior, in the units that the tasks say.
func (r *ready) addNoise() (err error) {
	if r.tasks, err = r.Tasks.load(r.read); err != nil {
		return err
	}
	points := &r.Tasks.Points
	if points.round() {
		return errors.New("--input-noise is for boxes of inputs, not for --norm 1 or 2: leave one of them out")
	}
	noise, err := property.ReadInputNoise(points.InputNoise, r.tasks.norm.Norm, r.read.Inputs())
	if err != nil {
		return err
	}
	r.noise = *noise
	if r.post, err = r.about(r.read); err != nil {
		return fmt.Errorf("%s: --input-noise: %w", r.Posterior.Path, err)
	}
	return nil
}

// check refuses what contradicts itself or says nothing.
func (j *Job) check(cfg *prove.Config) error {
	m := &j.Method
	gamma, draws := or(m.Gamma, 0), or(m.Draws, 0)
	switch {
	case j.Posterior.Path == "":
		return errors.New("--posterior is missing: name a posterior file, as in --posterior net.npz")
	case m.Gamma != nil && !(gamma >= leastGamma && gamma <= mostGamma):
		return fmt.Errorf("--gamma %v is not between %v and %v standard deviations", gamma, leastGamma, mostGamma)
	case m.Draws != nil && (draws < 1 || draws > mostDraws):
		return fmt.Errorf("--draws %d is not between 1 and %d", draws, mostDraws)
	case j.Out.Resume && j.Out.Path == "":
		return errors.New("--resume needs --out FILE: what is finished is in FILE.partial")
	case j.TimeLimit != nil && *j.TimeLimit <= 0:
		return fmt.Errorf("--time-limit %v is not above 0: give a time such as 10s", *j.TimeLimit)
	case j.TotalTimeLimit != nil && *j.TotalTimeLimit <= 0:
		return fmt.Errorf("--total-time-limit %v is not above 0: give a time such as 1h", *j.TotalTimeLimit)
	case j.TimeLimit != nil && cfg.Method.OfBoxes():
		return errors.New("--time-limit is not for weight boxes: inputs share the boxes; --draws says how many, and --total-time-limit ends the run")
	case !(j.recheck() >= 0 && j.recheck() <= 1):
		return fmt.Errorf("--options recheck=%v is not between 0 and 1", j.recheck())
	}
	require, err := property.NewExact(cmp.Or(j.Require, DefaultRequire))
	switch {
	case err != nil:
		return fmt.Errorf("--require %w", err)
	case require.Cmp(property.Exact{}) < 0 || require.Cmp(property.MustExact("1")) > 0:
		return fmt.Errorf("--require %.40s is no probability: give a decimal from 0 to 1", j.Require)
	}
	return nil
}
