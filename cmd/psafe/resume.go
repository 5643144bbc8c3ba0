package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"psafe/host/posterior"
	"psafe/host/property"
	"psafe/host/report"
	"psafe/internal/outfile"
)

// A run with --out FILE writes each record to FILE.partial as soon as it is finished,
// and FILE.partial becomes FILE when all are there. With --resume a run keeps the
// lines of FILE.partial, if they are what it would have begun with, and goes on.
//
// What is guaranteed, on every system:
//
//   - FILE has all records of one run or is not touched.
//   - A record that was written survives the process, however that ends. A loss of
//     power it survives once it is on the disk, which is asked for when a record is
//     written and the last time was syncEvery ago: what is lost then is the last records.
//   - No two processes write to one file: each writes only to a file that it has made
//     itself, and nobody else has that name while it does. Without --resume,
//     FILE.partial must not exist (O_EXCL); with it, a copy replaces it in one step. A
//     run that has lost FILE.partial in this way, or to a user who removed it, notices at
//     its next record, stops with an error and leaves what is there alone.
//
// What is not: that of two runs with --resume at once the one that has more goes on (the
// later one does); and between a run's last look at FILE.partial and its renaming, a
// moment, another may still take it over, whose records, fewer, would then become FILE.

// partialSuffix is added to the name of a file of results that is not complete.
const partialSuffix = ".partial"

// earlier is what earlier runs have finished of this one.
type earlier struct {
	records []*report.Record
	// lines are the records as they are in the file, kept to the byte.
	lines []byte
	// partial says that FILE.partial exists, final that FILE has all records.
	partial, final bool
	// note tells the user.
	note string
}

// earlier looks for what is finished, and refuses what cannot be gone on with. It
// changes no file.
func (c *certifyFlags) earlier(post *posterior.Posterior, job *taskList) (*earlier, error) {
	if c.out == "" {
		return &earlier{}, nil
	}
	file := c.out + partialSuffix
	for _, path := range []string{c.out, file} {
		if err := outfile.Refuse(path, c.posterior, property.FileOf(job.source), c.tasks.property, property.FileOf(c.tasks.label)); err != nil {
			return nil, fmt.Errorf("--out %w", err)
		}
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c.finished(post, job), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: is left of a run and cannot be read: %w: remove it to begin again", file, outfile.Reason(err))
	}
	old, err := readFinished(file, text)
	if !c.resume {
		return nil, fmt.Errorf("%s: holds %d finished records of a run that goes on or was interrupted: add --resume to go on from there, or remove it", file, len(old.records))
	}
	if err == nil {
		err = c.agree(file, old.records, post, job)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: give the flags and files of the run that was interrupted, or remove %s to begin again", err, file)
	}
	old.partial = true
	old.note = fmt.Sprintf("%s: going on after %d of %d records", file, len(old.records), len(job.tasks))
	return old, nil
}

// finished is what --resume makes of FILE itself: all of this run, or nothing.
func (c *certifyFlags) finished(post *posterior.Posterior, job *taskList) *earlier {
	text, err := os.ReadFile(c.out)
	if !c.resume || errors.Is(err, fs.ErrNotExist) {
		return &earlier{}
	}
	var old *earlier
	if err == nil {
		old, err = readFinished(c.out, text)
	}
	if err == nil {
		err = c.agree(c.out, old.records, post, job)
	}
	if err == nil && (len(old.records) < len(job.tasks) || len(old.lines) < len(text)) {
		err = fmt.Errorf("%s: has %d of this run's %d records", c.out, len(old.records), len(job.tasks))
	}
	if err != nil {
		return &earlier{note: fmt.Sprintf("beginning anew and replacing what is not this run's: %s", inLine(err))}
	}
	old.final, old.note = true, fmt.Sprintf("%s: has all %d records already, nothing is computed", c.out, len(old.records))
	return old
}

// readFinished reads the lines that end: the last may have been cut off. On an error
// there are the records before it.
func readFinished(file string, text []byte) (*earlier, error) {
	old := &earlier{lines: text[:bytes.LastIndexByte(text, '\n')+1]}
	for line := range bytes.Lines(old.lines) {
		rec, err := report.ParseRecord(line)
		if err != nil {
			return old, fmt.Errorf("%s: line %d: no result record: %w", file, len(old.records)+1, err)
		}
		// Whatever psafe writes, it would write again.
		if again, err := json.Marshal(rec); err != nil || !bytes.Equal(append(again, '\n'), line) {
			return old, fmt.Errorf("%s: line %d: is not as psafe writes it", file, len(old.records)+1)
		}
		old.records = append(old.records, rec)
	}
	return old, nil
}

// known is what a task's record says whatever comes out.
func (c *certifyFlags) known(post *posterior.Posterior, job *taskList, t *property.Task) *report.Record {
	rec := &report.Record{
		Property: job.property(t), Eps: c.tasks.eps, Clip: c.tasks.clip, InputScale: c.tasks.inputScale, Flags: c.words,
		Require: c.require, Precision: c.device.precision, Seed: c.seed,
		Posterior: c.posterior, PosteriorSHA256: post.Source.SHA256, PosteriorScale: c.post.scaleWords(post), Activations: activations(post),
		Inputs: job.source, InputsSHA256: job.sha256, Version: version(),
	}
	rec.SetTask(t)
	return rec
}

// knownFields are those of known that must agree: neither device nor seconds, which may
// differ within a run, nor how a path is spelled, for which there are digests.
var knownFields = []string{"index", "name", "label", "property", "eps", "clip", "input_scale", "flags", "require", "precision", "seed",
	"posterior_sha256", "posterior_scale", "activations", "inputs_sha256", "version"}

// agree checks that records are the first that this run would write.
func (c *certifyFlags) agree(file string, records []*report.Record, post *posterior.Posterior, job *taskList) error {
	for i, rec := range records {
		if i == len(job.tasks) {
			return fmt.Errorf("%s: line %d: this run has only %d records", file, i+1, i)
		}
		want := c.known(post, job, &job.tasks[i])
		if rec.Method == "neuronsum" {
			want.Precision = "float64" // the host's sums, whatever the device's is
		}
		field, is, wanted := difference(rec, want)
		if field == "" && member(rec.Inputs) != member(want.Inputs) {
			// The digest is that of the whole archive.
			field, is, wanted = "inputs", strconv.Quote(rec.Inputs), strconv.Quote(want.Inputs)
		}
		if field == "" {
			field, is, wanted = c.decided(rec)
		}
		if field != "" {
			return fmt.Errorf("%s: line %d: %s is %s, of this run %s", file, i+1, field, printable(is), printable(wanted))
		}
	}
	return nil
}

// decided compares what follows from the rest of a record: its verdict, and whether times
// are kept.
func (c *certifyFlags) decided(rec *report.Record) (field, is, wanted string) {
	again := *rec
	again.Decide(c.require)
	switch {
	case again.Verdict != rec.Verdict || again.Guarantee != rec.Guarantee:
		return "verdict", strconv.Quote(rec.Verdict), strconv.Quote(again.Verdict)
	case c.noTiming && rec.Seconds != nil:
		return "seconds", "there", ""
	case !c.noTiming && rec.Seconds == nil:
		return "seconds", "", "there"
	}
	return "", "", ""
}

// member is the array of file.npz:array, with its colon.
func member(path string) string { return strings.TrimPrefix(path, property.FileOf(path)) }

// difference finds the first known field in which two records differ, and its values
// as JSON.
func difference(a, b *report.Record) (field, inA, inB string) {
	fa, fb := jsonFields(a), jsonFields(b)
	for _, field := range knownFields {
		if !bytes.Equal(fa[field], fb[field]) {
			return field, string(fa[field]), string(fb[field])
		}
	}
	return "", "", ""
}

func jsonFields(r *report.Record) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	line, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(line, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("psafe: a record is no JSON: %v", err))
	}
	return fields
}

// printable is a value as a message may show it: what is from a file must not command
// the terminal, nor fill it.
func printable(value string) string {
	if value == "" {
		return "absent"
	}
	return fmt.Sprintf("%.100s", strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, value))
}

// syncEvery is how often records are sent to the disk itself.
const syncEvery = 5 * time.Second

// partialFile is FILE.partial while a run writes it.
type partialFile struct {
	path   string // FILE
	f      *os.File
	made   os.FileInfo
	synced time.Time
	// records is how many there are, those of earlier runs too.
	records int
}

func (p *partialFile) name() string { return p.path + partialSuffix }

// openPartial makes FILE.partial with the lines of earlier runs.
func openPartial(path string, old *earlier) (*partialFile, error) {
	p := &partialFile{path: path, synced: time.Now(), records: len(old.records)}
	create := p.create
	if old.partial {
		create = func() error { return p.replace(old.lines) }
	}
	err := create()
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: has just been made by another run: give another --out", p.name())
	}
	if err != nil {
		return nil, fmt.Errorf("--out %s: cannot be written: %w", path, outfile.Reason(err))
	}
	return p, nil
}

// create makes the file, which must not exist.
func (p *partialFile) create() (err error) {
	if p.f, err = os.OpenFile(p.name(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return err
	}
	p.made, err = p.f.Stat()
	return err
}

// replace puts a file of these lines in the place of the one that exists.
func (p *partialFile) replace(lines []byte) error {
	f, err := outfile.Create(p.name())
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(lines); err != nil {
		return err
	}
	if p.made, err = f.Stat(); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	if p.f, err = os.OpenFile(p.name(), os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	// What was opened by name may be another run's by now.
	if info, err := p.f.Stat(); err != nil || !os.SameFile(info, p.made) {
		p.f.Close()
		return errors.Join(err, p.lost())
	}
	return nil
}

func (p *partialFile) lost() error {
	return fmt.Errorf("%s was removed, or taken over by another run with --resume", p.name())
}

// owned says whether the name is still that of the file that this run has made.
func (p *partialFile) owned() error {
	if info, err := os.Stat(p.name()); err != nil || !os.SameFile(info, p.made) {
		return p.lost()
	}
	return nil
}

// Write appends a record in one step.
func (p *partialFile) Write(line []byte) (int, error) {
	if err := p.owned(); err != nil {
		return 0, err
	}
	n, err := p.f.Write(line)
	if err != nil {
		return n, err
	}
	p.records++
	if now := time.Now(); now.Sub(p.synced) >= syncEvery {
		p.synced, err = now, p.f.Sync()
	}
	return n, err
}

// commit gives the finished file its name.
func (p *partialFile) commit() error {
	err := p.owned()
	if err == nil {
		err = p.f.Sync()
	}
	if e := p.f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(p.name(), p.path)
	}
	if err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w", p.path, outfile.Reason(err))
	}
	return nil
}

// leave ends a run that err stopped: what is finished stays, and the error that it
// returns says where. An empty file goes.
func (p *partialFile) leave(err error, total int) error {
	syncErr := p.f.Sync()
	if errors.Is(syncErr, fs.ErrClosed) {
		syncErr = nil // commit has done it
	}
	p.f.Close()
	if p.owned() != nil {
		return err
	}
	if p.records == 0 {
		os.Remove(p.name())
		return err
	}
	where := fmt.Sprintf("%d of %d records are in %s", p.records, total, p.name())
	if syncErr != nil {
		where += fmt.Sprintf(" (perhaps not on the disk yet: %v)", outfile.Reason(syncErr))
	}
	if errors.Is(err, context.Canceled) {
		return &statusError{exitInterrupted, errors.New("interrupted: " + where)}
	}
	status, s := exitUsage, (*statusError)(nil)
	if errors.As(err, &s) {
		status = s.status
	}
	return &statusError{status, fmt.Errorf("%w: %s: add --resume to go on from there", err, where)}
}

// settle gives FILE.partial its name where only that was left to do.
func (old *earlier) settle(path string) error {
	p, err := openPartial(path, old)
	if err != nil {
		return err
	}
	if err := p.commit(); err != nil {
		return p.leave(err, len(old.records))
	}
	return nil
}
