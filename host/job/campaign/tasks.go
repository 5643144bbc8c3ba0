package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"path/filepath"

	"psafe/internal/infile"
)

const (
	// mostLine is the limit of a line of the file of tasks.
	mostLine = 1 << 20
	// near is so close to a line that the lines between are read.
	near = 1 << 16
)

// Tasks reads the lines of a campaign's tasks, one by one. Where it reads all, it ends with an
// error if they are not those of the manifest.
type Tasks struct {
	of   *Folder
	path string
	file *infile.File
	rest *infile.Lines
	next int
	// digest and ids are of all lines, nil where reading began in the middle.
	digest, ids hash.Hash
}

// TasksFrom opens the file of tasks at a task, 0 <= first <= Manifest.Tasks, in about the same
// time wherever that lies. Whoever opens it closes it.
func (f *Folder) TasksFrom(first int) (*Tasks, error) {
	if first < 0 || first > f.Manifest.Tasks {
		panic(fmt.Sprintf("campaign: task %d of %d", first, f.Manifest.Tasks))
	}
	t := &Tasks{of: f, path: filepath.Join(f.Dir, TasksName), next: first}
	var err error
	if t.file, err = infile.Open(t.path); err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	if first == 0 {
		t.digest, t.ids = sha256.New(), sha256.New()
	}
	begins, err := t.find(first)
	if err != nil {
		t.file.Close()
		return nil, err
	}
	t.rest = t.at(begins)
	return t, nil
}

// Close closes the file.
func (t *Tasks) Close() error { return t.file.Close() }

// at reads the file from a byte on.
func (t *Tasks) at(offset int64) *infile.Lines {
	return infile.NewLines(io.NewSectionReader(t.file, offset, math.MaxInt64-offset), mostLine)
}

// find returns where the line of a task begins, by bisection, since lines are in the order of tasks.
func (t *Tasks) find(task int) (int64, error) {
	if task == 0 {
		return 0, nil
	}
	if task == t.of.Manifest.Tasks {
		return t.file.Size(), nil
	}
	// The line begins at from or behind it, where a line begins, and before to.
	from, to := int64(0), t.file.Size()
	for to-from > near {
		middle := from + (to-from)/2
		r := t.at(middle)
		rest, err := readLine(r)
		if err != nil {
			return 0, t.changed(err)
		}
		if begins := middle + int64(len(rest)); begins < to {
			line, err := readLine(r)
			if err != nil {
				return 0, t.changed(err)
			}
			is, err := parseTask(line)
			if err != nil {
				return 0, t.changed(err)
			}
			if is.Task <= task {
				from = begins
				continue
			}
		}
		to = middle + 1 // no line begins between middle and the one that was read
	}
	for r := t.at(from); ; {
		line, err := readLine(r)
		if err != nil {
			return 0, t.changed(err)
		}
		is, err := parseTask(line)
		if err == nil && is.Task > task {
			err = fmt.Errorf("no line is of task %d", task)
		}
		if err != nil {
			return 0, t.changed(err)
		}
		if is.Task == task {
			return from, nil
		}
		from += int64(len(line))
	}
}

// Next is the next task, and io.EOF behind the last.
func (t *Tasks) Next() (*Task, error) {
	line, err := readLine(t.rest)
	if t.next == t.of.Manifest.Tasks {
		if err != io.EOF {
			return nil, t.changed(fmt.Errorf("it goes on behind task %d", t.next-1))
		}
		if err := t.verify(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	if err != nil {
		return nil, t.changed(err)
	}
	task, err := parseTask(line)
	if err == nil && (task.Task != t.next || task.Job != t.of.JobOf(task.Task)) {
		err = fmt.Errorf("where task %d should be is task %d of job %d", t.next, task.Task, task.Job)
	}
	if err != nil {
		return nil, t.changed(err)
	}
	if t.digest != nil {
		t.digest.Write(line)
		t.ids.Write([]byte(task.ID + "\n"))
	}
	t.next++
	return task, nil
}

// verify compares all lines with the manifest.
func (t *Tasks) verify() error {
	if t.digest == nil {
		return nil
	}
	if is := hex.EncodeToString(t.digest.Sum(nil)); is != t.of.TasksSHA256 {
		return t.changed(fmt.Errorf("its SHA-256 is %s, in the manifest %s", is, t.of.TasksSHA256))
	}
	if is := campaignID(t.ids); is != t.of.Campaign {
		return t.changed(fmt.Errorf("its tasks are those of campaign %s, in the manifest %s", is, t.of.Campaign))
	}
	return nil
}

// campaignID is Manifest.Campaign of the digest of the tasks' ids.
func campaignID(ids hash.Hash) string { return hex.EncodeToString(ids.Sum(nil)[:8]) }

// changed is an error about a file that is not as it was planned.
func (t *Tasks) changed(err error) error {
	if err == io.EOF {
		err = errors.New("it ends too early")
	}
	return fmt.Errorf("%s: is not the file that was planned: %w: plan the campaign again, into another folder", t.path, err)
}

// readLine is a line with its end, valid until the next is read, or io.EOF where there is none.
func readLine(lines *infile.Lines) ([]byte, error) {
	line, whole, err := lines.Next()
	if err == nil && !whole {
		err = errors.New("its last line has no end")
	}
	return line, err
}

func parseTask(line []byte) (*Task, error) {
	var t Task
	if err := json.Unmarshal(line, &t); err != nil {
		return nil, fmt.Errorf("a line is no task: %w", err)
	}
	if !isHex(t.ID, 16) {
		return nil, fmt.Errorf("task %d has the id %.40q, not of 32 hexadecimal digits", t.Task, t.ID)
	}
	return &t, nil
}
