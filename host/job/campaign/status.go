package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"path/filepath"
	"slices"
	"time"

	"psafe/internal/infile"
)

// State names the state of a shard.
type State string

// The states of shards. Lost is one whose process gave no sign for a minute and left no word:
// it was killed, or its machine is gone.
const (
	Done    State = "done"
	Running State = "running"
	Stopped State = "stopped"
	Lost    State = "lost"
	Broken  State = "failed"
	Absent  State = "missing"
)

// States in the order in which they are told.
var States = []State{Done, Running, Stopped, Lost, Broken, Absent}

// Status describes how far a campaign is. It counts tasks, each once, however many attempts have
// records of it.
type Status struct {
	Campaign string        `json:"campaign"`
	Tasks    int           `json:"tasks"`
	Done     int           `json:"done"`
	States   map[State]int `json:"states"`
	// Rate is how many tasks all that runs does in a second, ETA in how many seconds all are
	// done at that; absent if nothing that runs has finished a task.
	Rate   *float64      `json:"rate"`
	ETA    *float64      `json:"eta_seconds"`
	Shards []ShardStatus `json:"shards"`
}

// ShardStatus describes how far a shard is.
type ShardStatus struct {
	Shard string `json:"shard"`
	First int    `json:"first"`
	Tasks int    `json:"tasks"`
	Done  int    `json:"done"`
	State State  `json:"state"`
	// Attempts counts those at one of its tasks.
	Attempts int      `json:"attempts"`
	Rate     *float64 `json:"rate,omitempty"`
	// Process is the last at one of its tasks, Error why it ended, if it did.
	*Process
	Error string `json:"error,omitempty"`
}

// try is an attempt as its files show it.
type try struct {
	name    string
	span    Span
	started *Started
	failed  *Failed
	// records it has, complete if it has all that it was for.
	records  int
	complete bool
	// buried reports whether another process has told of its end.
	buried bool
	// progress is when it last gave a sign, ended when it left word that it failed.
	progress, ended time.Time
}

// alive reports whether a process is at work.
func (a *try) alive(now time.Time) bool {
	return !a.complete && !a.buried && a.failed == nil && now.Sub(a.progress) < silence
}

// bury finds the attempts whose process was ended by a driver: the one that looked after it,
// on the same machine, which began nothing itself, left word no earlier than its last sign: clocks of
// file systems tick every few milliseconds.
func bury(tries []*try) {
	for _, word := range tries {
		if word.failed == nil || word.started != nil {
			continue
		}
		for _, a := range tries {
			if a.span == word.span && a.started != nil && a.started.Host == word.failed.Host && !word.ended.Before(a.progress) {
				a.buried = true
			}
		}
	}
}

// rate returns how many tasks it does in a second, 0 if that cannot be told.
func (a *try) rate() float64 {
	if a.started == nil || a.started.Time.IsZero() || a.records == 0 { // no time: the disk was full
		return 0
	}
	if took := a.progress.Sub(a.started.Time).Seconds(); took > 0 {
		return float64(a.records) / took
	}
	return 0
}

// lastShards returns how many shards the campaign was last begun in, 1 if it was not.
func (f *Folder) lastShards() (int, error) {
	files, err := f.attempts()
	if err != nil {
		return 0, err
	}
	last, n := time.Time{}, 1
	for _, a := range files {
		if a.kind != "started" || a.changed.Before(last) {
			continue
		}
		s, err := ParseShard(f.started(a).Shard)
		if err == nil {
			last, n = a.changed, s.N
		}
	}
	return n, nil
}

// mostWord is the longest file that says who began an attempt or why it failed.
const mostWord = 1 << 20

// word reads such a file, as far as it can be read: it may be being written.
func (f *Folder) word(a attemptFile, into any) {
	text, err := infile.ReadAll(filepath.Join(f.Results(), a.name), mostWord)
	if err == nil {
		_ = json.Unmarshal(text, into)
	}
}

func (f *Folder) started(a attemptFile) *Started {
	s := &Started{}
	f.word(a, s)
	return s
}

// tries reads what attempts left, and marks the tasks that have a record.
func (f *Folder) tries(ctx context.Context) ([]*try, Bits, error) {
	files, err := f.attempts()
	if err != nil {
		return nil, nil, err
	}
	done := newBits(f.Tasks)
	byName := map[string]*try{}
	var list []*try
	for _, a := range files {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		t := byName[a.attempt]
		if t == nil {
			t = &try{name: a.attempt, span: a.span}
			byName[a.attempt], list = t, append(list, t)
		}
		switch a.kind {
		case "started":
			t.started = f.started(a)
		case "failed":
			t.failed = &Failed{}
			f.word(a, t.failed)
			t.ended = a.changed
			continue
		default:
			if err := f.count(ctx, a, t, done); err != nil {
				return nil, nil, err
			}
		}
		if a.changed.After(t.progress) {
			t.progress = a.changed
		}
	}
	bury(list)
	return list, done, nil
}

// count counts the records of an attempt.
func (f *Folder) count(ctx context.Context, a attemptFile, t *try, done Bits) error {
	c, err := f.open(a, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody has moved it away
	}
	if err != nil {
		return err
	}
	defer c.close()
	t.complete = c.kind == "jsonl"
	for {
		switch err := c.next(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		done.set(c.task)
		if t.records++; t.records%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Status returns how far the campaign is now, in shards of n, or if that is 0 of as many as it was
// last begun in. It counts the lines of files and takes none apart: what is not as it was written
// is found by Run and Merge.
func (f *Folder) Status(ctx context.Context, n int, now time.Time) (*Status, error) {
	if n == 0 {
		var err error
		if n, err = f.lastShards(); err != nil {
			return nil, err
		}
	}
	if err := (Shard{0, n}).check(); err != nil {
		return nil, fmt.Errorf("--shards: %w", err)
	}
	tries, done, err := f.tries(ctx)
	if err != nil {
		return nil, err
	}
	return f.statusOf(n, tries, done, now), nil
}

// statusOf is the status that attempts show.
func (f *Folder) statusOf(n int, tries []*try, done Bits, now time.Time) *Status {
	s := &Status{Campaign: f.Campaign, Tasks: f.Tasks, Done: done.count(Span{0, f.Tasks}), States: map[State]int{}}
	for i := range n {
		shard := Shard{i, n}
		is := shardStatus(shard.Span(f.Tasks), tries, done, now)
		is.Shard = shard.String()
		s.States[is.State]++
		s.Shards = append(s.Shards, is)
	}
	// Of several at the same span only one counts: they do the same tasks.
	fastest := map[Span]float64{}
	for _, a := range tries {
		if a.alive(now) {
			fastest[a.span] = max(fastest[a.span], a.rate())
		}
	}
	rate := 0.0
	for _, r := range fastest {
		rate += r
	}
	if s.Done < s.Tasks && rate > 0 {
		s.Rate = known(rate)
		s.ETA = new(math.Ceil(float64(s.Tasks-s.Done) / rate))
	}
	return s
}

// known is a rate for people, nil if there is none.
func known(rate float64) *float64 {
	if rate == 0 {
		return nil
	}
	return new(math.Round(rate*1e4) / 1e4)
}

// shardStatus is the status of the shard of a span.
func shardStatus(span Span, tries []*try, done Bits, now time.Time) ShardStatus {
	is := ShardStatus{First: span.First, Tasks: span.Len(), Done: done.count(span)}
	var at []*try
	for _, a := range tries {
		if a.span.overlaps(span) {
			at = append(at, a)
		}
	}
	is.Attempts = len(at)
	if is.Done == is.Tasks {
		is.State = Done
		return is
	}
	if len(at) == 0 {
		is.State = Absent
		return is
	}
	latest := func(a, b *try) int { return latestOf(a).Compare(latestOf(b)) }
	last := slices.MaxFunc(at, latest)
	rate := 0.0
	for _, a := range at {
		if a.alive(now) {
			is.State, last = Running, a
			rate = max(rate, a.rate())
		}
	}
	is.Rate = known(rate)
	if last.started != nil {
		is.Process = &last.started.Process
	}
	if last.started == nil && last.failed != nil {
		is.Process = &last.failed.Process
	}
	switch {
	case is.State == Running:
	case last.failed == nil && last.complete:
		is.State, is.Error = Stopped, "a part of it is done, and nothing runs"
	case last.failed == nil:
		is.State, is.Error = Lost, fmt.Sprintf("no sign for %v", now.Sub(last.progress).Round(time.Second))
	case last.failed.Status == statusInterrupted || last.failed.Status == statusTime:
		is.State, is.Error = Stopped, last.failed.Error
	default:
		is.State, is.Error = Broken, cmp.Or(last.failed.Error, "it did not say why")
	}
	return is
}

// latestOf returns when an attempt last gave a sign, of whatever kind.
func latestOf(a *try) time.Time {
	if a.ended.After(a.progress) {
		return a.ended
	}
	return a.progress
}

// count returns how many of a span are in the set.
func (b Bits) count(span Span) int {
	n := 0
	for i := span.First; i < span.End; i++ {
		if i%64 == 0 && i+64 <= span.End {
			n += bits.OnesCount64(b[i/64])
			i += 63
			continue
		}
		if b.has(i) {
			n++
		}
	}
	return n
}
