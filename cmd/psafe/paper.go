package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/lab/paper"
	"psafe/internal/nearest"
)

const paperAbout = `psafe paper runs the experiments of "Probabilistic Safety for Bayesian Neural
Networks" (UAI 2020) and writes tables and figures, psafe's bounds beside what
the paper printed: regression, vcas, mnist, scale or all.

  psafe paper all --quick --out DIR           a minute, from the program alone
  psafe paper all --data DATA --out DIR       with the released posteriors
  psafe paper regression --posterior net.npz --out DIR

Without --quick a run takes minutes. DATA is a folder with the released files:
uai2020/VCAS_MODEL_512.net and so on (docs/paper.md lists them). DIR gets
paper.md, tables as CSV, figures as SVG and PNG, the result file of every psafe
certify command that was run, and commands.txt with the commands.`

// paperFlags are all flags of paper as typed.
type paperFlags struct {
	out             outFlags
	data, posterior string
	post            posteriorFlags
	device          deviceFlags
	quick, resume   bool
	noTiming, quiet bool
}

func (p *paperFlags) add(f *pflag.FlagSet) {
	p.out.add(f, "`DIR` to write to; required")
	f.StringVar(&p.data, "data", "", "`DIR` of the released posteriors and images; without it the project's own are used")
	f.BoolVar(&p.quick, "quick", false, "less of everything: less than a minute without --data")
	f.StringVar(&p.posterior, "posterior", "", "regression: this posterior of one input and one output instead of a trained one")
	p.post.add(f)
	keys := newOptions()
	p.device.add(f, keys)
	addOptions(f, keys)
	f.BoolVar(&p.resume, "resume", false, "go on where an interrupted run stopped")
	f.BoolVar(&p.noTiming, "omit-timing", false, "leave times and memory out, so that two runs give identical files")
	f.BoolVar(&p.quiet, "quiet", false, "no line for each command that is run")
}

// names refuses what is missing or contradicts itself, and returns the names of the
// experiments.
func (p *paperFlags) names(f *pflag.FlagSet) ([]string, error) {
	names := []string{f.Arg(0)}
	switch {
	case f.Arg(0) == "all":
		names = paper.Names
	case f.NArg() == 0:
		return nil, fmt.Errorf("paper needs the name of an experiment, %s or all: psafe paper all --quick --out DIR", strings.Join(paper.Names, ", "))
	case !slices.Contains(paper.Names, f.Arg(0)):
		return nil, fmt.Errorf("paper: no experiment %.40q: give %s or all%s", f.Arg(0), strings.Join(paper.Names, ", "), nearest.Hint(f.Arg(0), append([]string{"all"}, paper.Names...)))
	case f.NArg() > 1:
		return nil, fmt.Errorf("paper: takes one experiment, got %d words (%s): give one, or all", f.NArg(), strings.Join(f.Args(), " "))
	}
	switch {
	case p.out.path == "":
		return nil, errors.New("--out is missing: name a folder to write to")
	case p.posterior != "" && !slices.Contains(names, "regression"):
		return nil, errors.New("--posterior is for psafe paper regression: leave it out")
	case p.posterior == "" && (f.Changed("scale") || f.Changed("activation")):
		return nil, errors.New("--scale and --activation are for --posterior: the experiments know what their own files hold: leave them out")
	}
	return names, nil
}

// config is what the flags ask for.
func (p *paperFlags) config(f *pflag.FlagSet) (*paper.Config, error) {
	names, err := p.names(f)
	if err != nil {
		return nil, err
	}
	post, err := p.post.of(p.posterior)
	if err != nil {
		return nil, err
	}
	precision, err := p.device.number()
	if err != nil {
		return nil, err
	}
	return &paper.Config{
		Names: names, What: f.Arg(0), Out: p.out.path, Resume: p.resume, Overwrite: p.out.overwrite, OmitTiming: p.noTiming, Data: p.data, Quick: p.quick,
		Posterior: post, Precision: precision, Device: fallback.New(bound.Float64), Version: version(),
	}, nil
}

func paperCommand() *cobra.Command {
	var p paperFlags
	cmd, f := newCommand("paper", "the experiments of the UAI 2020 paper, with tables and figures", paperAbout, anyNumber)
	p.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		cfg, err := p.config(f)
		if err != nil {
			return err
		}
		if err := cfg.CheckOut(); err != nil {
			return err
		}
		if done, err := p.device.supervised(ctx, newSupervised(ctx, stdout, stderr, p.out.path)); done || err != nil {
			return err
		}
		// What is resumed ends with the files of one run: neither --resume nor --overwrite is a part of it.
		lasting := slices.DeleteFunc(slices.Clone(commandLine(ctx)[1:]), func(a string) bool {
			return strings.HasPrefix(a, "--resume") || strings.HasPrefix(a, "--overwrite") || strings.HasPrefix(a, "--quiet")
		})
		cfg.Command = "psafe paper " + certify.Shell(lasting)
		p.device.again = true
		cfg.Open = p.device.opener(stderr)
		w := &watch{bar: bar{w: stderr}, last: time.Now()}
		if !p.quiet {
			cfg.Tell = w.tell
		}
		made, err := cfg.Run(ctx)
		w.bar.end()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "%s: %s, %d commands, %d records, %.0f s\n", plain(made.Page), strings.Join(cfg.Names, ", "), made.Runs, made.Records, made.Took.Seconds())
		return err
	})
}

// watch shows how far the experiments are: as a bar on a terminal, else in a line for each
// run, and now and then one for a long run.
type watch struct {
	bar  bar
	last time.Time // of a line or a run's beginning
}

// watchEvery is how often a line says how far a long run is.
const watchEvery = 20 * time.Second

func (w *watch) tell(e paper.Event) {
	line := func(format string, args ...any) {
		w.last = time.Now()
		fmt.Fprintf(w.bar.w, "psafe: %3d/%d %7.1f s  %s: ", e.At, e.Of, e.Since.Seconds(), plain(e.Run))
		fmt.Fprintf(w.bar.w, format, args...)
	}
	_, terminal := isTerminal(w.bar.w)
	switch {
	case e.Training != nil:
		fmt.Fprintf(w.bar.w, "psafe: %s\n", plain(certify.Shell(e.Training[1:])))
	case e.Ended:
		w.bar.end()
		line("%d records, %.1f s\n", e.Total, e.Took.Seconds())
	case terminal:
		w.bar.update(e.Done, e.Total)
	case time.Since(w.last) > watchEvery && e.Done < e.Total:
		line("%d of %d records\n", e.Done, e.Total)
	}
}
