package main

import (
	"context"
	"errors"
	"fmt"
	"io"

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
names both files and devices (status 1). After either nothing is written.`

func runMerge(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("merge", mergeAbout, stdout)
	out := f.String("out", "", "result file (JSON Lines), or a table if its name ends in .csv or .parquet; required")
	if err := parse(f, args, 1); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("--out is missing: name a result file, as in --out results.jsonl")
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
