package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/job/certify"
	"psafe/host/job/loop"
	"psafe/host/prove"
	"psafe/host/record"
)

const loopAbout = `psafe loop bounds how likely a closed loop stays safe, or reaches its goal: a
plant with a Bayesian network as its controller, or as a model of what follows.

  psafe loop plant.yaml --posterior controller.npz --out loop.json

The plant file (docs/loops.md) says what comes next, and the semantics: once,
the network is drawn once and kept for all time, or each-step, it is drawn anew
at each step. Neither bounds the other. OUT.cells.json has the properties of
cells that are certified, OUT.jsonl their records. psafe check OUT proves all of
it again.`

// loopFlags are all flags of loop as typed.
type loopFlags struct {
	posterior string
	post      posteriorFlags
	method    string
	device    deviceFlags
	out       outFlags
	resume    bool
	noTiming  bool
	recheck   float64
	draws     int
	chosen    float64 // confidence
	seed      uint64
	total     time.Duration
	progress  string
	quiet     bool
}

func (c *loopFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.posterior, "posterior", "", "`FILE` or folder of the posterior (docs/files.md); required")
	c.post.add(f)
	c.post.addFactor(f)
	keys := newOptions()
	f.StringVar(&c.method, "method", prove.CLBP.String(), "how cells are certified, as by psafe certify (finite sets of networks: finite)")
	c.device.add(f, keys)
	f.IntVar(&c.draws, "draws", loop.DefaultDraws, "how many networks are drawn for a statistical upper bound, where p_lower is not near 1; 0 for none")
	keys.Float64Var(&c.recheck, "recheck", certify.DefaultRecheck, recheckUsage)
	keys.Float64Var(&c.chosen, "confidence", loop.DefaultConfidence, "confidence of the statistical interval")
	keys.Uint64Var(&c.seed, "seed", 0, "seed of what is drawn")
	addOptions(f, keys)
	c.out.add(f, "`FILE` of the result, JSON; cells and records go beside it; required")
	f.BoolVar(&c.resume, "resume", false, "go on with the records in OUT.jsonl.partial")
	f.BoolVar(&c.noTiming, "omit-timing", false, omitTimingUsage)
	f.DurationVar(&c.total, "total-time-limit", 0, totalTimeUsage)
	f.StringVar(&c.progress, "progress", progressAuto, progressUsage)
	f.BoolVar(&c.quiet, "quiet", false, "no progress or notes; --progress json still counts")
}

func loopCommand() *cobra.Command {
	var c loopFlags
	cmd, f := newCommand("loop PLANT.yaml", "how likely a closed loop stays safe, or reaches its goal", loopAbout, 1)
	c.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		job, err := c.job(f)
		if err != nil {
			return err
		}
		return c.run(ctx, job, stdout, stderr)
	})
}

// job is what the flags ask for.
func (c *loopFlags) job(f *pflag.FlagSet) (*loop.Job, error) {
	post, err := c.post.of(c.posterior)
	if err != nil {
		return nil, err
	}
	precision, err := c.device.number()
	if err != nil {
		return nil, err
	}
	if c.posterior == "" {
		return nil, errors.New("--posterior is missing: name a posterior file, as in --posterior net.npz")
	}
	if record.IsTable(c.out.path) {
		return nil, fmt.Errorf("--out %.60s: the result of a loop is JSON: give another name", c.out.path)
	}
	method, err := prove.ParseMethod(c.method)
	if err != nil {
		return nil, fmt.Errorf("--method %w", didYouMean(err, c.method, prove.MethodWords()))
	}
	if !f.Changed("method") {
		method = prove.Auto // which psafe loop chooses by the posterior
	}
	return &loop.Job{Plant: f.Arg(0), Draws: c.draws, Confidence: c.chosen, Seed: c.seed, Certify: certify.Job{
		Posterior: post, Method: certify.Method{By: &method}, Precision: given(f, "precision", precision), Recheck: &c.recheck,
		Out:            certify.Output{Path: c.out.path, Resume: c.resume, Overwrite: c.out.overwrite, OmitTiming: c.noTiming},
		TotalTimeLimit: given(f, "total-time-limit", c.total),
	}}, nil
}

// run does the job, and says in a line what is proved.
func (c *loopFlags) run(ctx context.Context, job *loop.Job, stdout, stderr io.Writer) error {
	keep := c.out.path + loop.RecordsSuffix + certify.PartialSuffix
	if done, err := c.device.supervised(ctx, newSupervised(ctx, stdout, stderr, keep)); done || err != nil {
		return err
	}
	progress := c.device.begin(&job.Certify, stderr, c.progress, c.quiet)
	certified := sync.OnceFunc(progress.end)
	defer certified()
	if !c.quiet {
		counts := func(what string, before func()) (tell func(done, total int), end func()) {
			drawn := newProgress(stderr, c.progress)
			if drawn.what = what; c.progress == progressJSON { // which counts tasks
				drawn.word = progressNone
			}
			end = sync.OnceFunc(drawn.end)
			return func(done, total int) {
				before()
				if drawn.update(done, total); done == total {
					end()
				}
			}, end
		}
		var ends [2]func()
		job.Planning, ends[0] = counts("networks drawn for the plan", func() {})
		job.Drawing, ends[1] = counts("drawn networks followed", certified)
		defer ends[0]()
		defer ends[1]()
	}
	defer endLate(job.Certify.TotalTimeLimit, stderr)()
	r, err := job.Run(ctx)
	certified()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, loopWords(r))
	return err
}

// loopWords says what is proved, and beside it what drawn networks bound, which is no certificate.
func loopWords(r *loop.Result) string {
	words := fmt.Sprintf("%s: probability at least %s; %d cells certified of %d", r.Statement, record.FormatDown(r.PLower, 6), r.Certified, r.Grid)
	if r.Why != "" {
		words = fmt.Sprintf("%s: nothing is proved: %s", r.Statement, r.Why)
	}
	s, what := r.Statistical, "drawn networks"
	if r.Fresh() {
		what = "trajectories from one start"
	}
	switch {
	case s == nil:
		return words
	case s.Unsafe == 0:
		return words + fmt.Sprintf("; of %d %s none was seen to break it", s.Samples, what)
	}
	return words + fmt.Sprintf("; statistical, not certified: at most %s with confidence %v, as %d of %d %s break it", record.FormatUp(s.Upper, 6), s.Confidence, s.Unsafe, s.Samples, what)
}
