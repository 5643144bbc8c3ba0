package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/paper"
	"psafe/host/report"
	"psafe/host/run"
	"psafe/internal/outfile"
)

const paperAbout = `psafe paper runs the experiments of "Probabilistic Safety for Bayesian Neural
Networks" (UAI 2020) and writes tables and figures, psafe's bounds beside what the
paper printed: regression, vcas, mnist, scale or all.

  psafe paper all --quick --out DIR               a minute, from the program alone
  psafe paper all --data DATA --out DIR           with the released posteriors
  psafe paper regression --posterior net.npz --out DIR

Without --quick a run takes minutes: 3, or 12 with --data, on two cores with PoCL as
--device 0:0 (psafe devices lists what there is); without OpenCL scale takes longest.
DATA is a folder with the released files: uai2020/VCAS_MODEL_512.net and so on
(docs/paper.md lists them). DIR gets paper.md, tables as CSV, figures as SVG and PNG,
and the result file of every psafe certify command that was run.`

// paperFlags are all flags of paper as typed.
type paperFlags struct {
	out, data, posterior string
	post                 posteriorFlags
	device               deviceFlags
	quick, resume        bool
	noTiming, quiet      bool
	command              string
}

func (p *paperFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.out, "out", "", "`DIR` to write to; required")
	f.StringVar(&p.data, "data", "", "`DIR` of the released posteriors and images; without it the project's own are used")
	f.BoolVar(&p.quick, "quick", false, "less of everything: less than a minute without --data")
	f.StringVar(&p.posterior, "posterior", "", "regression: this posterior of one input and one output instead of a trained one")
	p.post.add(f)
	p.device.add(f)
	f.BoolVar(&p.resume, "resume", false, "go on where an interrupted run stopped")
	f.BoolVar(&p.noTiming, "omit-timing", false, "leave times and memory out, so that two runs give identical files")
	f.BoolVar(&p.quiet, "quiet", false, "no line for each command that is run")
}

// check refuses what is missing or contradicts itself, and returns the names of the
// experiments.
func (p *paperFlags) check(f *pflag.FlagSet) ([]string, error) {
	names := []string{f.Arg(0)}
	switch {
	case f.Arg(0) == "all":
		names = paper.Names
	case f.NArg() == 0 || !slices.Contains(paper.Names, f.Arg(0)):
		return nil, fmt.Errorf("paper: no experiment %.40q: give %s or all", f.Arg(0), strings.Join(paper.Names, ", "))
	case f.NArg() > 1:
		return nil, fmt.Errorf("paper: takes one experiment, got %d words (%s)", f.NArg(), strings.Join(f.Args(), " "))
	}
	regression := slices.Contains(names, "regression")
	switch {
	case p.out == "":
		return nil, errors.New("--out is missing: name a folder to write to")
	case p.posterior != "" && !regression:
		return nil, errors.New("--posterior is for psafe paper regression: leave it out")
	case p.posterior == "" && (f.Changed("scale") || f.Changed("activation")):
		return nil, errors.New("--scale and --activation are for --posterior: the experiments know what their own files hold")
	}
	if p.data != "" {
		if err := paper.CheckData(p.data, names); err != nil {
			return nil, err
		}
	}
	return names, p.checkOut()
}

// checkOut refuses a folder that holds other results, unless they are to be resumed.
func (p *paperFlags) checkOut() error {
	info, err := os.Stat(p.out)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("--out %s: cannot be read: %w", p.out, outfile.Reason(err))
	case !info.IsDir():
		return fmt.Errorf("--out %s: is no folder: name one", p.out)
	}
	if old, err := os.ReadDir(filepath.Join(p.out, "runs")); err == nil && len(old) > 0 && !p.resume {
		return fmt.Errorf("--out %s: holds %d result files of an earlier run: add --resume to go on with it, or name another folder", p.out, len(old))
	}
	return nil
}

func runPaper(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	// What is resumed ends with the files of one run: --resume is no part of it.
	lasting := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return strings.HasPrefix(a, "--resume") || strings.HasPrefix(a, "--quiet")
	})
	p := paperFlags{command: "psafe paper " + quotedArgs(lasting)}
	f := newFlags("paper", paperAbout, stdout)
	p.add(f)
	if err := parse(f, args, anyNumber); err != nil {
		return err
	}
	names, err := p.check(f)
	if err != nil {
		return err
	}
	cfg := p.config(f, stderr)
	// A device that cannot be had is refused before anything is written.
	dev, err := p.device.open(stderr)
	if err != nil {
		return err
	}
	dev.close()
	if err := p.checkPurpose(f.Arg(0)); err != nil {
		return err
	}
	start := time.Now()
	var experiments []*paper.Experiment
	runs := 0
	for _, name := range names {
		e, err := paper.New(name, cfg)
		if err != nil {
			return err
		}
		experiments, runs = append(experiments, e), runs+len(e.Runs)
	}
	j := &paperJob{paperFlags: &p, names: names, what: f.Arg(0), stderr: stderr, total: runs, start: start}
	if err := j.write("experiment", []byte(p.purpose(j.what))); err != nil {
		return err
	}
	for _, e := range experiments {
		if err := j.experiment(ctx, e); err != nil {
			return err
		}
	}
	if err := j.finish(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %s, %d commands, %d records, %.0f s\n", filepath.Join(p.out, "paper.md"), strings.Join(names, ", "), runs, j.records, time.Since(start).Seconds())
	return err
}

// purpose is what the output folder is for, noted in its file "experiment": two
// different experiments must not end in one page.
func (p *paperFlags) purpose(what string) string {
	return fmt.Sprintf("%s quick=%v data=%q posterior=%q scale=%q activation=%q precision=%s omit-timing=%v\n", what, p.quick, p.data, p.posterior, p.post.scale,
		p.post.activation, p.device.precision, p.noTiming)
}

// checkPurpose refuses to resume something else.
func (p *paperFlags) checkPurpose(what string) error {
	old, err := os.ReadFile(filepath.Join(p.out, "experiment"))
	if err == nil && p.resume && string(old) != p.purpose(what) {
		return fmt.Errorf("--out %s: holds another run, %s: give its flags, or name another folder", p.out, run.Printable(strings.TrimSpace(string(old))))
	}
	return nil
}

func (p *paperFlags) config(f *pflag.FlagSet, stderr io.Writer) *paper.Config {
	var flags []string
	if p.post.scale != "" {
		flags = append(flags, "--scale", p.post.scale)
	}
	if len(p.post.activation) > 0 {
		flags = append(flags, "--activation", strings.Join(p.post.activation, ","))
	}
	return &paper.Config{
		Out: p.out, Data: p.data, Quick: p.quick, Posterior: p.posterior, PosteriorFlags: flags,
		Train: func(args []string) error {
			if !p.quiet {
				fmt.Fprintf(stderr, "psafe: train %s\n", quotedArgs(args))
			}
			return runTrain(args, io.Discard, io.Discard)
		},
		Device: fallback.New(bound.Float64),
	}
}

// paperJob is the work of a run.
type paperJob struct {
	*paperFlags
	names          []string
	what           string // as typed
	stderr         io.Writer
	start          time.Time
	done, total    int
	records        int
	computed       string // the device that the records name
	text, commands bytes.Buffer
}

// experiment runs the commands of an experiment and writes what is told of it.
func (j *paperJob) experiment(ctx context.Context, e *paper.Experiment) error {
	results := paper.Results{}
	for _, r := range e.Runs {
		records, err := j.run(ctx, r)
		if err != nil {
			return err
		}
		results[r.Name] = records
	}
	section, err := e.Report(results)
	if _, wrong := errors.AsType[*paper.Contradiction](err); wrong {
		return &statusError{exitDifference, err}
	}
	if err != nil {
		return err
	}
	if err := section.Files(j.write); err != nil {
		return err
	}
	if j.text.Len() > 0 {
		j.text.WriteString("\n")
	}
	return section.Markdown(&j.text)
}

// run is one psafe certify command; finished ones are read.
func (j *paperJob) run(ctx context.Context, r paper.Run) ([]report.Placed, error) {
	j.done++
	out := filepath.Join(j.out, "runs", r.Name+".jsonl")
	args := append(append([]string{}, r.Args...), "--out", out)
	fmt.Fprintf(&j.commands, "psafe certify %s\n", quotedArgs(args))
	args = append(args, "--device", j.device.device, "--precision", j.device.precision, "--resume", "--quiet")
	if j.device.memory != "" {
		args = append(args, "--memory", j.device.memory)
	}
	if j.device.profile {
		args = append(args, "--profile")
	}
	if j.noTiming {
		args = append(args, "--omit-timing")
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return nil, fmt.Errorf("--out %s: cannot be written: %w", j.out, outfile.Reason(err))
	}
	run.ResetPeak()
	begin := time.Now()
	c, job, err := parseCertify(args, io.Discard)
	if err != nil {
		return nil, err
	}
	job.Version, job.Open = version(), c.device.opener(j.stderr)
	_, err = j.watched(r.Name, func(progress func(done, total int)) ([]*report.Record, error) {
		job.Progress = progress
		return job.Run(ctx)
	})
	if err != nil {
		if errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return nil, &run.Interrupted{Words: fmt.Sprintf(" in command %d of %d; what is finished is in %s: go on with --resume", j.done, j.total, j.out)}
		}
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	records, err := readResults(out)
	if err != nil {
		return nil, err
	}
	j.records += len(records)
	if r := records[0]; r.Device != "host" {
		j.computed = r.Device
	}
	if !j.quiet {
		fmt.Fprintf(j.stderr, "psafe: %3d/%d %7.1f s  %s: %d records, %.1f s\n", j.done, j.total, time.Since(j.start).Seconds(), r.Name, len(records), time.Since(begin).Seconds())
	}
	return records, nil
}

// watched shows how far a command is: as a bar on a terminal, else in a line now and then.
func (j *paperJob) watched(name string, f func(func(done, total int)) ([]*report.Record, error)) ([]*report.Record, error) {
	if j.quiet {
		return f(nil)
	}
	bar := &bar{w: j.stderr}
	defer bar.end()
	last := time.Now()
	return f(func(done, total int) {
		if _, terminal := isTerminal(j.stderr); terminal {
			bar.update(done, total)
		} else if time.Since(last) > watchEvery && done < total {
			last = time.Now()
			fmt.Fprintf(j.stderr, "psafe: %3d/%d %7.1f s  %s: %d of %d records\n", j.done, j.total, time.Since(j.start).Seconds(), name, done, total)
		}
	})
}

// watchEvery is how often a line says how far a long command is.
const watchEvery = 20 * time.Second

// write writes a file of the output folder: complete or not at all.
func (j *paperJob) write(name string, content []byte) error {
	path := filepath.Join(j.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w", path, outfile.Reason(err))
	}
	if err := outfile.WriteFile(path, content); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}

// finish writes paper.md.
func (j *paperJob) finish() error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The experiments of \"Probabilistic Safety for Bayesian Neural Networks\"\n\nMade by psafe %s:\n\n    %s\n\n", version(), j.command)
	b.WriteString(paper.Preface)
	if !j.noTiming {
		fmt.Fprintf(&b, "\nTimes are wall-clock times: %s/%s, %d processor cores, device %s.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), j.computed)
	}
	b.WriteString("\n")
	b.Write(j.text.Bytes())
	if files := paper.Files(j.names); j.data == "" && j.posterior == "" && len(files) > 0 {
		fmt.Fprintf(&b, "\n## With the released posteriors\n\nThe posteriors above are this project's own. Those that the authors of the paper released are read with\n\n"+
			"    psafe paper %s --data DATA --out DIR\n\nwhere the folder DATA holds\n\n", j.what)
		for _, f := range files {
			fmt.Fprintf(&b, "- `%s`\n", f)
		}
	}
	fmt.Fprintf(&b, "\n## Commands\n\nEvery bound above is in a result file of one of these.\n\n```\n%s```\n", j.commands.String())
	return j.write("paper.md", b.Bytes())
}

// quotedArgs joins arguments as a shell would read them.
func quotedArgs(args []string) string {
	var words []string
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~`!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
