package paper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/record"
	"psafe/internal/infile"
	"psafe/internal/outfile"
)

// Event is something that happens: a training begins, or a run has come to Done of Total
// records.
type Event struct {
	// Training is the command that does what is being done now, for people to read.
	Training []string
	// Run is the name of the run, the At-th of Of.
	Run    string
	At, Of int
	// Done of Total records are made, of those that this run has to make; Ended says that
	// it has ended, with Total records in all.
	Done, Total int
	Ended       bool
	// Since is the time since everything began, Took since the run did.
	Since, Took time.Duration
}

// Summary describes what was made.
type Summary struct {
	// Page is the path of paper.md.
	Page          string
	Runs, Records int
	Took          time.Duration
}

// drive is the work of Run.
type drive struct {
	*Config
	start          time.Time
	done, total    int
	records        int
	computed       string // the device that the records name
	text, commands bytes.Buffer
}

// Run makes everything that the configuration asks for. The error is a *Contradiction if
// two bounds cannot both hold, and otherwise as of certify.Job.
func (c *Config) Run(ctx context.Context) (*Summary, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	d := &drive{Config: c, start: time.Now()}
	var experiments []*Experiment
	for _, name := range c.Names {
		e, err := New(ctx, name, c)
		if err != nil {
			return nil, err
		}
		experiments, d.total = append(experiments, e), d.total+len(e.Runs)
	}
	if err := c.write("experiment", []byte(c.purpose())); err != nil {
		return nil, err
	}
	for _, e := range experiments {
		if err := d.experiment(ctx, e); err != nil {
			return nil, err
		}
	}
	if err := c.write("commands.txt", d.commands.Bytes()); err != nil {
		return nil, err
	}
	if err := c.write("paper.md", d.page()); err != nil {
		return nil, err
	}
	return &Summary{Page: filepath.Join(c.Out, "paper.md"), Runs: d.total, Records: d.records, Took: time.Since(d.start)}, nil
}

// check refuses what cannot be done, before anything is written.
func (c *Config) check() error {
	if c.Data != "" {
		if err := checkData(c.Data, c.Names); err != nil {
			return err
		}
	}
	if err := c.CheckOut(); err != nil {
		return err
	}
	// A device that cannot be had is refused now.
	dev, err := c.Open(c.Precision)
	if err != nil {
		return err
	}
	if dev.Close != nil {
		dev.Close()
	}
	return nil
}

// CheckOut refuses a folder that holds something else than this run, unless that may be
// overwritten. Run asks too.
func (c *Config) CheckOut() error {
	entries, err := os.ReadDir(c.Out)
	info, noInfo := os.Stat(c.Out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case noInfo == nil && !info.IsDir():
		return fmt.Errorf("--out %s: is no folder: name one", c.Out)
	case err != nil:
		return fmt.Errorf("--out %s: cannot be read: %w", c.Out, outfile.Reason(err))
	case len(entries) > 0 && !c.Resume && !c.Overwrite:
		return fmt.Errorf("--out %s: holds files: --resume goes on with a run that was interrupted, --overwrite replaces files of the same names; or name a new folder", c.Out)
	case !c.Resume:
		return nil
	}
	old, err := infile.ReadAll(filepath.Join(c.Out, "experiment"), maxFile)
	if err == nil && string(old) != c.purpose() {
		return fmt.Errorf("--out %s: holds another run, %s: give its flags, or name another folder", c.Out, certify.Printable(strings.TrimSpace(string(old))))
	}
	c.ours = err == nil
	for _, e := range entries {
		// Inputs are made before it is noted what for.
		if unfinished, _ := filepath.Match(".psafe-*.tmp", e.Name()); !c.ours && !c.Overwrite && !unfinished && e.Name() != "inputs" {
			return fmt.Errorf("--out %s: holds %q and nothing that psafe paper could go on with: --overwrite replaces files of the same names; or name a new folder", c.Out, e.Name())
		}
	}
	return nil
}

// purpose returns what the output folder is for, noted in its file "experiment": two different
// experiments must not end in one page.
func (c *Config) purpose() string {
	scale, activations := "", []string{}
	if s := c.Posterior.Options.Scale; s != posterior.ScaleUnknown {
		scale = s.String()
	}
	for _, a := range c.Posterior.Options.Activations {
		activations = append(activations, a.String())
	}
	return fmt.Sprintf("%s quick=%v data=%q posterior=%q scale=%q activation=%q precision=%v omit-timing=%v\n", c.What, c.Quick, c.Data, c.Posterior.Path, scale,
		activations, c.Precision, c.OmitTiming)
}

// tell tells of an event.
func (c *Config) tell(e Event) {
	if c.Tell != nil {
		c.Tell(e)
	}
}

// experiment does the runs of an experiment and writes what is told of it.
func (d *drive) experiment(ctx context.Context, e *Experiment) error {
	results := Results{}
	for _, r := range e.Runs {
		records, err := d.run(ctx, r)
		if err != nil {
			return err
		}
		results[r.Name] = records
	}
	section, err := e.report(results)
	if err != nil {
		return err
	}
	if err := section.files(d.write); err != nil {
		return err
	}
	if d.text.Len() > 0 {
		d.text.WriteString("\n")
	}
	section.markdown(&d.text)
	return nil
}

// run does one job; of one that is finished it reads the records.
func (d *drive) run(ctx context.Context, r Run) ([]record.Placed, error) {
	d.done++
	job, begin := r.Job, time.Now()
	job.Out.Path = filepath.Join(d.Out, "runs", r.Name+".jsonl")
	if d.Precision != bound.Float32 {
		job.Precision = &d.Precision
	}
	fmt.Fprintln(&d.commands, certify.Shell(job.Command()))
	job.Out.Resume, job.Out.Overwrite, job.Out.OmitTiming = d.Resume || !d.Overwrite, d.Overwrite, d.OmitTiming
	job.Precision, job.Open, job.Version = &d.Precision, d.Open, d.Version
	event := func(done, total int, ended bool) {
		d.tell(Event{Run: r.Name, At: d.done, Of: d.total, Done: done, Total: total, Ended: ended, Since: time.Since(d.start), Took: time.Since(begin)})
	}
	job.Progress = func(done, total int) { event(done, total, false) }
	if err := os.MkdirAll(filepath.Dir(job.Out.Path), 0o777); err != nil {
		return nil, fmt.Errorf("--out %s: cannot be written: %w", d.Out, outfile.Reason(err))
	}
	certify.ResetPeak()
	records, err := job.Run(ctx)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled) || ctx.Err() != nil:
		return nil, &certify.Interrupted{Words: fmt.Sprintf(" in command %d of %d; what is finished is in %s: go on with --resume", d.done, d.total, d.Out)}
	default:
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	var placed []record.Placed
	for i, rec := range records {
		placed = append(placed, record.Placed{Record: rec, File: job.Out.Path, Line: i + 1})
	}
	d.records += len(records)
	if first := records[0]; first.Device != "host" {
		d.computed = first.Device
	}
	event(len(records), len(records), true)
	return placed, nil
}

// page is paper.md.
func (d *drive) page() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The experiments of \"Probabilistic Safety for Bayesian Neural Networks\"\n\nMade by psafe %s:\n\n    %s\n\n%s\n\n", d.Version, d.Command, wrap(preface))
	if !d.OmitTiming {
		fmt.Fprintf(&b, "%s\n\n", wrap(fmt.Sprintf("Times are wall-clock times: %s/%s, %d processor cores, device %s.", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), d.computed)))
	}
	b.Write(d.text.Bytes())
	if files := releasedFiles(d.Names); d.Data == "" && d.Posterior.Path == "" && len(files) > 0 {
		fmt.Fprintf(&b, "\n## With the released posteriors\n\n%s\n\n    psafe paper %s --data DATA --out DIR\n\nwhere the folder DATA holds\n\n",
			wrap("The posteriors above are this project's own. Those that the authors of the paper released are read with"), d.What)
		for _, f := range files {
			fmt.Fprintf(&b, "- `%s`\n", f)
		}
	}
	fmt.Fprintf(&b, "\n## Commands\n\n%s\n", wrap("Every bound above is in a result file in the folder runs. The file commands.txt, beside it, has the command of each."))
	return b.Bytes()
}
