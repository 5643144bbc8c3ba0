package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"psafe/host/record"
	"psafe/host/tell/summary"
)

const diffAbout = `psafe diff compares what two result files, or campaigns, say of the same
questions: which bounds and verdicts are improved, worse or mixed, and what
only one of them has. Of one P_safe the tighter bound is improved.

  psafe diff yesterday.jsonl today.jsonl
  psafe diff old.jsonl new.jsonl --any-posterior --fail-if-worse

With --any-posterior the same inputs and properties are compared, of whatever
posteriors: then higher bounds are improved. Exit status 1 says that certified
bounds contradict each other, 10 what --fail-if-worse asks for.`

func diffCommand() *cobra.Command {
	cmd, f := newCommand("diff", "two result files compared: improved, worse, other verdicts", diffAbout, 2)
	var d summary.Diff
	f.BoolVar(&d.AnyPosterior, "any-posterior", false, "compare the same inputs and properties, whatever the posterior, as before and behind a training")
	f.Float64Var(&d.Tolerance, "tolerance", 0, "the largest change of a bound that is none")
	gate := f.Bool("fail-if-worse", false, "exit with status 10 if a question of A is worse or mixed in B, or missing")
	asJSON := f.Bool("json", false, jsonUsage+", with all changes")
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if !(d.Tolerance >= 0 && d.Tolerance <= math.MaxFloat64) {
			return fmt.Errorf("--tolerance %v: give a number from 0, such as 0.001", d.Tolerance)
		}
		for side, path := range f.Args() {
			err := eachResult(ctx, []string{path}, func(p record.Placed) error {
				d.Add(side, &p)
				return nil
			})
			if err != nil {
				return err
			}
		}
		result := d.Result()
		if err := printResult(stdout, result, *asJSON, result.Contradictions); err != nil {
			return err
		}
		if result.Both == 0 {
			why := "no question is in both, which is posterior, input, radius and property: --any-posterior leaves out the first"
			if d.AnyPosterior {
				why = "no question is in both, which is the data or property file, input, radius and property: without --label a class is what the mean network says"
			}
			printLine(stderr, noColour, "psafe: note:", why)
		}
		if lost := result.Lost(); *gate && lost > 0 {
			return &statusError{exitUnder, errors.New(howMany(lost, "question") + " of A worse, mixed or missing in B: --fail-if-worse")}
		}
		return nil
	})
}
