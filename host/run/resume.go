package run

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
	"psafe/host/report"
	"psafe/internal/infile"
	"psafe/internal/outfile"
)

// A run whose Out.Path is FILE writes each record to FILE.partial as soon as it is finished,
// and FILE.partial becomes FILE when all are there. With Resume a run keeps the
// lines of FILE.partial, if they are what it would have begun with, and goes on.
//
// What is guaranteed, on every system:
//
//   - FILE has all records of one run or is not touched.
//   - A record that was written survives the process, however that ends. A loss of
//     power it survives once it is on the disk, which is asked for when a record is
//     written and the last time was outfile.SyncEvery ago: what is lost then is the last records.
//   - No two processes write to one file: each writes only to a file that it has made
//     itself, and nobody else has that name while it does. Without Resume,
//     FILE.partial must not exist (O_EXCL); with it, a copy replaces it in one step. A
//     run that has lost FILE.partial in this way, or to a user who removed it, notices at
//     its next record, stops with an error and leaves what is there alone.
//
// What is not: that of two runs with Resume at once the one that has more goes on (the
// later one does); and between a run's last look at FILE.partial and its renaming, a
// moment, another may still take it over, whose records, fewer, would then become FILE.

// PartialSuffix is added to the name of a file of results that is not complete.
const PartialSuffix = outfile.PartialSuffix

// earlier is what earlier runs have finished of this one.
type earlier struct {
	records []*report.Record
	// lines are the records as they are in the file, kept to the byte.
	lines []byte
	// partial says that FILE.partial exists, final that FILE has all records.
	partial, final bool
	// note tells the user, if there is something to tell.
	note Note
}

// earlier looks for what is finished, and refuses what cannot be gone on with. It
// changes no file.
func (r *ready) earlier() (*earlier, error) {
	if r.Out.Path == "" {
		return &earlier{}, nil
	}
	file := r.Out.Path + PartialSuffix
	for _, path := range []string{r.Out.Path, file} {
		if err := outfile.Refuse(path, r.inputs()...); err != nil {
			return nil, fmt.Errorf("--out %w", err)
		}
	}
	text, err := infile.ReadAll(file, report.MostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return r.finished(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: is left of a run and cannot be read: %w: remove it to begin again", file, outfile.Reason(err))
	}
	old, err := readFinished(file, text)
	if !r.Out.Resume {
		return nil, fmt.Errorf("%s: holds %d finished records of a run that goes on or was interrupted: add --resume to go on from there, or remove it", file, len(old.records))
	}
	if err == nil {
		err = r.agree(file, old.records)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: give the flags and files of the run that was interrupted, or remove %s to begin again", err, file)
	}
	old.partial = true
	old.note = &GoingOn{File: file, Done: len(old.records), Total: len(r.all)}
	return old, nil
}

// inputs are the files and folders that the job reads.
func (j *Job) inputs() []string {
	p := &j.Tasks.Points
	files := append([]string{j.Posterior.Path, j.Posterior.Options.SDFile, j.Tasks.File, property.FileOf(p.Label)}, property.FilesOf(p.Inputs)...)
	for _, text := range append([]string{p.Mean, p.Std, strings.Join(p.Clip, ",")}, property.SplitList(p.Eps)...) {
		files = append(files, property.VectorFile(text))
	}
	return files
}

// finished is what Resume makes of FILE itself: all of this run, or nothing.
func (r *ready) finished() *earlier {
	path := r.Out.Path
	text, err := infile.ReadAll(path, report.MostBytes)
	if !r.Out.Resume || errors.Is(err, fs.ErrNotExist) {
		return &earlier{}
	}
	var old *earlier
	if err == nil {
		old, err = readFinished(path, text)
	}
	if err == nil {
		err = r.agree(path, old.records)
	}
	if total := len(r.all); err == nil && (len(old.records) < total || len(old.lines) < len(text)) {
		err = fmt.Errorf("%s: has %d of this run's %d records", path, len(old.records), total)
	}
	if err != nil {
		return &earlier{note: &Anew{err}}
	}
	old.final, old.note = true, &Complete{File: path, Total: len(old.records)}
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
		if again, err := rec.Line(); err != nil || !bytes.Equal(again, line) {
			return old, fmt.Errorf("%s: line %d: is not as psafe writes it", file, len(old.records)+1)
		}
		old.records = append(old.records, rec)
	}
	return old, nil
}

// known is what a task's record says whatever comes out.
func (r *ready) known(t *property.Task) *report.Record {
	points, list := &r.Tasks.Points, r.tasks
	rec := &report.Record{
		Property: list.property(t), Clip: points.Clip, ClipSHA256: list.clipSHA256, InputScale: points.Scale, Flags: r.words,
		Fix: points.Fix, Free: points.Free, Mean: list.norm.words[0], Std: list.norm.words[1], Channels: list.channels, Template: list.template,
		Require: r.require(), Precision: r.precision().String(), Seed: r.cfg.Seed,
		Posterior: r.Posterior.Path, PosteriorSHA256: r.post.Source.SHA256, PosteriorScale: r.Posterior.scaleWords(r.post), Activations: activations(r.post),
		Inputs: r.tasks.source, InputsSHA256: r.tasks.sha256, Version: r.Version, Numerics: certify.Numerics,
	}
	if n := list.norm.Norm; n != nil {
		rec.MeanSHA256, rec.StdSHA256 = n.MeanSHA256, n.StdSHA256
	}
	if given := r.post.Source.Given; given != nil {
		rec.PosteriorSD, rec.PosteriorSDFile, rec.PosteriorSDSHA = given.Words, given.Path, given.SHA256
	}
	rec.SetTask(t)
	rec.Identify()
	rec.Tasks, rec.Run = r.tasks.n, r.id
	return rec
}

// identify sets what all records of the run have in common and no other run's have.
func (r *ready) identify() {
	r.id = report.RunID(func(yield func(string) bool) {
		for i := range r.all {
			if !yield(r.known(&r.all[i]).ID) {
				return
			}
		}
	})
}

// activations lists the hidden activations, first layer first: some formats do not
// say them, and a certificate is about one function.
func activations(post *posterior.Posterior) []string {
	words := []string{}
	for _, l := range post.Layers[:len(post.Layers)-1] {
		words = append(words, l.Activation.String())
	}
	return words
}

// agree checks that records are the first that this run would write.
func (r *ready) agree(file string, records []*report.Record) error {
	for i, rec := range records {
		if i == len(r.all) {
			return fmt.Errorf("%s: line %d: this run has only %d records", file, i+1, i)
		}
		want := r.known(&r.all[i])
		want.Task = i
		if rec.Method == "neuronsum" {
			want.Precision = "float64" // the host's sums, whatever the device's is
		}
		field, is, wanted := report.Asked(rec, want)
		if field == "" {
			field, is, wanted = r.decided(rec)
		}
		if field != "" {
			return fmt.Errorf("%s: line %d: %s is %s, of this run %s", file, i+1, field, printable(is), printable(wanted))
		}
	}
	return nil
}

// decided compares what follows from the rest of a record: its verdict, and whether times
// are kept.
func (r *ready) decided(rec *report.Record) (field, is, wanted string) {
	again := *rec
	again.Decide(r.require())
	switch {
	case again.Verdict != rec.Verdict || again.Guarantee != rec.Guarantee:
		return "verdict", strconv.Quote(rec.Verdict), strconv.Quote(again.Verdict)
	case r.Out.OmitTiming && rec.Seconds != nil:
		return "seconds", "there", ""
	case !r.Out.OmitTiming && rec.Seconds == nil:
		return "seconds", "", "there"
	}
	return "", "", ""
}

// printable is a value as a message may show it.
func printable(value string) string {
	if value == "" {
		return "absent"
	}
	return Printable(value)
}
