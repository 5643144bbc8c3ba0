package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostLine is how long a line of a result file may be: hostile files end here.
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

// ofRun is a run as its first record has it. A record of other settings, or with the question of
// another task, is mixed: then the run is none.
type ofRun struct {
	id, settings string
	tasks        int
	seen         []int
	questions    map[string]int
	mixed        string
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
		r = &ofRun{id: v.Run, settings: v.settings, tasks: v.Tasks, questions: map[string]int{}}
		s.order, s.byID[v.Run] = append(s.order, r), r
	}
	r.seen = append(r.seen, v.Task)
	switch task, known := r.questions[v.question]; {
	case r.mixed != "":
	case v.settings != r.settings:
		r.mixed = fmt.Sprintf("the records of run %.16s are not of one run: task %d says something else of its flags, files, tasks or version", r.id, v.Task)
	case known && v.question != "" && task != v.Task:
		r.mixed = fmt.Sprintf("the records of run %.16s are not of one run: tasks %d and %d are both %s", r.id, task, v.Task, v.question)
	}
	r.questions[v.question] = v.Task
}

// Gaps says in one line for each run of which tasks are missing, or there more than once,
// which those are, and of which runs the records are not of one.
func (s *Runs) Gaps() []string {
	var lines []string
	for _, r := range s.order {
		tasks := r.seen
		slices.Sort(tasks)
		if r.mixed != "" {
			lines = append(lines, r.mixed)
		}
		var missing, twice []string
		next := 0
		for _, t := range tasks {
			switch {
			case t < next:
				twice = append(twice, fmt.Sprint(t))
			case t > next:
				missing = append(missing, stretch(next, t-1))
			}
			next = t + 1
		}
		if next < r.tasks {
			missing = append(missing, stretch(next, r.tasks-1))
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
