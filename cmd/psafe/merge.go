package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"psafe/host/job/campaign"
	"psafe/host/record"
	"psafe/internal/outfile"
)

const mergeAbout = `psafe merge makes one result file of the records of a campaign: every task once,
in the order of psafe plan, each line as psafe run wrote it.

  psafe merge DIR --out results.jsonl
  psafe merge DIR --out results.parquet

A task without a record is an error (status 2) that says which shards to run
again. Records of a task that several processes made must agree in all but
times, device and the spelling of paths: where they do not, one of them is
wrong, which is an error that names both files and devices (status 1). After
either nothing is written.`

func mergeCommand() *cobra.Command {
	cmd, f := newCommand("merge", "one result file of a campaign: every task once", mergeAbout, 1)
	var out outFlags
	out.add(f, "result file (JSON Lines), or a table if its name ends in .csv or .parquet; required")
	out.addColumns(f)
	resume := f.Bool("resume", false, "if OUT exists, compare it with what would be written: done if it is the same")
	wait := f.Bool("wait", false, "wait until all tasks have records, or a shard fails that would fail again")
	retries := f.Int("retries", 3, "with --wait: how often a shard may fail by what may pass, as in psafe submit")
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if out.path == "" {
			return errors.New("--out is missing: name a result file, as in --out results.jsonl")
		}
		switch {
		case *retries < 0:
			return fmt.Errorf("--retries %d: give a whole number from 0", *retries)
		case f.Changed("retries") && !*wait:
			return errors.New("--retries is for --wait: add that, or leave it out")
		}
		columns, err := out.tableColumns()
		if err != nil {
			return err
		}
		to := campaign.Output{Path: out.path, Old: out.old(), Columns: columns}
		if *resume && !out.overwrite {
			to.Old = outfile.Same
		}
		if *wait {
			if err := untilDone(ctx, f.Arg(0), to, *retries, stderr); err != nil {
				return err
			}
		}
		var tally record.Tally
		n := 0
		err = campaign.Merge(ctx, f.Arg(0), to, func(r *record.Record) {
			tally.Add(r)
			n++
		})
		if _, differ := errors.AsType[*campaign.Disagreement](err); differ {
			return &statusError{exitDifference, err}
		}
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s: %s: %s", plain(out.path), howMany(n, "record"), tally.Summary())
		if drawn := tally.Drawn(); drawn != "" {
			line += "; " + drawn
		}
		_, err = fmt.Fprintln(stdout, line)
		return err
	})
}

// mostPause is the longest time between two looks at a campaign that others work at.
const mostPause = 30 * time.Second

// untilDone waits until all tasks of the campaign in dir have records, which are to be written
// to out, or a shard has failed for good. It looks at once, then ever more rarely, and says how
// far they are when that has changed.
func untilDone(ctx context.Context, dir string, out campaign.Output, retries int, stderr io.Writer) error {
	folder, err := campaign.Open(dir)
	if err != nil {
		return err
	}
	if err := folder.CheckOut(out); err != nil {
		return err
	}
	w := campaign.Waiting{Folder: folder, Submission: os.Getenv(campaign.SubmissionVariable), Retries: retries}
	told := ""
	for pause := time.Second; ; pause = min(2*pause, mostPause) {
		s, err := w.Look(ctx, time.Now())
		if err != nil || s.Done == s.Tasks {
			return err
		}
		line := fmt.Sprintf("%d of %d tasks have records", s.Done, s.Tasks)
		// Of the one shard that this counts by: nothing runs now.
		if whole := s.Shards[0]; whole.State == campaign.Broken {
			line += "; nothing runs, and the last that did ended so: " + plain(whole.Error)
		}
		if line != told {
			told = line
			fmt.Fprintln(stderr, "psafe: merge waits:", line)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
