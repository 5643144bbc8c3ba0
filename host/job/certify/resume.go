package certify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/infile"
	"psafe/internal/outfile"
)

// A run whose Out.Path is FILE writes each record to FILE.partial as soon as it is finished,
// and FILE.partial becomes FILE when all are there. With Resume a run keeps the
// lines of FILE.partial, if they are what it would have begun with, and goes on.
//
// What is guaranteed, on every system:
//
//   - FILE has all records of one run or is not touched, and no other file is replaced by it
//     unless Overwrite is set, not even one that comes there while the run computes.
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

// earlier holds what earlier runs have finished of this one.
type earlier struct {
	// file has it: done records, in the first bytes of the file, whose digest is sum.
	file  string
	done  int
	bytes int64
	sum   [sha256.Size]byte
	// partial reports whether file is FILE.partial, final whether it is FILE, with all records.
	partial, final bool
	// note tells the user, if there is something to tell.
	note Note
}

// earlier looks for what is finished, and refuses what cannot be gone on with. It
// changes no file.
func (r *ready) earlier(ctx context.Context) (*earlier, error) {
	if r.Out.Path == "" {
		return &earlier{}, nil
	}
	file := r.Out.Path + PartialSuffix
	for _, path := range []string{r.Out.Path, file} {
		if err := outfile.Refuse(path, outfile.Replace, r.inputs()...); err != nil {
			return nil, fmt.Errorf("--out %w", err)
		}
	}
	if r.Out.Resume && !r.Out.Overwrite {
		old, err := r.finished(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ended(ctx)
		case err != nil:
			return nil, fmt.Errorf("--out %w: --overwrite replaces it", err)
		case old != nil:
			return old, nil
		}
	}
	if _, err := os.Lstat(file); err == nil && r.Out.Overwrite && !r.Out.Resume {
		return &earlier{partial: true}, nil // replaced by an empty one
	}
	old, _, err := r.scan(ctx, file)
	_, unread := errors.AsType[*unreadable](err)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.Out.Resume && r.Out.Overwrite:
		return r.finishedOrAnew(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return &earlier{}, nil
	case unread:
		return nil, fmt.Errorf("%s: is left of a run and cannot be read: %w: remove it to begin again", file, outfile.Reason(err))
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case !r.Out.Resume:
		return nil, fmt.Errorf("%s: holds %d finished records of a run that goes on or was interrupted: add --resume to go on from there, or --overwrite to begin again", file, old.done)
	case err != nil:
		return nil, fmt.Errorf("%w: give the flags and files of the run that was interrupted, or remove %s to begin again", err, file)
	}
	old.partial = true
	old.note = &GoingOn{File: file, Done: old.done, Total: r.tasks.n}
	return old, nil
}

// inputs are the files and folders that the job reads.
func (j *Job) inputs() []string {
	p := &j.Tasks.Points
	files := append([]string{j.Posterior.Path, j.Posterior.Options.SDFile, j.Tasks.File, property.FileOf(p.Label), p.otherFile()}, property.FilesOf(p.Inputs)...)
	for _, text := range append([]string{p.Mean, p.Std, p.InputNoise, strings.Join(p.Clip, ",")}, property.SplitList(p.Eps)...) {
		files = append(files, property.VectorFile(text))
	}
	return files
}

// finishedOrAnew is FILE, if it is this run's; else a note says why it will be replaced.
func (r *ready) finishedOrAnew(ctx context.Context) (*earlier, error) {
	old, err := r.finished(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case err != nil:
		return &earlier{note: &Anew{err}}, nil
	}
	return cmp.Or(old, &earlier{}), nil
}

// finished is FILE itself, if it has all records of this run; nil if there is no such file, and
// an error that says why it is another's.
func (r *ready) finished(ctx context.Context) (*earlier, error) {
	path := r.Out.Path
	old, whole, err := r.scan(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case err == nil && (old.done < r.tasks.n || !whole):
		err = fmt.Errorf("%s: has %d of this run's %d records", path, old.done, r.tasks.n)
	}
	if err != nil {
		return nil, err
	}
	outfile.Unlink(path)
	old.final, old.note = true, &Complete{File: path, Total: old.done}
	return old, nil
}

// scan reads the lines of a file that end, which must be the first that this run would write;
// the last may have been cut off, and then the file is not whole. On an error there are the
// records before it: it is an *unreadable if the file cannot be read. It keeps no record.
func (r *ready) scan(ctx context.Context, file string) (old *earlier, whole bool, err error) {
	old = &earlier{file: file}
	f, err := infile.Open(file)
	if err != nil {
		return old, false, &unreadable{err}
	}
	defer f.Close()
	digest := sha256.New()
	whole, err = eachLine(f, func(line []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := record.ParseRecord(line)
		if err != nil {
			return fmt.Errorf("%s: line %d: no result record: %w", file, old.done+1, err)
		}
		// Whatever psafe writes, it would write again.
		if again, err := rec.Line(); err != nil || !bytes.Equal(again, line) {
			return fmt.Errorf("%s: line %d: is not as psafe writes it", file, old.done+1)
		}
		if r.Out.Resume {
			if err := r.agree(file, rec, old.done); err != nil {
				return err
			}
		}
		old.done++
		old.bytes += int64(len(line))
		digest.Write(line)
		return nil
	})
	digest.Sum(old.sum[:0])
	return old, whole, err
}

// unreadable holds why a file cannot be read.
type unreadable struct{ error }

func (u *unreadable) Unwrap() error { return u.error }

// eachLine calls f for each line that ends, with its end. whole says that nothing is behind the
// last. Errors of reading are *unreadable.
func eachLine(r io.Reader, f func(line []byte) error) (whole bool, err error) {
	lines := infile.NewLines(r, record.MostLine)
	for {
		line, whole, err := lines.Next()
		switch {
		case err == io.EOF:
			return true, nil
		case err != nil:
			return false, &unreadable{err}
		case !whole:
			return false, nil
		}
		if err := f(line); err != nil {
			return false, err
		}
	}
}

// each calls tell for the records.
func (old *earlier) each(tell func(*record.Record)) error {
	if old.done == 0 {
		return nil
	}
	return old.read(func(r io.Reader) error {
		_, err := eachLine(r, func(line []byte) error {
			rec, err := record.ParseRecord(line)
			if err != nil {
				return errChanged
			}
			tell(rec)
			return nil
		})
		return err
	})
}

// copy writes the lines, as they are in the file.
func (old *earlier) copy(w io.Writer) error {
	if old.done == 0 {
		return nil
	}
	return old.read(func(r io.Reader) error {
		digest := sha256.New()
		_, err := io.Copy(io.MultiWriter(w, digest), r)
		if err == nil && !bytes.Equal(digest.Sum(nil), old.sum[:]) {
			err = errChanged
		}
		return err
	})
}

// left returns how many lines are in FILE.partial.
func (r *ready) left() (lines int) {
	if r.Out.Path == "" {
		return 0
	}
	f, err := infile.Open(r.Out.Path + PartialSuffix)
	if err != nil {
		return 0
	}
	defer f.Close()
	_, _ = eachLine(f, func([]byte) error { lines++; return nil })
	return lines
}

// errChanged reports that a file is not any more what was read before.
var errChanged = errors.New("another run has changed it in the meantime: begin with --resume again")

// read calls f with what there was in the file.
func (old *earlier) read(f func(io.Reader) error) error {
	file, err := infile.Open(old.file)
	if err == nil {
		err = f(io.LimitReader(file, old.bytes))
		file.Close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", old.file, outfile.Reason(err))
	}
	return nil
}

// known returns what a task's record says whatever comes out.
func (r *ready) known(t *property.Task) *record.Record {
	points, list := &r.Tasks.Points, r.tasks
	rec := &record.Record{
		Property: list.property(t), Clip: points.Clip, ClipSHA256: list.clipSHA256, Norm: points.normWord(), InputScale: points.Scale, Flags: r.words,
		Fix: points.Fix, Free: points.Free, Mean: list.norm.words[0], Std: list.norm.words[1], Channels: list.channels, Template: list.template,
		Require: r.require(), Precision: r.precision().String(), Seed: r.cfg.Seed,
		Posterior: r.Posterior.Path, PosteriorSHA256: r.read.Source.SHA256, PosteriorScale: r.Posterior.scaleWords(r.read), Predictive: r.Posterior.predictive(), FeaturesOf: r.read.Input.FeaturesOf, Activations: activations(r.read),
		InputNoise: points.InputNoise, InputNoiseSHA256: r.noise.SHA256, Relation: points.Relation, Other: points.Other,
		Inputs: r.tasks.source, InputsSHA256: r.tasks.sha256, Version: r.Version, Numerics: prove.Numerics,
	}
	if n := list.norm.Norm; n != nil {
		rec.MeanSHA256, rec.StdSHA256 = n.MeanSHA256, n.StdSHA256
	}
	if points.otherFile() != "" {
		rec.OtherSHA256 = r.other.Source.SHA256
	}
	if given := r.post.Source.Given; given != nil {
		rec.PosteriorSD, rec.PosteriorSDFile, rec.PosteriorSDSHA = given.Words, given.Path, given.SHA256
	}
	if s := r.post.Finite(); s != nil && s.N() > 1 {
		rec.Networks = s.N()
	}
	rec.SetTask(t)
	rec.Identify()
	rec.Tasks, rec.Run = r.tasks.n, r.id
	return rec
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

// agree checks that a record is what this run would write of task k.
func (r *ready) agree(file string, rec *record.Record, k int) error {
	if k == r.tasks.n {
		return fmt.Errorf("%s: line %d: this run has only %d records", file, k+1, k)
	}
	task, err := r.tasks.at(k)
	if err != nil {
		return err
	}
	want := r.asked(k, &task)
	if r.tasks.search != nil {
		want.Eps = rec.Eps // which is what was found
	}
	if rec.Method == "neuronsum" {
		want.Precision = "float64" // the host's sums, whatever the device's is
	}
	field, is, wanted := record.Asked(rec, want)
	if field == "" {
		field, is, wanted = r.decided(rec)
	}
	if field != "" {
		return fmt.Errorf("%s: line %d: %s is %s, of this run %s%s", file, k+1, field, printable(is), printable(wanted), flagOf(field))
	}
	return nil
}

// flagOf is the flag that a field of a record is of, in brackets; empty where it is of none, or of several.
func flagOf(field string) string {
	name, file := strings.CutSuffix(field, "_sha256")
	switch name {
	case "index", "label", "property", "eps", "clip", "norm", "input_scale", "fix", "free", "mean", "std", "channels", "require", "precision", "posterior", "inputs", "predictive", "input_noise", "relation", "other":
		name = strings.ReplaceAll(name, "_", "-")
	case "posterior_scale":
		name = "scale"
	case "posterior_sd":
		name = "sd"
	case "activations":
		name = "activation"
	case "template", "name":
		name = "property"
	case "verdict":
		name = "require"
	case "seconds":
		name = "omit-timing"
	case "seed":
		name = "options seed"
	default:
		return ""
	}
	if file {
		return fmt.Sprintf(" (another file of --%s)", name)
	}
	return fmt.Sprintf(" (--%s)", name)
}

// decided compares what follows from the rest of a record: its verdict, and whether times
// are kept.
func (r *ready) decided(rec *record.Record) (field, is, wanted string) {
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
