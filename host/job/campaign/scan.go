package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"psafe/host/record"
	"psafe/internal/infile"
)

// attemptName is the name of a file of an attempt: span, word and kind.
var attemptName = regexp.MustCompile(`^(\d{9})-(\d{9})\.([0-9a-f]{12})\.(jsonl|jsonl\.partial|started|failed)$`)

// attemptFile is a file of an attempt.
type attemptFile struct {
	name string
	span Span
	// attempt is the name without its ending: that of the attempt.
	attempt, kind string
	changed       time.Time
	size          int64
}

func (f *attemptFile) hasRecords() bool {
	return f.kind == "jsonl" || f.kind == "jsonl"+partialSuffix
}

const partialSuffix = ".partial"

// attempts lists the files of attempts in the folder of a campaign, in the order of their
// names. Files that are no attempt's are left alone.
func (f *Folder) attempts() ([]attemptFile, error) {
	dir := f.Results()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be listed: %w", dir, reason(err))
	}
	var list []attemptFile
	for _, e := range entries {
		m := attemptName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		first, _ := strconv.Atoi(m[1])
		last, _ := strconv.Atoi(m[2])
		if first > last || last >= f.Tasks {
			return nil, fmt.Errorf("%s: is of tasks %d to %d, and the campaign has %d: it is of another campaign: move it away", filepath.Join(dir, e.Name()), first, last, f.Tasks)
		}
		a := attemptFile{name: e.Name(), span: Span{first, last + 1}, kind: m[4]}
		a.attempt = strings.TrimSuffix(a.name, "."+a.kind)
		// A file may have got its last name since; then that counts when it is opened.
		if info, err := e.Info(); err == nil {
			a.changed, a.size = info.ModTime(), info.Size()
		}
		if n := len(list); n > 0 && list[n-1].attempt == a.attempt && list[n-1].kind == "jsonl" && a.kind == "jsonl.partial" {
			continue // it was renamed while the folder was listed
		}
		list = append(list, a)
	}
	return list, nil
}

// cursor reads the records of one attempt, in the order of their tasks.
type cursor struct {
	attemptFile
	path    string // of the file, for messages
	checked bool   // checksums are
	file    *infile.File
	lines   *infile.Lines
	line    int
	// task holds the task of text, a line with its end; -1 before the first.
	task int
	text []byte
	// stamp holds what the line says of the task.
	stamp
}

// stamp identifies a record.
type stamp struct {
	id, run     []byte
	task, tasks int
}

// open opens the records of an attempt.
func (f *Folder) open(a attemptFile, checked bool) (*cursor, error) {
	c := &cursor{attemptFile: a, path: filepath.Join(f.Results(), a.name), checked: checked, task: -1}
	var err error
	if c.file, err = infile.Open(c.path); errors.Is(err, fs.ErrNotExist) && c.kind == "jsonl.partial" {
		c.path = strings.TrimSuffix(c.path, partialSuffix) // it is complete by now
		c.name, c.kind = filepath.Base(c.path), "jsonl"
		c.file, err = infile.Open(c.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", c.path, err)
	}
	c.lines = infile.NewLines(c.file, record.MostLine)
	return c, nil
}

func (c *cursor) close() { c.file.Close() }

// place names the line in messages.
func (c *cursor) place() string { return fmt.Sprintf("%s: line %d", c.path, c.line) }

// next goes to the next record; io.EOF says that there is none. A last line without its end
// is none: its process died, or is writing it. After a loss of power other lines of a file that
// has not been completed may be torn: they are passed over. In a complete file they are an
// error.
func (c *cursor) next() error {
	for {
		text, err := c.read()
		if err != nil {
			return err
		}
		c.line++
		var torn error
		if c.checked {
			torn = record.Intact(text)
		}
		var ok bool
		if c.stamp, ok = stampOf(text); !ok && torn == nil {
			torn = errors.New("it does not say which task it is of")
		}
		switch {
		case torn != nil && c.kind == "jsonl.partial":
			continue
		case torn != nil:
			return fmt.Errorf("%s: no record: %w: move the file away and run its tasks again: psafe run", c.place(), torn)
		case c.stamp.task < c.span.First || c.stamp.task >= c.span.End:
			return fmt.Errorf("%s: is of task %d, and the file's name says %v: move the file away", c.place(), c.stamp.task, c.span)
		case c.stamp.task <= c.task:
			return fmt.Errorf("%s: is of task %d, behind task %d: no psafe wrote this file: move it away", c.place(), c.stamp.task, c.task)
		}
		c.task, c.text = c.stamp.task, text
		return nil
	}
}

// read is the next line that has an end, valid until the next call.
func (c *cursor) read() ([]byte, error) {
	text, whole, err := c.lines.Next()
	switch {
	case err == io.EOF || err == nil && !whole:
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("%s: line %d: %w: move the file away", c.path, c.line+1, err)
	}
	return text, nil
}

// stampText is where a line says id, task, tasks and run. They stand side by side in every record, and no text in JSON
// has a quotation mark without a backslash: so they are found without taking the line apart.
var stampText = regexp.MustCompile(`,"id":"([^"]*)","task":(\d{1,9}),"tasks":(\d{1,9}),"run":"([^"]*)"`)

// stampOf reads id, task, tasks and run of a line.
func stampOf(text []byte) (s stamp, ok bool) {
	if m := stampText.FindSubmatch(text); m != nil {
		s = stamp{id: m[1], run: m[4]}
		s.task, _ = strconv.Atoi(string(m[2]))
		s.tasks, _ = strconv.Atoi(string(m[3]))
		return s, true
	}
	var there struct {
		ID, Run     string
		Task, Tasks *int
	}
	if json.Unmarshal(text, &there) != nil || there.Task == nil || there.Tasks == nil {
		return s, false
	}
	return stamp{[]byte(there.ID), []byte(there.Run), *there.Task, *there.Tasks}, true
}

// eachTask calls g for the tasks of a span in their order, with the records that attempts have
// of each, in the order of the files' names: none, one or several, all with the identity that
// the manifest says and each valid during the call. A file is open only while its span is
// passed: memory does not grow with the number of tasks. ended, if it is not nil, is asked now
// and then; its error ends everything.
func (f *Folder) eachTask(span Span, ended func() error, g func(t *Task, found []*cursor) error) error {
	files, err := f.attempts()
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(a attemptFile) bool { return !a.hasRecords() || !a.span.overlaps(span) })
	tasks, err := f.TasksFrom(span.First)
	if err != nil {
		return err
	}
	defer tasks.Close()
	var open, found []*cursor // in the order of names, which is that of first tasks
	defer func() {
		for _, c := range open {
			c.close()
		}
	}()
	for n := span.First; n < span.End; n++ {
		if n%1024 == 0 && ended != nil {
			if err := ended(); err != nil {
				return err
			}
		}
		t, err := tasks.Next()
		if err != nil {
			return err
		}
		for len(files) > 0 && files[0].span.First <= n {
			c, err := f.open(files[0], true)
			files = files[1:]
			if errors.Is(err, fs.ErrNotExist) {
				continue // an attempt that ended without a record took its empty file along
			}
			if err != nil {
				return err
			}
			open = append(open, c)
		}
		found = found[:0]
		for i := 0; i < len(open); {
			c := open[i]
			err := c.upTo(n)
			switch {
			case err == io.EOF:
				c.close()
				open = slices.Delete(open, i, i+1)
				continue
			case err != nil:
				return err
			case c.task == n:
				if err := f.belongs(c, t); err != nil {
					return err
				}
				found = append(found, c)
			}
			i++
		}
		if err := g(t, found); err != nil {
			return err
		}
	}
	if span.End == f.Tasks {
		if _, err := tasks.Next(); err != io.EOF {
			return err
		}
	}
	return nil
}

// upTo goes to task n, or to the first behind it.
func (c *cursor) upTo(n int) error {
	for c.task < n {
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

// belongs returns an error unless a record is of this campaign and of this task.
func (f *Folder) belongs(c *cursor, t *Task) error {
	switch {
	case string(c.run) != f.Campaign || c.tasks != f.Tasks:
		return fmt.Errorf("%s: is of run %.40q with %d tasks, and the campaign is %s with %d: move the file away", c.place(), c.run, c.tasks, f.Campaign, f.Tasks)
	case string(c.id) != t.ID:
		return fmt.Errorf("%s: task %d has the id %.40q, in the manifest %s: move the file away and run its tasks again", c.place(), c.task, c.id, t.ID)
	}
	return nil
}
