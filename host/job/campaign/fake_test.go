package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
)

// fake is a prepared job that certifies nothing: its records follow from the job's name and
// the number of the task.
type fake struct {
	name string
	n    int
	// pause is before each record, of a random length up to this.
	pause time.Duration
	// digest is that of its one file.
	digest   string
	progress func(done, total int)
	// change, if set, is called for each record before it is emitted.
	change func(k int, rec *record.Record) error
	closed *int
}

func (f *fake) Len() int { return f.n }

func (f *fake) Known(k int) (*record.Record, error) {
	sum := sha256.Sum256([]byte(f.name))
	rec := &record.Record{
		Index: k, Property: "keeps_class", Eps: "0.1", Require: property.MustExact("0.9"), Posterior: f.name, PosteriorSHA256: hex.EncodeToString(sum[:]),
		Activations: []string{}, Precision: "float32", Version: "test", Numerics: prove.Numerics, Task: k, Tasks: f.n,
	}
	rec.Identify()
	return rec, nil
}

func (f *fake) Files() ([]certify.InputFile, error) {
	return []certify.InputFile{{Path: f.name, Field: "posterior_sha256", SHA256: f.digest}}, nil
}

func (f *fake) Certify(ctx context.Context, tasks []int, emit func(k int, rec *record.Record) error) error {
	for i, k := range tasks {
		if f.pause > 0 {
			select {
			case <-ctx.Done():
				return &certify.Interrupted{}
			case <-time.After(time.Duration(rand.Int64N(int64(f.pause)))):
			}
		}
		if ctx.Err() != nil {
			return &certify.Interrupted{}
		}
		rec, err := f.record(k)
		if err != nil {
			return err
		}
		if f.change != nil {
			if err := f.change(k, rec); err != nil {
				return err
			}
		}
		if err := emit(k, rec); err != nil {
			return err
		}
		if f.progress != nil {
			f.progress(i+1, len(tasks))
		}
	}
	return nil
}

// record returns what comes out of a task.
func (f *fake) record(k int) (*record.Record, error) {
	rec, err := f.Known(k)
	sum := sha256.Sum256([]byte(rec.ID))
	rec.Method, rec.Guarantee, rec.Device = "ibp", record.Guarantee, "fake"
	p := float64(binary.LittleEndian.Uint32(sum[:])) / (1 << 32)
	rec.PLower, rec.PUpper = record.Down(p), record.Up(p+(1-p)/2)
	rec.Decide(rec.Require)
	return rec, err
}

func (f *fake) Close() {
	if f.closed != nil {
		*f.closed++
	}
}

// The jobs of fakeCampaign, as flags: a name and how many tasks.
var fakeJobs = []Call{{Args: []string{"a", "7"}}, {Args: []string{"b", "1"}}, {Args: []string{"c", "20"}}, {Args: []string{"d", "13"}}}

// fakeOf makes the job of its flags.
func fakeOf(args []string) *fake {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		panic(err)
	}
	return &fake{name: args[0], n: n, digest: "digest of " + args[0]}
}

// fakeCampaign plans a campaign of these jobs.
func fakeCampaign(t testing.TB, jobs []Call) *Folder {
	t.Helper()
	m := Manifest{Format: Format, Numerics: prove.Numerics, Version: "test", Base: "."}
	var lines bytes.Buffer
	ids := sha256.New()
	for i, j := range jobs {
		f := fakeOf(j.Args)
		j.First, j.Tasks, j.Files = m.Tasks, f.n, []File{{f.name, "posterior_sha256", f.digest}}
		m.Jobs, m.Tasks = append(m.Jobs, j), m.Tasks+f.n
		for k := range f.n {
			rec, _ := f.Known(k)
			line, err := json.Marshal(Task{Task: j.First + k, ID: rec.ID, Job: i, Index: k, Property: rec.Property})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&lines, "%s\n", line)
			fmt.Fprintln(ids, rec.ID)
		}
	}
	sum := sha256.Sum256(lines.Bytes())
	m.Campaign, m.TasksSHA256 = campaignID(ids), hex.EncodeToString(sum[:])
	dir := t.TempDir()
	text, err := json.Marshal(&m)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ManifestName), text, 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, TasksName), lines.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fakeRun is a Run of fakes; change, if it is not nil, is called for each.
func fakeRun(f *Folder, s Shard, change func(*fake)) *Run {
	return &Run{
		Folder: f, Shard: s, Status: func(error) int { return 2 },
		Prepare: func(args []string, progress func(done, total int)) (Prepared, error) {
			p := fakeOf(args)
			p.progress = progress
			if change != nil {
				change(p)
			}
			return p, nil
		},
	}
}

// lookAndCertify does what psafe run does.
func (r *Run) lookAndCertify(ctx context.Context) (*Found, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	found, err := r.Look(ctx)
	if err != nil {
		return nil, err
	}
	return found, r.Certify(ctx, found)
}

// merged merges a campaign and returns the file.
func merged(t testing.TB, f *Folder) (string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "r.jsonl")
	if err := Merge(t.Context(), f.Dir, Output{Path: out}, func(*record.Record) {}); err != nil {
		if _, there := os.Stat(out); there == nil {
			t.Errorf("%v, and there is a result", err)
		}
		return "", err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// single is the result of one undisturbed run.
func single(t testing.TB, jobs []Call) string {
	t.Helper()
	f := fakeCampaign(t, jobs)
	if _, err := fakeRun(f, Shard{0, 1}, nil).lookAndCertify(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := merged(t, f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// left are the files of attempts, by what they end in.
func left(t testing.TB, f *Folder) map[string][]string {
	t.Helper()
	files, err := f.attempts()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string][]string{}
	for _, a := range files {
		kinds[a.kind] = append(kinds[a.kind], filepath.Join(f.Results(), a.name))
	}
	return kinds
}
