package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/check"
	"psafe/host/job/campaign"
	"psafe/host/record"
	"psafe/internal/infile"
)

const checkAbout = `psafe check proves the bounds of result files again, by itself: no bound of a
network is computed by the code that made them. Of each record it takes what
identifies the certificate, recomputes the bound from the posterior and the
inputs, and compares.

  psafe check results.jsonl
  psafe check loop.json
  psafe certify ... | psafe check -

The result of psafe loop is proved with the records of its cells.

A record that does not pass is one line that names the file, the line and the
field. The exit status is 1 if there is one, or if a task of a run is missing.`

// checkFlags are the flags of check.
type checkFlags struct {
	check.Files
	sample float64
	seed   uint64
	line   int
	quiet  bool
	json   bool
}

func (c *checkFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.Posterior, "posterior", "", "the posterior file or directory, if it is not where the records say")
	f.StringVar(&c.SDFile, "sd-file", "", "the file of standard deviations of an ONNX network, if it is not where the records say")
	f.StringVar(&c.Inputs, "inputs", "", "the data file or property file, if it is not where the records say")
	f.Float64Var(&c.sample, "sample", 1, "prove only this share of the records, drawn by --seed; of all others, what the lines say of themselves is checked")
	f.Uint64Var(&c.seed, "seed", 0, "seed of --sample")
	f.IntVar(&c.line, "line", 0, "prove only the record in this line, from 1, of one file; of all others, what the lines say of themselves is checked")
	f.BoolVar(&c.quiet, "quiet", false, "no progress bar")
	f.BoolVar(&c.json, "json", false, jsonLinesUsage)
}

// mistaken refuses flags that say nothing or contradict each other.
func (c *checkFlags) mistaken(f *pflag.FlagSet) error {
	switch {
	case f.NArg() == 0:
		return errors.New("check needs a result file: name those that psafe certify --out wrote, or - for standard input: psafe check results.jsonl")
	case !(c.sample >= 0 && c.sample <= 1):
		return fmt.Errorf("--sample %v is no share: give a number from 0 to 1", c.sample)
	case !f.Changed("line"):
		return nil
	case c.line < 1:
		return fmt.Errorf("--line %d is no line: they are counted from 1", c.line)
	case f.Changed("sample"):
		return errors.New("--line and --sample cannot be combined: each says what is proved: leave one out")
	case f.NArg() > 1:
		return fmt.Errorf("--line %d is of one file, and %d are named: name one", c.line, f.NArg())
	}
	return nil
}

func checkCommand() *cobra.Command {
	var c checkFlags
	cmd, f := newCommand("check", "prove the bounds of result files again, independently", checkAbout, anyNumber)
	c.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if err := c.mistaken(f); err != nil {
			return err
		}
		t := checked{flags: &c, stdout: stdout, progress: &bar{w: stderr}, draw: rand.New(rand.NewPCG(c.seed, 0))}
		t.checker.Given = c.Files
		if !c.quiet {
			t.total = countRecords(f.Args())
		}
		for _, path := range f.Args() {
			if err := t.file(ctx, path); err != nil {
				t.progress.end()
				return err
			}
		}
		t.progress.end()
		return t.end()
	})
}

// checked holds what has been checked so far.
type checked struct {
	flags                           *checkFlags
	checker                         check.Checker
	runs                            check.Runs
	draw                            *rand.Rand
	stdout                          io.Writer
	progress                        *bar
	total, records, proved, refused int
	nothing                         int  // claimed
	found                           bool // --line
	statistical                     bool
}

// file checks a result file.
func (t *checked) file(ctx context.Context, path string) error {
	if err := record.NoTable(path); err != nil {
		return err
	}
	if _, err := campaign.Open(path); err == nil {
		return fmt.Errorf("%s: is the folder of a campaign: give the result file that psafe merge makes of it", path)
	}
	if text, err := check.LoopText(path); err != nil || text != nil {
		return t.loop(ctx, path, text)
	}
	name := path
	if path == "-" {
		name = "/dev/stdin"
	}
	file, err := infile.OpenInput(name)
	if err != nil {
		return fmt.Errorf("%s: cannot be read: %w: name a result file", path, err)
	}
	defer file.Close()
	err = check.Lines(file, func(n int, line []byte) error {
		prove := t.draw.Float64() < t.flags.sample
		if t.flags.line > 0 {
			prove = n == t.flags.line
			t.found = t.found || prove
		}
		v, err := t.checker.Check(ctx, line, !prove)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		t.runs.Add(v)
		t.records++
		t.statistical = t.statistical || v.Statistical
		switch {
		case v.Refused != nil:
			t.refused++
			t.progress.end()
			if err := t.say(refusedLine{path, n, v.Refused.Error()}, fmt.Sprintf("%s: line %d: %s", plain(path), n, plain(v.Refused.Error()))); err != nil {
				return err
			}
		case prove && !v.Claims:
			t.nothing++
		case prove:
			t.proved++
		}
		if t.total > 0 {
			t.progress.update(t.records, t.total)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// loop checks the result of a closed loop, with the records of its cells: it counts as one record of them.
func (t *checked) loop(ctx context.Context, path string, text []byte) error {
	if t.flags.sample < 1 || t.flags.line > 0 {
		return fmt.Errorf("%s: is the result of a loop, which is proved as a whole: leave out --sample and --line", path)
	}
	total := t.records
	refused, err := t.checker.Loop(ctx, text, func() {
		total++
		if !t.flags.quiet {
			t.progress.update(total, max(t.total, total))
		}
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	t.records++
	if refused == nil {
		t.proved++
		return nil
	}
	t.refused++
	t.progress.end()
	return t.say(refusedLine{path, 1, refused.Error()}, fmt.Sprintf("%s: %s", plain(path), plain(refused.Error())))
}

// say writes a line for people, or with --json for programs.
func (t *checked) say(object any, line string) error {
	if t.flags.json {
		return printJSON(t.stdout, object)
	}
	_, err := fmt.Fprintln(t.stdout, line)
	return err
}

// end tells what came out.
func (t *checked) end() error {
	gaps := t.runs.Gaps()
	for _, g := range gaps {
		if err := t.say(gapLine{g}, g); err != nil {
			return err
		}
	}
	if t.records == 0 {
		return errors.New("check: there is no record in the files: name those that psafe certify --out wrote")
	}
	if t.flags.line > 0 && !t.found {
		return fmt.Errorf("--line %d has no record: the file has %d records: give the line of one", t.flags.line, t.records)
	}
	unproved := t.records - t.proved - t.nothing - t.refused
	summary := fmt.Sprintf("%d records: %d proved again, %d refused", t.records, t.proved, t.refused)
	if t.nothing > 0 {
		summary += fmt.Sprintf(", %d claim nothing", t.nothing)
	}
	if unproved > 0 {
		summary += fmt.Sprintf(", %d only read", unproved)
	}
	if t.statistical {
		summary += "; statistical intervals are not proved: what was drawn is not in a record"
	}
	if err := t.say(checkedLine{t.records, t.proved, t.refused, t.nothing, unproved, len(gaps), t.statistical}, summary); err != nil {
		return err
	}
	switch {
	case t.refused > 0:
		return &statusError{exitDifference, fmt.Errorf("%d of %d records are refused", t.refused, t.records)}
	case len(gaps) > 0:
		return &statusError{exitDifference, errors.New("not all tasks of a run are there once")}
	}
	return nil
}

// countRecords returns how many records there are, for the progress bar, 0 if that cannot be known
// beforehand.
func countRecords(paths []string) int {
	total := 0
	for _, path := range paths {
		file, err := infile.Open(path)
		if err != nil {
			return 0
		}
		_ = check.Lines(file, func(int, []byte) error { total++; return nil })
		file.Close()
	}
	return total
}

// refusedLine holds what psafe check --json says of a record that does not pass, gapLine of a run
// whose tasks are not all there once, checkedLine at the end.
type refusedLine struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Refused string `json:"refused"`
}

type gapLine struct {
	Gap string `json:"gap"`
}

type checkedLine struct {
	Records     int  `json:"records"`
	Proved      int  `json:"proved"`
	Refused     int  `json:"refused"`
	Nothing     int  `json:"claim_nothing"`
	Read        int  `json:"only_read"`
	Gaps        int  `json:"gaps"`
	Statistical bool `json:"statistical"`
}
