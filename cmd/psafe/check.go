package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/check"
	"psafe/host/job/campaign"
	"psafe/host/job/certify"
	"psafe/host/record"
	"psafe/internal/infile"
)

const checkAbout = `psafe check proves the bounds of result files again, by itself: no bound of a
network is computed by the code that made them.

  psafe check results.jsonl
  psafe check loop.json
  psafe certify ... | psafe check -

The result of psafe loop, or of psafe map --input-law, is proved with the
records of its cells.

A record that does not pass is one line that names the file, the line and the
field. The exit status is 1 if there is one, or if a task of a run is missing.
With --resume it goes on after an interruption.`

// checkFlags are the flags of check.
type checkFlags struct {
	check.Files
	sample float64
	seed   uint64
	line   int
	resume string
	total  time.Duration
	quiet  bool
	json   bool
}

func (c *checkFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.Posterior, "posterior", "", "the posterior file or directory, if it is not where the records say")
	f.StringVar(&c.SDFile, "sd-file", "", "the file of standard deviations of an ONNX network, if it is not where the records say")
	f.StringVar(&c.Inputs, "inputs", "", "the data file or property file, if it is not where the records say")
	f.Float64Var(&c.sample, "sample", 1, "prove only this share of the records, drawn by --seed; the others are only read")
	f.Uint64Var(&c.seed, "seed", 0, "seed of --sample")
	f.IntVar(&c.line, "line", 0, "prove only the record in this line, from 1, of one file; the others are only read")
	f.StringVar(&c.resume, "resume", "", "`FILE` of what this version has proved, by content: not proved anew")
	f.DurationVar(&c.total, "total-time-limit", 0, "how long it may take, such as 1h; it then ends with status 5 (default no limit)")
	f.BoolVar(&c.quiet, "quiet", false, "no progress")
	f.BoolVar(&c.json, "json", false, jsonLinesUsage)
}

// mistaken refuses flags that say nothing or contradict each other.
func (c *checkFlags) mistaken(f *pflag.FlagSet) error {
	switch {
	case f.NArg() == 0:
		return errors.New("check needs a result file: name those that psafe certify --out wrote, or - for standard input: psafe check results.jsonl")
	case !(c.sample >= 0 && c.sample <= 1):
		return fmt.Errorf("--sample %v is no share: give a number from 0 to 1", c.sample)
	case f.Changed("total-time-limit") && c.total <= 0:
		return fmt.Errorf("--total-time-limit %v is not above 0: give a time such as 1h", c.total)
	case f.Changed("resume") && c.resume == "":
		return errors.New("--resume names no file: name one that need not be there yet")
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
		before, err := openProved(c.resume, f.Args())
		if err != nil {
			return err
		}
		t := checked{flags: &c, stdout: stdout, progress: newProgress(stderr, progressAuto), before: before, draw: rand.New(rand.NewPCG(c.seed, 0))}
		t.progress.what = "records"
		if c.quiet {
			t.progress.word = progressNone
		} else {
			t.total = countRecords(f.Args())
		}
		return t.all(ctx, f.Args(), stderr)
	})
}

// checked holds what has been checked so far.
type checked struct {
	flags                           *checkFlags
	runs                            check.Runs
	before                          *proved
	draw                            *rand.Rand
	stdout                          io.Writer
	progress                        *progress
	total, records, proved, refused int
	earlier                         int  // of proved: by --resume
	nothing                         int  // claimed
	found                           bool // --line
	statistical                     bool
	absent                          error // of a file that records name
}

// all checks all files and tells what came out, or so far.
func (t *checked) all(outer context.Context, paths []string, stderr io.Writer) error {
	ctx := outer
	if t.flags.total > 0 {
		limited, cancel := context.WithTimeout(outer, t.flags.total)
		defer cancel()
		defer endLate(&t.flags.total, stderr)()
		ctx = limited
	}
	t.progress.update(0, t.total)
	err := check.OnCores(ctx, t.flags.Files, func(put check.Put) error {
		for _, path := range paths {
			if err := t.file(ctx, put, path); err != nil {
				return err
			}
		}
		return nil
	})
	t.progress.end()
	switch {
	case ctx.Err() != nil:
		return t.soFar(outer.Err() == nil)
	case err != nil:
		return errors.Join(err, t.before.leave())
	}
	if err := t.before.complete(); err != nil {
		return err
	}
	return t.end()
}

// file hands the lines of a result file to checkers.
func (t *checked) file(ctx context.Context, put check.Put, path string) error {
	if err := record.NoTable(path); err != nil {
		return err
	}
	if _, err := campaign.Open(path); err == nil {
		return fmt.Errorf("%s: is the folder of a campaign: give the result file that psafe merge makes of it", path)
	}
	if text, err := check.LoopText(path); err != nil || text != nil {
		return t.whole(ctx, path, text, (*check.Checker).Loop)
	}
	if text, err := check.AverageText(path); err != nil || text != nil {
		return t.whole(ctx, path, text, (*check.Checker).Average)
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
		l := asked{path: path, n: n, prove: t.draw.Float64() < t.flags.sample, digest: provedDigest(line)}
		if t.flags.line > 0 {
			l.prove = n == t.flags.line
			t.found = t.found || l.prove
		}
		l.earlier = l.prove && t.before.has(l.digest)
		return put(line, !l.prove || l.earlier, func(v check.Verdict, err error) error { return t.told(&l, v, err) })
	})
	if err != nil && ctx.Err() == nil && t.absent == nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// asked is a line of a file: whether it is to be proved, and was proved earlier.
type asked struct {
	path           string
	n              int
	prove, earlier bool
	digest         [sha256.Size]byte
}

// told takes in what came of a line.
func (t *checked) told(l *asked, v check.Verdict, err error) error {
	if err != nil {
		t.absent = fmt.Errorf("%s: line %d: %w", l.path, l.n, err)
		return t.absent
	}
	t.runs.Add(v)
	t.records++
	t.statistical = t.statistical || v.Statistical
	switch {
	case v.Refused != nil:
		t.refused++
		t.progress.clear()
		if err := t.say(refusedLine{l.path, l.n, v.Refused.Error()}, fmt.Sprintf("%s: line %d: %s", plain(l.path), l.n, plain(v.Refused.Error()))); err != nil {
			return err
		}
	case l.prove && !v.Claims:
		t.nothing++
	case l.earlier:
		t.proved++
		t.earlier++
	case l.prove:
		t.proved++
		if err := t.before.add(l.digest); err != nil {
			return err
		}
	}
	t.progress.update(t.records, t.total)
	return nil
}

// whole checks the result of a closed loop or of a law of inputs, with the records of its cells: it counts as one record of them.
func (t *checked) whole(ctx context.Context, path string, text []byte, prove func(*check.Checker, context.Context, []byte, func()) (refused, err error)) error {
	if t.flags.sample < 1 || t.flags.line > 0 {
		return fmt.Errorf("%s: is the result of a loop or of a law of inputs, which is proved as a whole: leave out --sample and --line", path)
	}
	total := t.records
	refused, err := prove(&check.Checker{Given: t.flags.Files}, ctx, text, func() {
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
	t.statistical = t.statistical || bytes.Contains(text, []byte(`"statistical":`))
	if refused == nil {
		t.proved++
		return nil
	}
	t.refused++
	t.progress.clear()
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
	if err := t.say(t.sums(len(gaps), ""), t.summary(fmt.Sprintf("%d records", t.records))); err != nil {
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

// soFar tells what came out until the check was ended, by a limit of time or a signal.
func (t *checked) soFar(late bool) error {
	words, of := "interrupted", fmt.Sprintf("%d records so far", t.records)
	if late {
		words = "time limit"
	}
	if t.total > 0 {
		of = fmt.Sprintf("%d of %d records so far", t.records, t.total)
	}
	if err := errors.Join(t.say(t.sums(0, words), t.summary(of)), t.before.leave()); err != nil {
		return err
	}
	next := ": add --resume FILE to keep what is proved"
	if t.flags.resume != "" {
		next = ": the same command goes on from there"
	}
	if late {
		return &certify.OutOfTime{Words: next}
	}
	return &certify.Interrupted{Words: next}
}

// summary says how many of these records came out how.
func (t *checked) summary(records string) string {
	text := fmt.Sprintf("%s: %d proved again", records, t.proved)
	if t.earlier > 0 {
		text += fmt.Sprintf(" (%d of them earlier, by %s)", t.earlier, plain(t.flags.resume))
	}
	text += fmt.Sprintf(", %d refused", t.refused)
	if t.nothing > 0 {
		text += fmt.Sprintf(", %d claim nothing", t.nothing)
	}
	if n := t.onlyRead(); n > 0 {
		text += fmt.Sprintf(", %d only read", n)
	}
	if t.statistical {
		text += "; statistical intervals are not proved: what was drawn is not in a record"
	}
	return text
}

func (t *checked) onlyRead() int { return t.records - t.proved - t.nothing - t.refused }

// sums is summary for programs.
func (t *checked) sums(gaps int, stopped string) checkedLine {
	return checkedLine{t.records, t.proved, t.earlier, t.refused, t.nothing, t.onlyRead(), gaps, t.statistical, stopped}
}

// countRecords returns how many records there are, for the progress bar, 0 if that cannot be known
// beforehand.
func countRecords(paths []string) int {
	total := 0
	for _, path := range paths {
		if text, err := check.LoopText(path); err == nil && text != nil {
			path = check.LoopRecords(text)
		} else if text, err := check.AverageText(path); err == nil && text != nil {
			continue // it is told when its records are
		}
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
	Records     int    `json:"records"`
	Proved      int    `json:"proved"`
	Earlier     int    `json:"proved_earlier,omitempty"`
	Refused     int    `json:"refused"`
	Nothing     int    `json:"claim_nothing"`
	Read        int    `json:"only_read"`
	Gaps        int    `json:"gaps"`
	Statistical bool   `json:"statistical"`
	Stopped     string `json:"stopped,omitempty"`
}
