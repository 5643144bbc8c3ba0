package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/job/campaign"
	"psafe/host/job/certify"
)

const planAbout = `psafe plan makes the folder of a campaign: many psafe certify jobs, over
posteriors, inputs, radii, methods and properties, that are done in any number
of shards.

  psafe plan campaign.yaml --out DIR
  psafe plan campaign.yaml --list

A campaign file lists what is to be combined; the flags and options of
psafe certify that decide numbers are keys:

    posteriors: [a.npz, b.npz]
    inputs: [{path: images.gz, index: "0:20", clip: "0,1"}]
    eps: ["0.01", "2/255"]
    methods: [auto]

Paths are relative to the file. All files are read.`

// planFlags are the flags of plan.
type planFlags struct {
	out, progress string
	list, quiet   bool
}

func (p *planFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.out, "out", "", "`DIR` of the campaign: new, empty or of this very campaign; required without --list")
	f.BoolVar(&p.list, "list", false, "print each job as a psafe certify command, for the folder of the campaign file, and plan nothing")
	f.StringVar(&p.progress, "progress", progressAuto, progressUsage)
	f.BoolVar(&p.quiet, "quiet", false, "no progress or notes; --progress json still counts")
}

// campaignLists are the flags that take several values with commas between, where pflag does
// not say so.
var campaignLists = []string{"inputs", "eps", "clip", "index", "fix", "free", "mean", "std", "input-noise"}

// campaignElsewhere are the flags of certify that a campaign file may not have.
var campaignElsewhere = func() map[string]string {
	list := map[string]string{
		"out":         "psafe run keeps the records in the campaign's folder, and psafe merge makes a file of them: leave it out",
		"overwrite":   "psafe run overwrites nothing, and psafe merge has a flag of this name: leave it out",
		"resume":      "psafe run always goes on with what is there: leave it out",
		"columns":     "psafe merge has a flag of this name: leave it out",
		"junit":       "it decides no number: leave it out",
		"fail-unless": "it decides no number: leave it out",
		"strict":      "psafe plan tells doubts before anything is run: leave it out",
	}
	for _, name := range []string{"device", "quiet", "progress", "omit-timing", "total-time-limit"} {
		list[name] = "it decides no number: give --" + name + " to psafe run"
	}
	for _, name := range []string{"memory", "profile", "recheck"} {
		list[name] = "it decides no number: give --options " + name + "=VALUE to psafe run"
	}
	return list
}()

// campaignKeys are the flags of certify as keys of a campaign file.
func campaignKeys() []campaign.Flag {
	f := pflag.NewFlagSet("certify", pflag.ContinueOnError)
	f.SortFlags = false
	var c certifyFlags
	c.add(f)
	c.flat(f)
	ofRadii := pflag.NewFlagSet("radius", pflag.ContinueOnError)
	new(certifyFlags).addRadius(ofRadii)
	f.AddFlagSet(ofRadii)
	var keys []campaign.Flag
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "options" {
			return // its keys are some
		}
		_, slice := flag.Value.(pflag.SliceValue)
		keys = append(keys, campaign.Flag{
			Name: flag.Name, Switch: flag.NoOptDefVal != "", List: slice || slices.Contains(campaignLists, flag.Name),
			Elsewhere: campaignElsewhere[flag.Name],
		})
	})
	for _, name := range []string{"boxes", "uniform"} { // of before
		keys = append(keys, campaign.Flag{Name: name, Elsewhere: foreignFlags[name]})
	}
	return keys
}

// campaignJob makes a job of a campaign of its flags.
func campaignJob(args []string) (*certify.Job, error) {
	job, err := parseJob(args)
	if err != nil {
		return nil, err
	}
	job.Version = version()
	return job, nil
}

// parseJob makes a job of the flags of certify, or of those of radius where --most is one of them.
func parseJob(args []string) (*certify.Job, error) {
	if commandOf(args) == "radius" {
		if i := slices.IndexFunc(args, func(word string) bool {
			return slices.Contains(radiusWithout, strings.TrimPrefix(word, "--")) && strings.HasPrefix(word, "--")
		}); i >= 0 {
			return nil, fmt.Errorf("%s is not for radii, which most and step say: leave one of them out", args[i])
		}
		return parseRadius(args)
	}
	_, job, err := parseCertify(args, true)
	return job, err
}

// commandOf is the command whose flags a job of a campaign has.
func commandOf(args []string) string {
	if slices.Contains(args, "--most") || slices.Contains(args, "--step") {
		return "radius"
	}
	return "certify"
}

func planCommand() *cobra.Command {
	var p planFlags
	cmd, f := newCommand("plan", "a campaign of many certify jobs: every task, with an id of its own", planAbout, 1)
	p.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		switch {
		case p.out == "" && !p.list:
			return errors.New("--out is missing: name a folder for the campaign, or give --list to see its jobs")
		case p.out != "" && p.list:
			return errors.New("--list and --out cannot be combined: nothing is written with --list: leave one out")
		}
		if err := progressMistaken(p.progress); err != nil {
			return err
		}
		spec, err := campaign.ReadSpec(f.Arg(0), campaignKeys())
		if err != nil {
			return err
		}
		dir, err := filepath.Abs(p.out)
		if err == nil {
			err = os.Chdir(filepath.Dir(f.Arg(0)))
		}
		if err != nil {
			return err
		}
		progress := newProgress(stderr, p.progress)
		progress.what = "tasks"
		planner := campaign.Planner{Parse: campaignJob, Version: version(), Note: p.notes(stderr)}
		if !p.quiet || p.progress == progressJSON {
			planner.Progress = progress.update
		}
		if planner.Note != nil && spec.Renamed.Words != nil {
			planner.Note(&spec.Renamed)
		}
		if p.list {
			return listJobs(stdout, stderr, &planner, spec)
		}
		planned, isNew, err := planner.Plan(ctx, spec, dir)
		progress.end()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s: %s in %s, campaign %s", plain(p.out), howMany(planned.Tasks, "task"), howMany(len(planned.Jobs), "job"), planned.Campaign)
		if !isNew {
			line += ": was planned before, nothing is changed"
		}
		_, err = fmt.Fprintln(stdout, line)
		return err
	})
}

// notes prints each note once, whichever jobs have it; nil if none is wanted.
func (p *planFlags) notes(stderr io.Writer) func(certify.Note) {
	if p.quiet {
		return nil
	}
	told := map[string]bool{}
	return func(n certify.Note) {
		if text := n.String(); !told[text] {
			told[text] = true
			eraseBar(stderr)
			note(stderr, n)
		}
	}
}

// listJobs prints the jobs as commands.
func listJobs(stdout, stderr io.Writer, planner *campaign.Planner, spec *campaign.Spec) error {
	if _, err := planner.Jobs(spec); err != nil {
		return err
	}
	var text strings.Builder
	for i := range spec.Jobs() {
		text.WriteString(certify.Shell(append([]string{"psafe", commandOf(spec.Args(i))}, certify.InOptions(spec.Args(i))...)) + "\n")
	}
	return printForProgram(text.String(), stdout, stderr)
}
