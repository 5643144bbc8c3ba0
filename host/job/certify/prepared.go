package certify

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/infile"
)

// Prepared is a job whose files have been read, for certifying some of its tasks, as a
// campaign does: memory does not grow with how many it has. Records are those of Job.Run,
// but for task, tasks and run, which are the caller's, and times.
type Prepared struct{ r *ready }

// Prepare checks the settings and reads the files that they name. The job must not have a
// result file (it panics if it does). Errors are those of Run.
func (j *Job) Prepare() (*Prepared, error) {
	if j.Out.Path != "" || j.Out.Resume || j.TotalTimeLimit != nil {
		panic(fmt.Sprintf("certify: Prepare: a job that writes %q, resumes (%v) or has a time limit", j.Out.Path, j.Out.Resume))
	}
	r, err := j.read()
	if err != nil {
		return nil, err
	}
	if !r.cfg.Method.OfBoxes() {
		return &Prepared{r}, nil
	}
	for k := range r.tasks.n { // how wide the boxes are depends on all tasks
		t, err := r.tasks.at(k)
		if err == nil {
			err = r.ask(&t)
		}
		if err != nil {
			return nil, err
		}
	}
	return &Prepared{r}, nil
}

// Piped reports whether the job reads a pipe, so that it can be read only once.
func (j *Job) Piped() bool {
	points := &j.Tasks.Points
	names := []string{j.Tasks.File, points.Inputs, points.Mean, points.Std, points.Label, points.InputNoise, points.otherFile()}
	for _, list := range append([]string{points.Eps}, points.Clip...) {
		names = append(names, property.SplitList(list)...)
	}
	return slices.ContainsFunc(names, func(name string) bool { return infile.Piped(property.FileOf(name)) })
}

// WorkApprox is about how many multiplications the tasks take together, of which only the first
// is looked at, or with boxes that the property file asks for, all.
func (p *Prepared) WorkApprox() (float64, error) {
	cfg := p.r.cfg
	if cfg.Method.OfBoxes() && cfg.Samples == 0 {
		work := 0.0
		for _, of := range p.r.boxings {
			cfg.Samples = of.samples
			work += prove.WorkApprox(p.r.post, cfg) * float64(p.r.asking[of])
		}
		return work, nil
	}
	first, err := p.r.tasks.at(0)
	return prove.WorkApprox(p.r.post, cfg) * float64(p.Len()) * float64(len(first.T)), err
}

// Len returns how many tasks the job has.
func (p *Prepared) Len() int { return p.r.tasks.n }

// Known returns what the record of task k, from 0, says whatever comes out.
func (p *Prepared) Known(k int) (*record.Record, error) {
	t, err := p.r.tasks.at(k)
	if err != nil {
		return nil, err
	}
	return p.r.asked(k, &t), nil
}

// InputFile is a file that a job reads, as its flags name it, with its digest and the field of
// records that has it, or for a file of classes the field that its numbers go to.
type InputFile struct{ Path, Field, SHA256 string }

// mostVectorBytes bounds the files of numbers and of classes that Files reads.
const mostVectorBytes = 1 << 30

// Files are all files that the job reads.
func (p *Prepared) Files() ([]InputFile, error) {
	rec, err := p.Known(0)
	if err != nil {
		return nil, err
	}
	points := &p.r.Tasks.Points
	var files []InputFile
	for _, f := range []InputFile{
		{rec.Posterior, "posterior_sha256", rec.PosteriorSHA256}, {rec.PosteriorSDFile, "posterior_sd_sha256", rec.PosteriorSDSHA},
		{rec.Inputs, "inputs_sha256", rec.InputsSHA256}, {rec.Template, "template_sha256", rec.TemplateSHA256},
		{points.otherFile(), "other_sha256", rec.OtherSHA256}, {property.VectorFile(points.InputNoise), "input_noise_sha256", rec.InputNoiseSHA256},
		{property.VectorFile(points.Mean), "mean_sha256", rec.MeanSHA256}, {property.VectorFile(points.Std), "std_sha256", rec.StdSHA256},
	} {
		if f.Path != "" && f.SHA256 != "" {
			files = append(files, f)
		}
	}
	others := []InputFile{{Path: property.VectorFile(strings.Join(points.Clip, ",")), Field: "clip_sha256"}}
	for _, eps := range property.SplitList(points.Eps) {
		others = append(others, InputFile{Path: property.VectorFile(eps), Field: "eps_sha256"})
	}
	if file := points.labelFile(); file != "" {
		others = append(others, InputFile{Path: file, Field: "label"})
	}
	for _, f := range others {
		if f.Path == "" {
			continue
		}
		text, err := infile.ReadAll(f.Path, mostVectorBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		f.SHA256 = fmt.Sprintf("%x", sha256.Sum256(text))
		files = append(files, f)
	}
	return files, nil
}

// Notes returns what is to be known of the files before anything is proved, which Certify tells
// too, to Job.Note.
func (p *Prepared) Notes() []Note { return p.r.notes() }

// Certify certifies tasks, whose numbers ascend, and calls emit once for each, in their order,
// one call at a time. The devices are those of Job.Open, given back at the end. An error of
// emit ends it and is returned as it is if it is an *outfile.Error; others are those of Run.
func (p *Prepared) Certify(ctx context.Context, tasks []int, emit func(k int, rec *record.Record) error) error {
	r := p.r
	w, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	r.tellFirst(w.engines[0].Precision())
	err = r.inChunks(ctx, w.engines, len(tasks), func(i int) int { return tasks[i] }, func(rec *record.Record) error {
		return emit(rec.Task, rec)
	})
	if err != nil {
		return err
	}
	return w.done()
}

// Close gives the memory of the files back.
func (p *Prepared) Close() { p.r = nil }
