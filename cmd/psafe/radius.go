package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/record"
	"psafe/internal/outfile"
)

const radiusAbout = `psafe radius finds for each input the largest radius eps at which a verdict is
certified, and the smallest at which it is refuted, by bisection.

  psafe radius --posterior net.npz --inputs images.gz --clip 0,1 --most 0.1
  psafe radius --posterior net.npz --inputs images.gz --target decision \
      --method clbp --most 0.05 --step 0.0005 --out radii.jsonl

The verdict is safe against --require, or with --target decision what the
posterior predictive decides. Radii are multiples of --step. Each input has a
line of CSV on standard output. The records at both ends go to --out, where
psafe check proves them again; means of bounds over these records say nothing of
the inputs, as a radius was chosen for its verdict. Every input has one for each
end: where nothing was certified that of the point itself, where nothing was
refuted that at the largest radius.`

// radiusWithout are the flags of certify that radius does not have.
var radiusWithout = []string{"eps", "time-limit", "fail-unless", "junit", "columns"}

// addRadius adds the flags of radius: those of certify, and what says which radii.
func (c *certifyFlags) addRadius(f *pflag.FlagSet) {
	var all pflag.FlagSet
	all.SortFlags = false
	c.add(&all)
	all.VisitAll(func(flag *pflag.Flag) {
		switch flag.Name {
		case "eps":
			f.StringVar(&c.tasks.points.Most, "most", "", "the largest radius that is looked at, such as 0.1; required")
			f.StringVar(&c.tasks.points.Step, "step", "", "radii are multiples of this, such as 0.001 or 1/255 (default a 256th of --most)")
		case "out":
			flag.Usage = "`FILE` of the records at both ends, JSON Lines"
		case "resume":
			flag.Usage = "go on with the records in OUT.partial"
		case "quiet":
			flag.Usage = "no progress, notes or means"
		}
		if !slices.Contains(radiusWithout, flag.Name) {
			f.AddFlag(flag)
		}
	})
}

// newRadius is the command with its flags.
func newRadius() (*certifyFlags, *cobra.Command) {
	c := &certifyFlags{}
	cmd, f := newCommand("radius", "the largest certified, smallest refuted radius of each input", radiusAbout, 0)
	c.addRadius(f)
	return c, cmd
}

// parseRadius makes a job of the flags of a campaign.
func parseRadius(args []string) (*certify.Job, error) {
	c, cmd := newRadius()
	c.flat(cmd.Flags())
	if err := readFlags(cmd, args); err != nil {
		return nil, err
	}
	return c.ofRadii(cmd.Flags())
}

// ofRadii is the job of flags that were read.
func (c *certifyFlags) ofRadii(f *pflag.FlagSet) (*certify.Job, error) {
	if c.tasks.points.Most == "" {
		return nil, errors.New("--most is missing: the largest radius that is looked at, for example 0.1")
	}
	if record.IsTable(c.out.path) {
		return nil, fmt.Errorf("--out %.60s: the records of radii are JSON Lines: give another name", c.out.path)
	}
	return c.parsed(f)
}

func radiusCommand() *cobra.Command {
	c, cmd := newRadius()
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		job, err := c.ofRadii(cmd.Flags())
		if err != nil {
			return err
		}
		return c.search(ctx, job, stdout, stderr)
	})
}

// search finds the radii and writes them.
func (c *certifyFlags) search(ctx context.Context, job *certify.Job, stdout, stderr io.Writer) error {
	if err := job.Refuse(); err != nil {
		return err
	}
	keep := ""
	if c.out.path != "" {
		keep = c.out.path + certify.PartialSuffix
	}
	if done, err := c.device.supervised(ctx, newSupervised(ctx, stdout, stderr, keep)); done || err != nil {
		return err
	}
	progress := c.device.begin(job, stderr, c.progress, c.quiet)
	var lines strings.Builder
	var found record.FoundRadii
	var decided record.Decisions
	var row []string
	drawn := true // networks alone, of all records
	err := job.Each(ctx, func(r *record.Record) {
		found.Add(r)
		drawn = drawn && r.Method == prove.Statistical.String()
		eps := ""
		if certified := r.RadiusEnd == record.RadiusEndWords[0]; certified && r.Wanted() > 0 {
			eps = r.Eps
			decided.Add(r)
		} else if !certified && r.Wanted() < 0 {
			eps = r.Eps
		}
		if r.RadiusEnd == record.RadiusEndWords[0] {
			label := ""
			if r.Label != nil {
				label = strconv.Itoa(*r.Label)
			}
			row = []string{strconv.Itoa(r.Index), label, eps}
			if !job.Method.NoUpper {
				return
			}
			eps = ""
		}
		fmt.Fprintln(&lines, strings.Join(append(row, eps), ","))
	})
	progress.end()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(forProgram(stdout), "index,label,certified,refuted\n"+lines.String()); err != nil {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	if !c.quiet {
		fmt.Fprintln(stderr, "psafe:", meansOfRadii(&found, &decided))
		if found.Certified() == 0 && drawn && !job.Method.Decision {
			fmt.Fprintln(stderr, "psafe: no radius is certified, since drawn networks prove no p_lower: use --method auto or clbp, or --target decision")
		}
	}
	return nil
}

// meansOfRadii tells in a line how large radii are.
func meansOfRadii(found *record.FoundRadii, decided *record.Decisions) string {
	words := []string{fmt.Sprintf("%d of %d inputs have a certified radius, of %s on average over all", found.Certified(), found.Inputs(), record.DecimalDown(found.MeanCertified(), 6))}
	if m := found.Refuted(); m > 0 {
		words = append(words, fmt.Sprintf("%d a refuted one, of %s on average over these", m, record.DecimalUp(found.MeanRefuted(), 6)))
	}
	if decided.Rejecting > 0 {
		words = append(words, fmt.Sprintf("the class itself is taken at %d of the certified radii: elsewhere the decision that stays is another, such as to abstain", decided.Taken))
	}
	return strings.Join(words, "; ")
}
