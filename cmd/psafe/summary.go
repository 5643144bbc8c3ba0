package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"psafe/host/check"
	"psafe/host/job/campaign"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
	"psafe/internal/nearest"
)

const summaryAbout = `psafe summary says in brief what result files say: counts by verdict, means and
the distribution of p_lower and p_upper, a table by group, tasks that are
missing or there twice, the weakest records, and records that contradict each
other (exit status 1).

  psafe summary r.jsonl
  psafe summary shard-*.jsonl --json
  psafe summary DIR                       a campaign, as far as it is
  psafe summary radii.jsonl --at 0.01,0.025
  psafe summary DIR --by posterior,eps    pooled over all else`

func summaryCommand() *cobra.Command {
	cmd, f := newCommand("summary", "result files in brief: counts, means, groups, gaps, contradictions", summaryAbout, anyNumber)
	asJSON := f.Bool("json", false, "one JSON object on one line (docs/reference.md), in place of the text")
	at := f.StringSlice("at", nil, "radii at which the shares of certified inputs are told, of records of psafe radius")
	by := f.StringSlice("by", nil, "what the table by group tells apart: words of "+strings.Join(summary.ByWords, ", ")+" (default all)")
	return does(cmd, func(ctx context.Context, stdout, _ io.Writer) error {
		if f.NArg() == 0 {
			return errors.New("summary: no result file: name those that psafe certify --out wrote: psafe summary r.jsonl")
		}
		s := summary.Summary{By: *by}
		for _, word := range *by {
			if !slices.Contains(summary.ByWords, word) {
				return fmt.Errorf("--by %.40q is none of %s%s", word, strings.Join(summary.ByWords, ", "), nearest.Hint(word, summary.ByWords))
			}
		}
		for _, text := range *at {
			eps, err := property.NewExact(text)
			if err != nil || eps.Cmp(property.Exact{}) < 0 {
				return fmt.Errorf("--at %.40q is no radius: give decimals or fractions such as 0.01,2/255", text)
			}
			s.At = append(s.At, eps)
		}
		err := eachResult(ctx, f.Args(), func(p record.Placed) error {
			s.Add(&p)
			return nil
		})
		if err != nil {
			return err
		}
		result := s.Result()
		if len(s.At) > 0 && len(result.Radii) == 0 {
			return errors.New("--at: none of these records is of psafe radius, or of a campaign with most: leave it out")
		}
		return printResult(stdout, result, *asJSON, result.Contradictions)
	})
}

// printResult prints what result files say. Certified bounds that contradict each other are an error then.
func printResult(stdout io.Writer, result interface {
	PrintWithin(w io.Writer, width int) error
}, asJSON bool, contradictions []summary.Contradiction) (err error) {
	if asJSON {
		err = printJSON(stdout, result)
	} else {
		err = result.PrintWithin(stdout, widthOf(stdout))
	}
	if err == nil && len(contradictions) > 0 {
		err = &statusError{exitDifference, fmt.Errorf("%s certified bounds contradict others, the first: %s", summary.Many(contradictions), contradictions[0].Words)}
	}
	return err
}

// eachResult calls each for the records of the operands of a command, one after the other, in
// memory that does not grow with their number. An error of each ends it, and so does a signal.
func eachResult(ctx context.Context, operands []string, each func(record.Placed) error) error {
	for _, path := range operands {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if err := eachOfCampaign(ctx, path, each); err != nil {
				return err
			}
			continue
		}
		if text, err := check.LoopText(path); err == nil && text != nil {
			return fmt.Errorf("%s: is the result of a loop: psafe report and psafe plot map show it, psafe check proves it; records of its cells are in %s", path, cmp.Or(check.LoopRecords(text), "no file"))
		}
		err := record.Each(path, func(p record.Placed) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return each(p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachOfCampaign calls each for the records that the attempts at a campaign have left so far.
func eachOfCampaign(ctx context.Context, dir string, each func(record.Placed) error) error {
	holes, err := campaign.EachRecord(ctx, dir, each)
	if _, differ := errors.AsType[*campaign.Disagreement](err); differ {
		return &statusError{exitDifference, err}
	}
	if err == nil && holes != nil && holes.Missing == holes.Tasks {
		return fmt.Errorf("%s: none of its %s has a record so far: psafe run %s makes them", dir, howMany(holes.Tasks, "task"), dir)
	}
	return err
}
