package record

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Gaps lists, in one line for each run of which records are missing or there more than once, those
// tasks. Records may come from several files.
func Gaps(records []Placed) []string {
	var c Coverage
	for i := range records {
		c.Add(&records[i])
	}
	return c.Lines()
}

// Coverage counts which tasks of their runs records are about, by two bits for a task. Its
// zero value is ready.
type Coverage struct {
	runs  map[runKey]*coveredRun
	order []*coveredRun
	pages int
	// Skipped counts the records that were not looked at, since they are of more than 10,000
	// runs or too far apart in them.
	Skipped int
}

type runKey struct {
	id    string
	tasks int
}

type coveredRun struct {
	runKey
	first string // file
	pages map[int]*page
}

// page is which of pageTasks tasks are there, once and more often.
type page struct{ once, more [pageTasks / 64]uint64 }

// Limits of memory: what they leave out is counted, and said. All pages take 128 MB.
const (
	pageTasks = 4096
	mostPages = 1 << 17
	mostRuns  = 10_000
)

// Add looks at the task of a record.
func (c *Coverage) Add(p *Placed) {
	key := runKey{p.Run, p.Tasks}
	run := c.runs[key]
	if run == nil {
		if len(c.order) == mostRuns {
			c.Skipped++
			return
		}
		if c.runs == nil {
			c.runs = map[runKey]*coveredRun{}
		}
		key.id = strings.Clone(key.id)
		run = &coveredRun{runKey: key, first: strings.Clone(p.File), pages: map[int]*page{}}
		c.runs[key], c.order = run, append(c.order, run)
	}
	at := run.pages[p.Task/pageTasks]
	if at == nil {
		if c.pages == mostPages {
			c.Skipped++
			return
		}
		c.pages++
		at = new(page)
		run.pages[p.Task/pageTasks] = at
	}
	word, bit := p.Task%pageTasks/64, uint64(1)<<(p.Task%64)
	at.more[word] |= at.once[word] & bit
	at.once[word] |= bit
}

// CoveredRun describes what there is of a run: of so many Tasks, Present are there at least once.
// Missing and Twice name a dozen ranges at most, as in "0-2, 7, ...".
type CoveredRun struct {
	Run            string
	File           string // where its first record was
	Tasks, Present int
	More           int // how many tasks are there more than once
	Missing, Twice string
}

// Runs are the runs in the order in which they came.
func (c *Coverage) Runs() []CoveredRun {
	var list []CoveredRun
	for _, run := range c.order {
		list = append(list, run.sum())
	}
	return list
}

func (r *coveredRun) sum() CoveredRun {
	out := CoveredRun{Run: r.id, File: r.first, Tasks: r.tasks}
	var missing, twice spans
	next := 0
	for _, number := range slices.Sorted(maps.Keys(r.pages)) {
		p := r.pages[number]
		for word := range p.once {
			out.Present += bits.OnesCount64(p.once[word])
			out.More += bits.OnesCount64(p.more[word])
			if p.once[word] == ^uint64(0) && p.more[word] == 0 && next == number*pageTasks+word*64 {
				next += 64
				continue
			}
			for bit := range 64 {
				task := number*pageTasks + word*64 + bit
				if p.once[word]>>bit&1 == 0 {
					continue
				}
				missing.add(next, task-1)
				if p.more[word]>>bit&1 == 1 {
					twice.add(task, task)
				}
				next = task + 1
			}
		}
	}
	missing.add(next, r.tasks-1)
	out.Missing, out.Twice = missing.String(), twice.String()
	return out
}

// Lines returns the lines of Gaps.
func (c *Coverage) Lines() []string {
	var lines []string
	for _, r := range c.Runs() {
		for _, of := range []struct{ what, spans string }{{"missing", r.Missing}, {"there more than once", r.Twice}} {
			if of.spans != "" {
				lines = append(lines, fmt.Sprintf("%s: of the %d tasks of a run, counted from 0, these are %s: %s", r.File, r.Tasks, of.what, of.spans))
			}
		}
	}
	if c.Skipped > 0 {
		lines = append(lines, fmt.Sprintf("of %d records it was not looked whether they are missing or there more than once: they are of too many runs, or too far apart", c.Skipped))
	}
	slices.Sort(lines)
	return lines
}

// spans are ranges of tasks, ascending; there is no need to keep more than are printed.
type spans []span

// span is the tasks from first to last.
type span struct{ first, last int }

const printedSpans = 12

// add appends the tasks from first to last, if there are any.
func (s *spans) add(first, last int) {
	n := len(*s)
	switch {
	case first > last:
	case n > 0 && (*s)[n-1].last == first-1:
		(*s)[n-1].last = last
	case n <= printedSpans:
		*s = append(*s, span{first, last})
	}
}

// String writes a dozen spans at most.
func (s spans) String() string {
	var words []string
	for _, s := range s {
		switch {
		case len(words) == printedSpans:
			return strings.Join(append(words, "..."), ", ")
		case s.first == s.last:
			words = append(words, fmt.Sprint(s.first))
		default:
			words = append(words, fmt.Sprintf("%d-%d", s.first, s.last))
		}
	}
	return strings.Join(words, ", ")
}
