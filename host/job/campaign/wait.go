package campaign

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Waiting is a wait for the last records of a campaign, while others make them. It ends when
// there is nothing to wait for: all tasks have records, or a shard has failed for good.
type Waiting struct {
	*Folder
	// Submission is the word of the start that the wait belongs to, empty if of none. Failures
	// that were there when the wait began count only if they are of that start: somebody may
	// have mended what they tell of, and the shard be about to begin again.
	Submission string
	// Retries is how often a shard may fail by what may pass.
	Retries int
	// before are the attempts that had failed when the wait began.
	before map[string]bool
}

// GivenUp reports that a shard failed for good.
type GivenUp struct{ line string }

func (e *GivenUp) Error() string { return e.line }

// Look returns how far the campaign is now. The error is a *GivenUp if a shard has failed for good:
// by what the same again would end in (finalStatuses), or by something else more than Retries
// times; of its tasks one has no record, and nobody is at work at them. An attempt that was stopped
// (status 4), or of whose end there is no word, has not failed.
func (w *Waiting) Look(ctx context.Context, now time.Time) (*Status, error) {
	tries, done, err := w.tries(ctx)
	if err != nil {
		return nil, err
	}
	if w.before == nil {
		w.before = map[string]bool{}
		for _, a := range tries {
			w.before[a.name] = a.failed != nil
		}
	}
	status := w.statusOf(1, tries, done, now)
	failures := map[Span]int{}
	for _, a := range tries {
		if !w.counts(a) || done.count(a.span) == a.span.Len() || slices.ContainsFunc(tries, func(b *try) bool { return b.alive(now) && b.span.overlaps(a.span) }) {
			continue
		}
		failures[a.span]++
		if final := slices.Contains(finalStatuses, a.failed.Status); final || failures[a.span] > w.Retries {
			return status, &GivenUp{fmt.Sprintf("%s: shard %s failed for good, with status %d on %s: %s: mend it, and start the campaign again; %d of %d tasks have records",
				w.Dir, a.failed.Shard, a.failed.Status, cmp.Or(a.failed.Host, "an unknown machine"), cmp.Or(a.failed.Error, "it did not say why"), status.Done, status.Tasks)}
		}
	}
	return status, nil
}

// counts reports whether an attempt failed, in what is waited for.
func (w *Waiting) counts(a *try) bool {
	if a.failed == nil || a.failed.Status == statusInterrupted {
		return false
	}
	return !w.before[a.name] || w.Submission != "" && a.failed.Scheduler[SubmissionVariable] == w.Submission
}
