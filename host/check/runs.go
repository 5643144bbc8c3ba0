package check

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"psafe/host/check/record"
)

// mostLine is the length of the longest line of a result file: hostile files end here.
const mostLine = 16 << 20

// Lines calls each for every line of a result file that is not blank, with its number from 1
// on. The line is valid during the call. The first error of each ends it.
func Lines(r io.Reader, each func(n int, line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, mostLine)
	n := 0
	for lines.Scan() {
		if n++; len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := each(n, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("it has more than %d bytes, the limit for a record", mostLine)
		}
		return fmt.Errorf("line %d: cannot be read: %w; give a file that psafe certify --out wrote", n+1, err)
	}
	return nil
}

// Runs are the runs that records belong to, and which of their tasks have been seen.
type Runs struct {
	order []*ofRun
	byID  map[string]*ofRun
}

// ofRun is a run as its first record has it. If records are not of one run, mixed says why.
type ofRun struct {
	id    string
	tasks int
	seen  []seen
	// byID are the tasks of ids.
	byID  map[string]int
	mixed string
}

// seen is a task and the id of its record.
type seen struct {
	task int
	id   string
}

// Add takes in a record.
func (s *Runs) Add(v Verdict) {
	if v.Tasks == 0 {
		return // the line could not be read
	}
	r := s.byID[v.Run]
	if r == nil {
		if s.byID == nil {
			s.byID = map[string]*ofRun{}
		}
		r = &ofRun{id: v.Run, tasks: v.Tasks, byID: map[string]int{}}
		s.order, s.byID[v.Run] = append(s.order, r), r
	}
	r.seen = append(r.seen, seen{v.Task, v.id})
	switch task, known := r.byID[v.id]; {
	case r.mixed != "":
	case v.Tasks != r.tasks:
		r.mixed = fmt.Sprintf("the records of run %.16s are not of one run: task %d is of %d tasks, others of %d", r.id, v.Task, v.Tasks, r.tasks)
	case known && v.id != "" && task != v.Task:
		r.mixed = fmt.Sprintf("the records of run %.16s are not of one run: tasks %d and %d are both %s", r.id, task, v.Task, v.question)
	}
	r.byID[v.id] = v.Task
}

// Gaps lists, in one line for each run that lacks tasks or has some more than once, which those
// are, and the runs whose records are not of one.
func (s *Runs) Gaps() []string {
	var lines []string
	for _, r := range s.order {
		slices.SortFunc(r.seen, func(a, b seen) int { return cmp.Compare(a.task, b.task) })
		var missing, twice, ids []string
		next := 0
		for _, t := range r.seen {
			switch {
			case t.task < next:
				twice = append(twice, fmt.Sprint(t.task))
			case t.task > next:
				missing = append(missing, stretch(next, t.task-1))
			}
			ids = append(ids, t.id)
			next = t.task + 1
		}
		if next < r.tasks {
			missing = append(missing, stretch(next, r.tasks-1))
		}
		if r.mixed == "" && len(missing)+len(twice) == 0 && ids[0] != "" && record.RunOf(ids) != r.id {
			r.mixed = fmt.Sprintf("the records of run %.16s are not of one run: with these ids it would be run %s", r.id, record.RunOf(ids))
		}
		if r.mixed != "" {
			lines = append(lines, r.mixed)
		}
		for _, of := range []struct {
			what string
			list []string
		}{{"missing", missing}, {"there more than once", slices.Compact(twice)}} {
			if len(of.list) > 0 {
				lines = append(lines, fmt.Sprintf("of the %d tasks of run %.16s, counted from 0, these are %s: %s", r.tasks, r.id, of.what, few(of.list)))
			}
		}
	}
	return lines
}

// stretch is the tasks from first to last.
func stretch(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// few joins a dozen words at most.
func few(list []string) string {
	if len(list) > 12 {
		list = append(slices.Clone(list[:12]), "...")
	}
	return strings.Join(list, ", ")
}
