package campaign

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/record"
	"psafe/internal/infile"
	"psafe/internal/outfile"
)

// Planner makes the folders of campaigns.
type Planner struct {
	// Parse makes a job of flags as psafe certify does.
	Parse func(args []string) (*certify.Job, error)
	// Version names the program.
	Version string
	// Progress, if set, is told how many tasks are planned, one call at a time. The total is
	// an estimate until the files of the last job have been read.
	Progress func(done, total int)
	// Note, if set, is told what a user should know of the files.
	Note func(certify.Note)
}

// Jobs parses the flags of all jobs.
func (p *Planner) Jobs(spec *Spec) ([]*certify.Job, error) {
	jobs := make([]*certify.Job, spec.Jobs())
	for i := range jobs {
		var err error
		if jobs[i], err = p.Parse(spec.Args(i)); err != nil {
			return nil, spec.blame(i, err)
		}
	}
	return jobs, nil
}

// Plan makes the folder dir, an absolute path, of the campaign of a file, whose relative paths
// start from the working directory. There may be nothing at dir, an empty folder, what is left
// of a plan that was killed, or this very campaign: then nothing is written, and isNew is false.
// The manifest is written last: without one, there is no campaign.
func (p *Planner) Plan(ctx context.Context, spec *Spec, dir string) (folder *Folder, isNew bool, err error) {
	if err := nameable(dir); err != nil {
		return nil, false, fmt.Errorf("--out %w: name another folder", err)
	}
	jobs, err := p.Jobs(spec)
	if err != nil {
		return nil, false, err
	}
	there, err := Open(dir)
	if err == nil {
		planned, err := p.plan(ctx, spec, jobs, there.Dir, io.Discard)
		if err == nil {
			err = there.same(dir, planned)
		}
		return there, false, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	undo, err := makeFolder(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	tasks, err := outfile.Create(filepath.Join(dir, TasksName), outfile.Replace)
	if err != nil {
		return nil, false, err
	}
	defer tasks.Discard()
	w := bufio.NewWriterSize(tasks, 1<<16)
	planned, err := p.plan(ctx, spec, jobs, dir, w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = tasks.Commit()
	}
	if err == nil {
		err = planned.write(filepath.Join(dir, ManifestName))
	}
	if err != nil {
		return nil, false, err
	}
	folder, err = Open(dir)
	return folder, true, err
}

// makeFolder makes dir and the folders above it where they are missing; undo removes what it
// made, as far as that is empty again.
func makeFolder(dir string) (undo func(), err error) {
	var made []string
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(up); err == nil || up == filepath.Dir(up) {
			break
		}
		made = append(made, up)
	}
	made = append([]string{filepath.Join(dir, TasksName), filepath.Join(dir, ResultsName)}, made...)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("--out %s: cannot be made: %w", dir, reason(err))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("--out %s: %w", dir, reason(err))
	}
	for _, e := range entries {
		unfinished, _ := filepath.Match(".psafe-*.tmp", e.Name())
		if !unfinished && e.Name() != ResultsName && !(e.Name() == TasksName && isTasks(filepath.Join(dir, TasksName))) {
			return nil, fmt.Errorf("--out %s: holds %q and no campaign: name a new folder, or an empty one", dir, e.Name())
		}
	}
	if results, err := os.ReadDir(filepath.Join(dir, ResultsName)); err == nil && len(results) > 0 {
		return nil, fmt.Errorf("--out %s: holds results, and no %s that says of what: name a new folder", dir, ManifestName)
	}
	if err := os.MkdirAll(filepath.Join(dir, ResultsName), 0o777); err != nil {
		return nil, fmt.Errorf("--out %s: cannot be made: %w", dir, reason(err))
	}
	return func() {
		if _, err := os.Lstat(filepath.Join(dir, ManifestName)); err == nil {
			return // of another process, which planned here at the same time
		}
		for _, path := range made {
			os.Remove(path)
		}
	}, nil
}

// isTasks reports whether a file begins as psafe plan writes those of tasks. Another is the user's.
func isTasks(path string) bool {
	f, err := infile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begins := make([]byte, len(firstTask))
	_, err = io.ReadFull(f, begins)
	return err == nil && string(begins) == firstTask
}

// firstTask begins the file of tasks.
const firstTask = `{"task":0,"id":"`

// base is the working directory, seen from dir.
func base(dir string) (string, error) {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(dir, here); err == nil {
		here = rel // else on another drive of Windows
	}
	return filepath.ToSlash(here), nil
}

// nameable refuses names of files that manifests, scripts and terminals cannot all have as they
// are.
func nameable(path string) error {
	if !utf8.ValidString(path) {
		return fmt.Errorf("%q: the name is no UTF-8", path)
	}
	if i := strings.IndexFunc(path, unicode.IsControl); i >= 0 {
		c, _ := utf8.DecodeRuneInString(path[i:])
		return fmt.Errorf("%q: the name has a control character, %U", path, c)
	}
	return nil
}

// write writes the manifest.
func (m *Manifest) write(path string) error {
	file := *m
	file.Jobs = slices.Clone(m.Jobs)
	for i, j := range file.Jobs {
		file.Jobs[i].Args = inWords(j.Args, record.Recorded)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(&file); err != nil {
		return err
	}
	err := outfile.WriteFile(path, outfile.Same, text.Bytes())
	if _, there := errors.AsType[*outfile.Exists](err); there {
		return fmt.Errorf("--out %s: another campaign has just been planned there: name a new folder", filepath.Dir(path))
	}
	return err
}

// same returns how a campaign differs from the one that is there.
func (f *Folder) same(dir string, planned *Manifest) error {
	m := &f.Manifest
	switch {
	case m.Campaign != planned.Campaign:
		return fmt.Errorf("--out %s: holds another campaign, %s of %d tasks; this one is %s of %d: name a new folder", dir, m.Campaign, m.Tasks, planned.Campaign, planned.Tasks)
	case m.Numerics != planned.Numerics:
		return fmt.Errorf("--out %s: was planned by %s, whose bounds are of numerics %d, those of this psafe of %d: name a new folder", dir, m.Version, m.Numerics, planned.Numerics)
	case m.Base != planned.Base:
		return fmt.Errorf("--out %s: holds this campaign with paths from %s, now they start from %s: name a new folder", dir, m.Base, planned.Base)
	}
	for i := range m.Jobs {
		if i >= len(planned.Jobs) || !slices.Equal(m.Jobs[i].Args, planned.Jobs[i].Args) {
			return fmt.Errorf("--out %s: holds this campaign with other words in job %d, %s: name a new folder, or write them so", dir, i, certify.Shell(m.Jobs[i].Args))
		}
	}
	if m.TasksSHA256 != planned.TasksSHA256 || len(m.Jobs) != len(planned.Jobs) {
		return fmt.Errorf("--out %s: holds this campaign with other tasks or jobs: name a new folder", dir)
	}
	return nil
}

// planning is a plan under way.
type planning struct {
	*Planner
	spec     *Spec
	manifest *Manifest
	// out gets the lines of tasks; digest and ids are of them all.
	out         io.Writer
	digest, ids hash.Hash
	// jobOf is the job of each id.
	jobOf map[[16]byte]int32
}

// plan reads the files of one job after the other and writes a line for each task.
func (p *Planner) plan(ctx context.Context, spec *Spec, jobs []*certify.Job, dir string, out io.Writer) (*Manifest, error) {
	from, err := base(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := nameable(from); err != nil {
		return nil, fmt.Errorf("%s: lies in a folder that a campaign cannot name: %w: rename it", spec.Path, err)
	}
	pl := planning{Planner: p, spec: spec, digest: sha256.New(), ids: sha256.New(), jobOf: map[[16]byte]int32{}}
	pl.out = io.MultiWriter(out, pl.digest)
	pl.manifest = &Manifest{Format: Format, Numerics: prove.Numerics, Version: p.Version, Base: from}
	for i, job := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		job.Note = p.Note
		prepared, err := job.Prepare()
		if err == nil {
			err = pl.job(ctx, i, prepared)
			prepared.Close()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, unwritten := errors.AsType[*outfile.Error](err); unwritten {
			return nil, err
		}
		if err != nil {
			return nil, spec.blame(i, err)
		}
		jobs[i] = nil
	}
	m := pl.manifest
	m.Campaign, m.TasksSHA256 = campaignID(pl.ids), hex.EncodeToString(pl.digest.Sum(nil))
	return m, nil
}

// job plans the tasks of job number i.
func (pl *planning) job(ctx context.Context, i int, prepared *certify.Prepared) error {
	m, n := pl.manifest, prepared.Len()
	if n < 1 || n > mostTasks-m.Tasks {
		return fmt.Errorf("has %d tasks, and a campaign from 1 to %d: make several campaigns", m.Tasks+n, mostTasks)
	}
	if pl.Note != nil {
		for _, note := range prepared.Notes() {
			pl.Note(note)
		}
	}
	job := Call{Args: pl.spec.Args(i), First: m.Tasks, Tasks: n}
	files, err := prepared.Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := nameable(f.Path); err != nil {
			return fmt.Errorf("%w: rename it", err)
		}
		job.Files = append(job.Files, File{Path: f.Path, Field: f.Field, SHA256: f.SHA256})
	}
	enc := json.NewEncoder(pl.out)
	enc.SetEscapeHTML(false)
	for k := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := prepared.Known(k)
		if err != nil {
			return err
		}
		task := Task{Task: job.First + k, ID: rec.ID, Job: i, Index: rec.Index, Eps: rec.Eps, RadiusEnd: rec.RadiusEnd, Name: rec.Name, Property: rec.Property}
		if err := pl.once(task); err != nil {
			return err
		}
		if err := enc.Encode(&task); err != nil {
			return err
		}
		pl.ids.Write([]byte(task.ID + "\n"))
		if pl.Progress != nil && (k%1000 == 0 || k == n-1) {
			// What is not read yet is taken to be like what is.
			pl.Progress(task.Task+1, (m.Tasks+n)*pl.spec.Jobs()/(i+1))
		}
	}
	m.Tasks += n
	m.Jobs = append(m.Jobs, job)
	return nil
}

// once refuses a task that another job, or this one, has too.
func (pl *planning) once(t Task) error {
	var id [16]byte
	if n, err := hex.Decode(id[:], []byte(t.ID)); err != nil || n != len(id) {
		panic(fmt.Sprintf("campaign: the id of a record is %q, not of %d bytes", t.ID, len(id)))
	}
	before, twice := pl.jobOf[id]
	pl.jobOf[id] = int32(t.Job)
	if !twice {
		return nil
	}
	eps := ""
	if t.Eps != "" {
		eps = ", eps " + t.Eps
	}
	return fmt.Errorf("index %d%s, property %.60s is the same task as one of job %d, %s: leave one of them out", t.Index, eps, t.Property, before, pl.spec.words(int(before)))
}
