package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/bound"
	"psafe/host/job/campaign"
	"psafe/host/job/certify"
	"psafe/internal/outfile"
)

const runAbout = `psafe run certifies what is missing of a campaign, or of one shard of it.

  psafe run DIR
  psafe run DIR --shard 3/16
  sbatch --array=0-15 --wrap "psafe run DIR"

DIR is the folder of psafe plan. Shard i of n, counted from 0, is the i-th share
of the tasks; in an array of Slurm i and n are those of the array, in an Indexed
Job of Kubernetes i is the index, and --shards says n. Any shard, of any n, may
be run again, on several machines at once, and be killed at any moment: what has
a record in DIR counts, and is not done again.`

// runFlags are all flags of run as typed.
type runFlags struct {
	shard    string
	shards   int
	device   deviceFlags
	recheck  float64
	omit     bool
	total    time.Duration
	progress string
	quiet    bool
}

func (r *runFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.shard, "shard", "", "`i/n`: shard number i, from 0, of n (default: that of the array or job it is started from, else all tasks)")
	f.IntVar(&r.shards, "shards", 0, "how many shards there are, where i is the index of an array or Indexed Job")
	keys := newOptions()
	r.device.addWithout(f, keys)
	keys.Float64Var(&r.recheck, "recheck", certify.DefaultRecheck, recheckUsage)
	addOptions(f, keys)
	f.BoolVar(&r.omit, "omit-timing", false, omitTimingUsage)
	f.DurationVar(&r.total, "total-time-limit", 0, totalTimeUsage)
	f.StringVar(&r.progress, "progress", progressAuto, progressUsage)
	f.BoolVar(&r.quiet, "quiet", false, "no progress or notes; --progress json still counts")
}

// which is the shard that flags or environment name.
func (r *runFlags) which(f *pflag.FlagSet) (campaign.Shard, error) {
	switch {
	case f.Changed("shard") && f.Changed("shards"):
		return campaign.Shard{}, errors.New("--shard and --shards cannot be combined: i/n says both: leave --shards out")
	case f.Changed("shard"):
		s, err := campaign.ParseShard(r.shard)
		if err != nil {
			return s, fmt.Errorf("--shard: %w", err)
		}
		return s, nil
	case f.Changed("shards") && r.shards < 1:
		return campaign.Shard{}, fmt.Errorf("--shards %d is not above 0: give as many as the array has", r.shards)
	}
	return campaign.ShardOf(os.Getenv, r.shards)
}

// check refuses values before anything is read.
func (r *runFlags) check(f *pflag.FlagSet) error {
	if f.Changed("total-time-limit") && r.total <= 0 {
		return fmt.Errorf("--total-time-limit %v is not above 0: give a time such as 1h", r.total)
	}
	if !(r.recheck >= 0 && r.recheck <= 1) {
		return fmt.Errorf("--options recheck=%v is not between 0 and 1", r.recheck)
	}
	if _, err := parseBytes(r.device.memory); err != nil {
		return fmt.Errorf("--options memory: %w", err)
	}
	return progressMistaken(r.progress)
}

func runCommand() *cobra.Command {
	var r runFlags
	cmd, f := newCommand("run", "a shard of a campaign: certify what is missing of it", runAbout, 1)
	r.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if err := r.check(f); err != nil {
			return err
		}
		shard, err := r.which(f)
		if err != nil {
			return err
		}
		folder, err := campaign.Open(f.Arg(0))
		if err != nil {
			return err
		}
		// A signal may come later than what a device says of it.
		exit := func(err error) int { return status(blameless(ctx, err), io.Discard) }
		c := &campaign.Run{Folder: folder, Shard: shard, Status: exit, Limit: r.total}
		faultBeside(folder.Dir)
		if c.Faulted() {
			faultStatus(exitFaultAgain)
		}
		// Whatever ends the program before an attempt has begun. Not deferred: a panic must find it.
		early := outfile.Begin(func(reason error) string { c.Fail(reason); return "" })
		err = r.run(ctx, c, early.End, stdout, stderr)
		early.End()
		if failed, own := errors.AsType[*unsaid](err); own {
			err = failed.err
			c.Fail(err)
		}
		return err
	})
}

// unsaid is an error that no file of the campaign's folder tells of yet.
type unsaid struct{ err error }

func (e *unsaid) Error() string { return e.err.Error() }

// run certifies what is missing; begins is called when an attempt does in this process.
func (r *runFlags) run(ctx context.Context, c *campaign.Run, begins func(), stdout, stderr io.Writer) error {
	if err := c.Check(); err != nil {
		return &unsaid{err}
	}
	found, err := c.Look(ctx)
	if err != nil {
		return &unsaid{err}
	}
	if found.Done == found.Len() {
		r.say(stderr, c, found)
		return nil
	}
	if err := r.precisionOf(c, found); err != nil {
		return &unsaid{err}
	}
	child := newSupervised(ctx, stdout, stderr, c.Results())
	child.again = "run it again"
	child.work = func() float64 { return campaignWorkApprox(c, found) }
	child.explain = !r.quiet
	if done, err := r.device.supervised(ctx, child); done || err != nil {
		if _, said := errors.AsType[*exited](err); err != nil && !said {
			return &unsaid{err}
		}
		return err
	}
	begins()
	if err := r.certify(ctx, c, found, stderr); err != nil {
		return err
	}
	r.say(stderr, c, found)
	return nil
}

// campaignWorkApprox is workApprox of what is missing of a shard, taken to be like its first jobs: as many as take
// long, and no more than a hundred. It is 0 if that of one of these is.
func campaignWorkApprox(c *campaign.Run, found *campaign.Found) float64 {
	const long, most = 1e13, 100
	here, err := os.Getwd()
	if err != nil || os.Chdir(c.BaseDir()) != nil {
		return 0
	}
	defer os.Chdir(here)
	work, tasks := 0.0, 0
	first := c.JobOf(found.First)
	for i := first; i < min(len(c.Jobs), first+most) && c.Jobs[i].First < found.End && work < long; i++ {
		of := &c.Jobs[i]
		job, err := campaignJob(of.Args)
		if err != nil {
			return 0
		}
		all := workApprox(job)
		if all == 0 {
			return 0
		}
		n := min(found.End, of.First+of.Tasks) - max(found.First, of.First)
		work, tasks = work+all/float64(of.Tasks)*float64(n), tasks+n
	}
	return work / float64(tasks) * float64(found.Len()-found.Done)
}

// certify certifies what is missing, in this process.
func (r *runFlags) certify(ctx context.Context, c *campaign.Run, found *campaign.Found, stderr io.Writer) error {
	here, err := os.Getwd()
	if err == nil {
		err = os.Chdir(c.BaseDir())
	}
	if err != nil {
		return &unsaid{fmt.Errorf("%s: paths of the campaign start from %s: %w", c.Dir, c.BaseDir(), err)}
	}
	defer os.Chdir(here)
	once := &openOnce{flags: &r.device, opened: map[bound.Precision]*devices{}}
	progress := newProgress(stderr, r.progress)
	progress.what = "tasks"
	if !r.quiet || r.progress == progressJSON {
		c.Progress = progress.update
	}
	notes := (&planFlags{quiet: r.quiet}).notes(stderr)
	c.Prepare = func(args []string, progress func(done, total int)) (campaign.Prepared, error) {
		job, err := campaignJob(args)
		if err != nil {
			return nil, err
		}
		job.Open, job.Note, job.Progress, job.Recheck, job.Out.OmitTiming = once.open, notes, progress, &r.recheck, r.omit
		prepared, err := job.Prepare()
		if errors.Is(err, fs.ErrNotExist) { // often the campaign's folder was moved alone
			err = fmt.Errorf("%w, in %s, where the paths of the campaign start", err, plain(c.BaseDir()))
		}
		if err != nil {
			return nil, err
		}
		return prepared, nil
	}
	defer endLate(&r.total, stderr)()
	err = c.Certify(ctx, found)
	progress.end()
	if err == nil {
		err = once.profile(stderr)
	}
	return err
}

// say tells of a shard that is complete.
func (r *runFlags) say(stderr io.Writer, c *campaign.Run, found *campaign.Found) {
	if r.quiet {
		return
	}
	now := "nothing was missing"
	if n := found.Len() - found.Done; n > 0 {
		now = fmt.Sprintf("%d of them now", n)
	}
	fmt.Fprintf(stderr, "psafe: shard %v: all %s are done, %s: %s\n", c.Shard, howMany(found.Len(), "task"), now, plain(c.Dir))
}

// precisionOf sets the precision in which devices are tested: that of the jobs of the shard,
// and float64, which not all have, if they differ.
func (r *runFlags) precisionOf(c *campaign.Run, found *campaign.Found) error {
	var all []bound.Precision
	for i := c.JobOf(found.First); i < len(c.Jobs) && c.Jobs[i].First < found.End; i++ {
		job, err := campaignJob(c.Jobs[i].Args)
		if err != nil {
			return fmt.Errorf("%s: job %d: %w: plan the campaign again, into another folder", c.Dir, i, err)
		}
		if p := job.Precision; p != nil {
			all = append(all, *p)
		}
	}
	r.device.precision = bound.Float32.String()
	if slices.Contains(all, bound.Float64) {
		r.device.precision = bound.Float64.String()
	}
	return nil
}

// openOnce opens the devices that flags name for all jobs of a shard, once for each precision.
type openOnce struct {
	flags  *deviceFlags
	opened map[bound.Precision]*devices
}

// open is a certify.Opener.
func (o *openOnce) open(p bound.Precision) (*certify.Devices, error) {
	d := o.opened[p]
	if d == nil {
		var err error
		if d, err = o.flags.openIn(p); err != nil {
			return nil, err
		}
		o.opened[p] = d
	}
	list := slices.Clone(d.list)
	for i, g := range d.opencl {
		if g.Lost() != nil { // to an earlier job
			list[i] = d.spare()
		}
	}
	return &certify.Devices{List: list, Spare: d.spare, Beside: d.beside, Blame: o.flags.blame}, nil
}

// profile prints what each kernel cost, if that was asked for.
func (o *openOnce) profile(w io.Writer) error {
	if !o.flags.profile {
		return nil
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		if d := o.opened[p]; d != nil {
			if err := d.printProfile(w, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
