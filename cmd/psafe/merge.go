package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"psafe/host/campaign"
	"psafe/host/report"
)

const mergeAbout = `psafe merge makes one result file of the records of a campaign: every task once, in
the order of psafe plan, each line as psafe run wrote it.

  psafe merge DIR --out results.jsonl
  psafe merge DIR --out results.parquet

With .csv or .parquet there is a table, and the records are in results.parquet.jsonl.
A task without a record is an error (status 2) that says which shards to run again.
Records of a task that several processes made must agree in all but times, device and
the spelling of paths: where they do not, one of them is wrong, which is an error that
names both files and devices (status 1). After either nothing is written. With --wait
it first waits until no task is without a record.`

func runMerge(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := newFlags("merge", mergeAbout, stdout)
	out := f.String("out", "", "result file (JSON Lines), or a table if its name ends in .csv or .parquet; required")
	wait := f.Bool("wait", false, "wait until all tasks have records, however long that takes")
	if err := parse(f, args, 1); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("--out is missing: name a result file, as in --out results.jsonl")
	}
	if *wait {
		if err := untilDone(ctx, f.Arg(0), *out, stderr); err != nil {
			return err
		}
	}
	var tally report.Tally
	n := 0
	err := campaign.Merge(ctx, f.Arg(0), *out, func(r *report.Record) {
		tally.Add(r)
		n++
	})
	if _, differ := errors.AsType[*campaign.Disagreement](err); differ {
		return &statusError{exitDifference, err}
	}
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s: %s: %s", plain(*out), howMany(n, "record"), tally.Summary())
	if drawn := tally.Drawn(); drawn != "" {
		line += "; " + drawn
	}
	_, err = fmt.Fprintln(stdout, line)
	return err
}

// mostPause is the longest time between two looks at a campaign that others work at.
const mostPause = 30 * time.Second

// untilDone waits until all tasks of the campaign in dir have records, which are to be written
// to out. It looks at once, then ever more rarely, and says how far they are when that has
// changed.
func untilDone(ctx context.Context, dir, out string, stderr io.Writer) error {
	folder, err := campaign.Open(dir)
	if err != nil {
		return err
	}
	if err := folder.CheckOut(out); err != nil {
		return err
	}
	told := ""
	for pause := time.Second; ; pause = min(2*pause, mostPause) {
		s, err := folder.Status(ctx, 1, time.Now())
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
