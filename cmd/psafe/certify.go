package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/record"
)

const certifyAbout = `psafe certify proves lower and upper bounds of P_safe(T, S), the probability
over the posterior that the network maps all of the input region T into the safe
set S.

  psafe certify --posterior net.npz --inputs images.gz --eps 0.01 --clip 0,1
  psafe certify --posterior net.npz --property properties.json

One line of JSON per input goes to --out or standard output; p_lower is rounded
down and p_upper up. --draws adds an interval by drawn networks that holds with
a confidence; it is no certificate, and no part of p_lower and p_upper.

Records go to OUT.partial as they are finished. After an interruption the same
command with --resume goes on and ends with the same file.`

// certifyFlags are all flags of certify as typed.
type certifyFlags struct {
	posterior string
	post      posteriorFlags
	tasks     taskFlags

	method       string
	draws, cells int
	depth        int
	gamma        float64
	seed         uint64
	confidence   float64
	noUpper      bool
	derived      bool

	device   deviceFlags
	out      outFlags
	resume   bool
	noTiming bool
	strict   bool
	target   string
	rule     struct{ costs, reject, action, link string }
	noise    string
	quantile string
	recheck  float64
	require  string
	quiet    bool
	progress string
	limit    time.Duration
	total    time.Duration

	failUnless []string
	gates      []*gate
	junit      string
	hint       string // a note when the first input begins
	old        oldWords
	// options are the keys of --options.
	options *pflag.FlagSet
}

func (c *certifyFlags) add(f *pflag.FlagSet) {
	c.options = newOptions()
	c.addOptions()
	f.StringVar(&c.posterior, "posterior", "", "`FILE` or folder of the posterior (docs/files.md); required")
	c.post.add(f)
	c.post.addFactor(f)
	c.post.addPredictive(f)
	c.tasks.add(f)
	f.StringVar(&c.tasks.points.InputNoise, "input-noise", "", "standard deviation of normal noise that is added to inputs, in their units: a number, [LIST] with one for each or FILE.npy (docs/inputs.md)")
	f.StringVar(&c.tasks.points.Relation, "relation", "", "S speaks of one network at two inputs: monotone:J:[LO,HI], falling:J:[LO,HI], fair:F:TOL, fair:F:same_class, lipschitz:L:R, same_class:R; or step:J:[LO,HI], swap:F, near:R, with --property (docs/relations.md)")
	f.StringVar(&c.tasks.points.Other, "other", "", "`FILE` of one network g, or mean for that of the posterior: S speaks of the outputs of f^w, then those of g, at the same x; with --relation within:TOL or same_class, or --property (docs/relations.md)")
	f.StringVar(&c.method, "method", prove.Auto.String(), "auto (the best of clbp, chernoff, phases and neuronsum); clbp (concentration); chernoff (broad weights, by exact moments); phases (all networks at once); neuronsum (one hidden layer); ibp or lbp (weight boxes around samples: Algorithm 1); finite (a finite posterior, exactly); or statistical (an interval, no certificate)")
	f.IntVar(&c.draws, "draws", 0, "how many weight boxes ibp and lbp draw; for other methods, how many networks, for the statistical interval (default none; 1000 for --method statistical)")
	f.Float64Var(&c.gamma, "gamma", 0, "half-width of weight boxes in standard deviations; ibp and lbp need it, and --draws, unless the property file has them")
	addOptions(f, c.options)
	c.device.add(f, c.options)
	c.out.add(f, "`FILE` of the results, JSON Lines; .csv or .parquet makes a table, with the records in OUT.jsonl beside it (default standard output)")
	c.out.addColumns(f)
	f.BoolVar(&c.resume, "resume", false, "go on with the records in OUT.partial; done if OUT is complete and of this run")
	f.StringVar(&c.require, "require", certify.DefaultRequire, "safe needs p_lower at least this, unsafe p_upper below it; if given, auto stops where that is known")
	f.StringVar(&c.target, "target", certify.TargetSafe, "safe (P_safe alone), each (also the probability at the worst x of T, of networks drawn anew at each), decision (also what the posterior predictive decides) or mean (also the mean of each output): docs/decisions.md")
	f.StringArrayVar(&c.failUnless, "fail-unless", nil, "exit with status 10 unless this share of the inputs has this verdict, as in \"safe>=0.95\": safe, unsafe or unknown, then >=, <=, > or <; or unless every p_lower is so, as in \"p_lower>=0.9\"; may be given several times")
	f.StringVar(&c.junit, "junit", "", "`FILE` of the records and the gates as test cases in JUnit's XML, for CI: those that a gate refuses have failed; needs --out")
	f.BoolVar(&c.strict, "strict", false, "make errors of doubts about the files, such as inputs on another scale or shifted labels, which are notes otherwise")
	f.BoolVar(&c.noTiming, "omit-timing", false, omitTimingUsage)
	f.DurationVar(&c.limit, "time-limit", 0, "how long an input may take, such as 10s; its record has what was proved by then (default no limit)")
	f.DurationVar(&c.total, "total-time-limit", 0, totalTimeUsage)
	f.StringVar(&c.progress, "progress", progressAuto, progressUsage)
	f.BoolVar(&c.quiet, "quiet", false, "no table, progress or notes; --progress json still counts")
}

// addOptions adds the keys of --options, but for those of devices.
func (c *certifyFlags) addOptions() {
	f := c.options
	f.BoolVar(&c.noUpper, "no-upper", false, "do not look for upper bounds")
	f.BoolVar(&c.derived, "derived", false, "add bounds of inf_x Prob(f(x) in S) and of inf_x E row(x)")
	f.IntVar(&c.cells, "cells", 0, "how many cells T may be cut into (default by method: docs/recipes.md)")
	f.IntVar(&c.depth, "depth", 0, "rows of hidden neurons pass at most so many activations, by clbp and lbp: looser bounds in less time (default all)")
	f.Float64Var(&c.confidence, "confidence", 0.99, "confidence of the statistical interval")
	f.Uint64Var(&c.seed, "seed", 0, "seed of what is drawn")
	f.StringVar(&c.noise, "noise", "", "with --target mean: standard deviation of the noise of the data, for the deviation of the predictive")
	f.StringVar(&c.quantile, "quantile", "", "add a lower bound of the worst margin over T that all but this share of networks keep, such as 0.05")
	f.StringVar(&c.rule.link, "link", certify.LinkAverage, "with --target decision: what is deployed, average (of the networks' softmax) or probit (last-layer Laplace by laplace-torch's link_approx=\"probit\")")
	f.StringVar(&c.rule.costs, "costs", "", "with --target decision: the action of least expected cost is taken; costs of each action for each class, such as \"costs=0,1;10,0\"")
	f.StringVar(&c.rule.reject, "reject", "", "with --target decision: a class is taken if its probability is above this, such as 0.9, else it abstains")
	f.StringVar(&c.rule.action, "action", "", "with costs or reject, which action is to be taken everywhere on T: taken (the one at the centre, default) or label (the best for the class)")
	f.Float64Var(&c.recheck, "recheck", certify.DefaultRecheck, recheckUsage)
}

// job returns what the flags ask for.
func (c *certifyFlags) job(f *pflag.FlagSet) (*certify.Job, error) {
	post, err := c.post.of(c.posterior)
	if err != nil {
		return nil, err
	}
	precision, err := c.device.number()
	if err != nil {
		return nil, err
	}
	tasks, err := c.tasks.of(f)
	if err != nil {
		return nil, err
	}
	var require string
	if f.Changed("require") {
		if c.require == "" { // which a Job takes for none given
			return nil, errors.New("--require is empty: give a probability, for example 0.9")
		}
		require = c.require
	}
	method, err := prove.ParseMethod(c.method)
	if err != nil {
		return nil, fmt.Errorf("--method %w", didYouMean(err, c.method, prove.MethodWords()))
	}
	if !slices.Contains(certify.TargetWords(), c.target) {
		return nil, fmt.Errorf("--target %w", didYouMean(fmt.Errorf("%.40q is none of %s", c.target, strings.Join(certify.TargetWords(), ", ")), c.target, certify.TargetWords()))
	}
	columns, err := c.out.tableColumns()
	if err != nil {
		return nil, err
	}
	o := c.options
	link := ""
	if o.Changed("link") {
		link = c.rule.link
	}
	return &certify.Job{
		Posterior: post,
		Tasks:     tasks,
		Method: certify.Method{
			By: given(f, "method", method), Gamma: given(f, "gamma", c.gamma), Draws: given(f, "draws", c.draws),
			Confidence: given(o, "confidence", c.confidence), Seed: given(o, "seed", c.seed), Cells: given(o, "cells", c.cells), Depth: given(o, "depth", c.depth),
			NoUpper: c.noUpper, Derived: c.derived,
			Each: c.target == certify.TargetEach, Decision: c.target == certify.TargetDecision, Mean: c.target == certify.TargetMean,
			Costs: c.rule.costs, Reject: c.rule.reject, Action: c.rule.action, Noise: c.noise, Quantile: c.quantile, Link: link,
		},
		Precision: given(f, "precision", precision),
		Require:   require,
		Strict:    c.strict,
		Recheck:   given(o, "recheck", c.recheck),
		Out:       certify.Output{Path: c.out.path, Resume: c.resume, Overwrite: c.out.overwrite, Columns: columns, OmitTiming: c.noTiming},

		TimeLimit: given(f, "time-limit", c.limit), TotalTimeLimit: given(f, "total-time-limit", c.total),
	}, nil
}

// newCertify is the command with its flags.
func newCertify() (*certifyFlags, *cobra.Command) {
	c := &certifyFlags{}
	cmd, f := newCommand("certify", "lower and upper bounds of P_safe for inputs and properties", certifyAbout, 0)
	c.add(f)
	c.old.accept(f)
	return c, cmd
}

// flat has the flags of a campaign, of which the keys of --options are some.
func (c *certifyFlags) flat(f *pflag.FlagSet) {
	f.AddFlagSet(c.options)
	c.post.addApart(f)
}

// parseCertify makes a job of flags, as a campaign has them if they are flat.
func parseCertify(args []string, flat bool) (*certifyFlags, *certify.Job, error) {
	c, cmd := newCertify()
	if flat {
		c.flat(cmd.Flags())
	}
	if err := readFlags(cmd, args); err != nil {
		return nil, nil, err
	}
	job, err := c.parsed(cmd.Flags())
	return c, job, err
}

// parsed is the job of flags that were read.
func (c *certifyFlags) parsed(f *pflag.FlagSet) (*certify.Job, error) {
	var err error
	if c.gates, err = parseGates(c.failUnless); err != nil {
		return nil, err
	}
	if err := progressMistaken(c.progress); err != nil {
		return nil, err
	}
	for _, name := range []string{"mean", "std", "input-noise", "relation", "input-law"} { // as of a variable that is not set: it would be another question
		if f.Changed(name) && f.Lookup(name).Value.String() == "" {
			return nil, fmt.Errorf("--%s is empty: give a value, or leave it out", name)
		}
	}
	for _, name := range []string{"quantile", "noise"} {
		if c.options.Changed(name) && c.options.Lookup(name).Value.String() == "" {
			return nil, fmt.Errorf("--options %s is empty: give a value, or leave it out", name)
		}
	}
	job, err := c.job(f)
	if err == nil && c.junit != "" {
		err = c.refuseJUnit()
	}
	return job, err
}

func certifyCommand() *cobra.Command {
	c, cmd := newCertify()
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		job, err := c.parsed(cmd.Flags())
		if err != nil {
			return err
		}
		return c.run(ctx, job, stdout, stderr)
	})
}

// supervise has a child run the command where it needs one: done says that it has.
func (c *certifyFlags) supervise(ctx context.Context, job *certify.Job, stdout, stderr io.Writer) (done bool, err error) {
	keep := ""
	if c.out.path != "" {
		keep = record.RecordsFile(c.out.path) + certify.PartialSuffix
	}
	child := newSupervised(ctx, stdout, stderr, keep)
	child.work = func() float64 { return workApprox(job) }
	child.explain, child.quick = !c.quiet, !job.Piped()
	return c.device.supervised(ctx, child)
}

// run certifies.
func (c *certifyFlags) run(ctx context.Context, job *certify.Job, stdout, stderr io.Writer) error {
	if err := job.Refuse(); err != nil {
		return err
	}
	if !c.quiet {
		c.old.tell(stderr)
	}
	if done, err := c.supervise(ctx, job, stdout, stderr); done || err != nil {
		return err
	}
	return c.compute(ctx, job, stdout, stderr)
}

// compute is run in the process that computes.
func (c *certifyFlags) compute(ctx context.Context, job *certify.Job, stdout, stderr io.Writer) error {
	progress := c.device.begin(job, stderr, c.progress, c.quiet)
	if update := job.Progress; c.hint != "" && update != nil {
		job.Progress = func(done, total int) {
			if c.hint != "" {
				printLine(stderr, noColour, "psafe: note:", c.hint)
				c.hint = ""
			}
			update(done, total)
		}
	}
	job.Stdout = forProgram(stdout)
	found := c.findings(stderr)
	if _, terminal := isTerminal(stdout); terminal && found.table && job.Out.Path == "" {
		job.Stdout = io.Discard // nobody reads records there, and the table says what they do
		printLine(stderr, noColour, "psafe: note:", "records are not kept, only a table is printed: --out FILE or a pipe takes them")
	}
	job.Pass = func(share float64) {
		if share == 0 {
			c.device.passes.Add(1)
		}
		if job.Progress != nil {
			progress.inside(share)
		}
	}
	if job.Progress != nil {
		job.Drawn = progress.inside
	}
	if !c.quiet {
		job.Explain = func(n *certify.Unproved) { found.unproved = n }
	}
	defer endLate(job.TotalTimeLimit, stderr)()
	err := job.Each(ctx, found.add)
	progress.end()
	if err != nil {
		return err
	}
	err = found.finish(stderr)
	if c.junit != "" {
		return cmp.Or(c.writeJUnit(), err)
	}
	return err
}

// findings begins them; the flags have been parsed.
func (c *certifyFlags) findings(stderr io.Writer) *findings {
	_, terminal := isTerminal(stderr)
	return &findings{quiet: c.quiet, table: terminal && !c.quiet, gates: c.gates}
}
