package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"psafe/host/job/campaign"
)

const statusAbout = `psafe status says how far a campaign is: of all tasks and of every shard how
many are done, what runs, stopped, failed or is missing, how fast it goes and
when it ends.

  psafe status DIR
  psafe status DIR --shards 16 --json

It reads the folder alone, on any machine, also while shards run. A shard whose
process gave no sign for a minute and left no word is lost: it was killed, or
its machine is gone. Run it again: psafe run DIR --shard i/n goes on where it
ended.`

func statusCommand() *cobra.Command {
	cmd, f := newCommand("status", "how far a campaign is: done, running, failed, missing, time left", statusAbout, 1)
	shards := f.Int("shards", 0, "how many shards to count by (default as many as it was last run in)")
	asJSON := f.Bool("json", false, "one JSON object on one line, in place of the text")
	return does(cmd, func(ctx context.Context, stdout, _ io.Writer) error {
		if f.Changed("shards") && *shards < 1 {
			return fmt.Errorf("--shards %d is not above 0", *shards)
		}
		folder, err := campaign.Open(f.Arg(0))
		if err != nil {
			return err
		}
		s, err := folder.Status(ctx, *shards, time.Now())
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(stdout, s)
		}
		return printStatus(stdout, s)
	})
}

// printStatus prints a line for each shard, but one for neighbours that are all done or all
// missing, and a last line for the campaign.
func printStatus(w io.Writer, s *campaign.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "shard\ttasks\tdone\tstate\trate\tat")
	for i := 0; i < len(s.Shards); {
		end := i + 1
		for end < len(s.Shards) && (s.Shards[i].State == campaign.Done || s.Shards[i].State == campaign.Absent) && s.Shards[end].State == s.Shards[i].State {
			end++
		}
		printShards(t, s.Shards[i:end], len(s.Shards))
		i = end
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var states []string
	for _, state := range campaign.States {
		if n := s.States[state]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, state))
		}
	}
	line := fmt.Sprintf("campaign %s: %d of %d tasks done (%s); shards: %s", s.Campaign, s.Done, s.Tasks, percent(s.Done, s.Tasks), strings.Join(states, ", "))
	if s.Rate != nil {
		line += fmt.Sprintf("; %.3g tasks/s, %v left", *s.Rate, time.Duration(min(*s.ETA, 1e9)*float64(time.Second)).Round(time.Second))
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// percent is a percentage, rounded down: 100% is all.
func percent(done, total int) string { return fmt.Sprintf("%d%%", done*100/max(1, total)) }

// printShards prints neighbours in the same state in one line.
func printShards(w io.Writer, shards []campaign.ShardStatus, n int) {
	first, last := shards[0], shards[len(shards)-1]
	name, _, _ := strings.Cut(first.Shard, "/")
	if len(shards) > 1 {
		i, _, _ := strings.Cut(last.Shard, "/")
		name += "-" + i
	}
	tasks, done := 0, 0
	for _, s := range shards {
		tasks, done = tasks+s.Tasks, done+s.Done
	}
	rate, at := "", ""
	if first.Rate != nil {
		rate = fmt.Sprintf("%.3g/s", *first.Rate)
	}
	if p := first.Process; p != nil && len(shards) == 1 {
		at = plain(p.Host)
		if job := p.Scheduler["SLURM_JOB_ID"]; job != "" {
			at += " job " + plain(job)
		}
	}
	if first.Error != "" {
		at = strings.TrimSpace(at + ": " + plain(fmt.Sprintf("%.200s", strings.ReplaceAll(first.Error, "\n", " "))))
	}
	fmt.Fprintf(w, "%s/%d\t%d\t%d\t%s\t%s\t%s\n", name, n, tasks, done, first.State, rate, at)
}
