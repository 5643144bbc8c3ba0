package campaign

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"psafe/host/job/certify"
	"psafe/host/record"
	"psafe/internal/outfile"
)

// Holes are the tasks of a campaign that have no record.
type Holes struct {
	Missing, Tasks int
	// Spans of them, the first mostSpans.
	Spans []Span
	// Shards are the numbers of shards of N that have one of them, the first mostSpans.
	Shards []Span
	N      int
	dir    string
}

// mostSpans is the greatest number of spans kept: memory does not grow with the tasks.
const mostSpans = 1 << 12

// shownSpans is the number of spans listed.
const shownSpans = 12

// Error is one line: how many, which, and what to do.
func (h *Holes) Error() string {
	return fmt.Sprintf("%s: %d of %d tasks have no record (%s): run shards %s of %d again, as in psafe run %s --shard %d/%d",
		h.dir, h.Missing, h.Tasks, list(h.Spans), list(h.Shards), h.N, certify.Shell([]string{h.dir}), h.Shards[0].First, h.N)
}

func list(spans []Span) string {
	var words []string
	for i, s := range spans {
		if i == shownSpans {
			words = append(words, "...")
			break
		}
		words = append(words, s.String())
	}
	return strings.Join(words, ",")
}

// add adds a task, which is behind all others.
func (h *Holes) add(task int) {
	h.Missing++
	h.Spans = extend(h.Spans, task)
	h.Shards = extend(h.Shards, shardOf(task, h.Tasks, h.N))
}

func extend(spans []Span, n int) []Span {
	last := len(spans) - 1
	switch {
	case last >= 0 && spans[last].End > n:
	case last >= 0 && spans[last].End == n:
		spans[last].End++
	case len(spans) < mostSpans:
		spans = append(spans, Span{n, n + 1})
	}
	return spans
}

// Disagreement reports that two records of a task differ in what cannot differ: one of them is
// wrong.
type Disagreement struct{ line string }

func (e *Disagreement) Error() string { return e.line }

// EachRecord calls g for the record of every task that has one, in the order of tasks, in
// memory that does not grow with their number. Where a task has several that agree, g gets one
// of them, as Merge does. holes is nil if no task is without.
func EachRecord(ctx context.Context, dir string, g func(record.Placed) error) (holes *Holes, err error) {
	f, err := Open(dir)
	if err != nil {
		return nil, err
	}
	n, err := f.lastShards()
	if err != nil {
		return nil, err
	}
	h := &Holes{Tasks: f.Tasks, N: n, dir: f.Dir}
	err = f.eachTask(Span{0, f.Tasks}, ctx.Err, func(t *Task, found []*cursor) error {
		if len(found) == 0 {
			h.add(t.Task)
			return nil
		}
		p, err := choose(found)
		if err != nil {
			return err
		}
		return g(p)
	})
	if err != nil || h.Missing == 0 {
		return nil, err
	}
	return h, nil
}

// choose is the record of a task that counts. Records are alike but for what tells of the
// machine and how paths are spelled: then the first counts. Of those that --time-limit stopped
// the one that proved most counts, and none if another was not stopped.
func choose(found []*cursor) (record.Placed, error) {
	best, err := found[0].placed()
	if err != nil {
		return best, err
	}
	differ := []record.Placed{best}
	for _, c := range found[1:] {
		if slices.ContainsFunc(differ, func(p record.Placed) bool { return bytes.Equal(p.Raw, c.text) }) {
			continue
		}
		p, err := c.placed()
		if err != nil {
			return p, err
		}
		for _, before := range differ {
			if err := disagree(before, p); err != nil {
				return p, err
			}
		}
		if better(p.Record, best.Record) {
			best = p
		}
		differ = append(differ, p)
	}
	return best, nil
}

// placed takes a record apart.
func (c *cursor) placed() (record.Placed, error) {
	rec, err := record.ParseRecord(c.text)
	if err != nil {
		return record.Placed{}, fmt.Errorf("%s: no result record: %.300v: move the file away and run its tasks again", c.place(), err)
	}
	if !rec.Identified() {
		return record.Placed{}, fmt.Errorf("%s: has the id of task %d and says that it is about something else: no psafe wrote it so: move the file away and run its tasks again", c.place(), c.task)
	}
	return record.Placed{Record: rec, File: c.path, Line: c.line, Raw: c.text}, nil
}

// better reports whether a record counts more than one of a file whose name is before its own.
func better(a, b *record.Record) bool {
	switch {
	case b.Stopped == "":
		return false
	case a.Stopped == "":
		return true
	}
	return cmp.Or(cmp.Compare(a.PLower, b.PLower), cmp.Compare(b.PUpper, a.PUpper)) > 0
}

// disagree is a *Disagreement if two records of a task cannot both be right.
func disagree(a, b record.Placed) error {
	field, inA, inB := "", "", ""
	switch {
	case a.RadiusEnd != "" && a.Eps != b.Eps: // which was found; bounds at two radii do not exclude each other
		field, inA, inB = "eps", a.Eps, b.Eps
	case float64(a.PLower) > float64(b.PUpper):
		return disagreement(a, b, fmt.Sprintf("p_lower is %s", a.PLower.Exact()), fmt.Sprintf("p_upper %s", b.PUpper.Exact()))
	case float64(b.PLower) > float64(a.PUpper):
		return disagreement(a, b, fmt.Sprintf("p_upper is %s", a.PUpper.Exact()), fmt.Sprintf("p_lower %s", b.PLower.Exact()))
	case a.Stopped == "" && b.Stopped == "":
		field, inA, inB = record.Differ(a.Record, b.Record, "p_lower", "p_upper") // bounds first
	}
	if field == "" {
		return nil
	}
	return disagreement(a, b, fmt.Sprintf("%s is %.60s", field, cmp.Or(inA, "absent")), fmt.Sprintf("%.60s", cmp.Or(inB, "absent")))
}

func disagreement(a, b record.Placed, inA, inB string) error {
	return &Disagreement{fmt.Sprintf("task %d (index %d): %s in %s (device %s), and %s in %s (device %s): one of them is wrong: psafe check and psafe crosscheck tell which; move its file away and run its tasks again",
		a.Task, a.Index, inA, a.Place(), a.Device, inB, b.Place(), b.Device)}
}

// Output is the file of merged results, and what becomes of one that is there.
type Output struct {
	Path string
	Old  outfile.Old
	// Columns are those of a table (certify.Output).
	Columns []string
}

// Merge writes the records of a campaign, one for each task in their order, to a result file,
// and a table of them if out is the name of one; tell is called for each record. Nothing is
// written where a task has no record, which is a *Holes, or records differ, a *Disagreement.
// Memory does not grow with the number of tasks.
func Merge(ctx context.Context, dir string, out Output, tell func(*record.Record)) error {
	f, err := Open(dir)
	if err != nil {
		return err
	}
	m, err := f.beginMerge(out)
	if err != nil {
		return err
	}
	defer m.discard()
	holes, written := (*Holes)(nil), 0
	holes, err = EachRecord(ctx, dir, func(p record.Placed) error {
		if p.Task != written { // there is a hole: nothing will be kept
			return nil
		}
		written++
		tell(p.Record)
		return m.write(p)
	})
	switch {
	case err != nil:
		return err
	case holes != nil:
		return holes
	}
	return m.commit()
}

// CheckOut returns why Merge could not write to out, before a long wait for what it would write.
func (f *Folder) CheckOut(out Output) error {
	m, err := f.beginMerge(out)
	if err == nil {
		m.discard()
	}
	return err
}

// beginMerge refuses, as a result file, what is in the campaign and what its jobs read.
func (f *Folder) beginMerge(out Output) (*merging, error) {
	m, err := beginMerge(out, append(f.reads(), f.Results(), filepath.Join(f.Dir, ManifestName), filepath.Join(f.Dir, TasksName)))
	if err != nil {
		return nil, fmt.Errorf("--out %w", err)
	}
	return m, nil
}

// merging is a result file that is being written.
type merging struct {
	Output
	inputs  []string
	records *outfile.File
	lines   *bufio.Writer
}

func beginMerge(out Output, inputs []string) (*merging, error) {
	m := &merging{Output: out, inputs: inputs}
	if record.IsTable(out.Path) {
		if err := outfile.Refuse(out.Path, out.Old, inputs...); err != nil {
			return nil, err
		}
	}
	var err error
	if m.records, err = outfile.Create(record.RecordsFile(out.Path), out.Old, inputs...); err != nil {
		return nil, err
	}
	m.lines = bufio.NewWriterSize(m.records, 1<<20)
	return m, nil
}

func (m *merging) write(p record.Placed) error {
	if _, err := m.lines.Write(p.Raw); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}

// commit puts the records in their place, and then the table.
func (m *merging) commit() error {
	err := m.lines.Flush()
	if err == nil {
		err = m.records.Commit()
	}
	if err != nil {
		return fmt.Errorf("--out %w", err)
	}
	if !record.IsTable(m.Path) {
		return nil
	}
	return certify.WriteTable(m.Path, m.Old, m.Columns, m.inputs)
}

func (m *merging) discard() { m.records.Discard() }
