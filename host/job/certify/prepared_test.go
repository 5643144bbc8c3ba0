package certify

import (
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/npy"
	"psafe/host/record"
)

// preparedJobs are small jobs of all methods, whose records are equal however they are made.
func preparedJobs() map[string]*Job {
	points := func(by prove.Method, more func(*Job)) *Job {
		j := digits()
		j.Tasks.Points.Index, j.Tasks.Points.Eps = new("0:3"), "0.01,0.02"
		j.Method = Method{By: &by}
		if more != nil {
			more(j)
		}
		return j
	}
	sampled := func(j *Job) {
		j.Method.Draws, j.Method.Gamma = new(5), new(0.5)
	}
	drawn := func(j *Job) { j.Method.Draws = new(20) }
	jobs := map[string]*Job{
		"auto": points(prove.Auto, nil), "ibp": points(prove.IBP, sampled), "lbp": points(prove.LBP, sampled), "clbp": points(prove.CLBP, nil),
		"statistical": points(prove.Statistical, drawn), "beside": points(prove.CLBP, drawn), "float64": points(prove.CLBP, func(j *Job) { j.Precision = new(bound.Float64) }),
		"derived": points(prove.CLBP, func(j *Job) { j.Method.Derived = true }),
	}
	jobs["file"] = &Job{Posterior: Posterior{Path: testFile("cubic-128.npz")}, Tasks: Tasks{File: testFile("cubic-property.json")}, Open: onCPU, Out: Output{OmitTiming: true}}
	jobs["file, sampled"] = &Job{Posterior: Posterior{Path: testFile("advisory-4-32-9.npz"), Options: format.Options{Scale: posterior.ScaleUnknown}},
		Tasks: Tasks{File: testFile("advisory-property.json")}, Method: Method{By: new(prove.IBP), Draws: new(20), Gamma: new(0.5)}, Open: onCPU, Out: Output{OmitTiming: true}}
	return jobs
}

// TestPrepared: records of some of the tasks are those of a run of all, whatever they are
// certified with, but for the fields of the run, which the caller knows. Nor does a run depend on
// how its tasks are cut into chunks.
func TestPrepared(t *testing.T) {
	defer func(n int) { chunkBytes = n }(chunkBytes)
	together := chunkBytes
	for name, j := range preparedJobs() {
		chunkBytes = together
		whole := lines(t, j)
		if chunkBytes = 1; lines(t, j) != whole {
			t.Errorf("%s: other records of chunks of one task", name)
		}
		want := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
		p, err := j.Prepare()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.Len() != len(want) {
			t.Fatalf("%s: %d tasks, want %d", name, p.Len(), len(want))
		}
		for _, tasks := range [][]int{{0}, {p.Len() - 1}, {}, all(p.Len())} {
			var got []int
			err = p.Certify(t.Context(), tasks, func(k int, rec *record.Record) error {
				known, err := p.Known(k)
				if err != nil {
					return err
				}
				first, err := record.ParseRecord([]byte(strings.TrimSuffix(want[k], "\n")))
				if err != nil {
					return err
				}
				if known.ID != rec.ID || len(rec.ID) != 32 || known.Task != k {
					t.Errorf("%s: task %d: id %q, known %q", name, k, rec.ID, known.ID)
				}
				rec.Run = first.Run
				line, err := rec.Line()
				if err != nil {
					return err
				}
				if strings.TrimSuffix(string(line), "\n") != strings.TrimSuffix(want[k], "\n") {
					t.Errorf("%s: task %d:\n%s\nby itself\n%s", name, k, want[k], line)
				}
				got = append(got, k)
				return nil
			})
			if err != nil || !slices.Equal(got, tasks) && len(got)+len(tasks) > 0 {
				t.Errorf("%s: %v of %v, %v", name, got, tasks, err)
			}
		}
		files, err := p.Files()
		if err != nil || len(files) < 1 || files[0].Path != j.Posterior.Path || len(files[0].SHA256) != 64 {
			t.Errorf("%s: files %v, %v", name, files, err)
		}
		p.Close()
	}
}

// TestFiles: every file that a job reads is listed, with the digest that records have of it.
func TestFiles(t *testing.T) {
	j := digits()
	b, err := npy.Encode(&npy.Array{Shape: []int{64}, Data: make([]float64, 64), DType: "<f8"})
	if err != nil {
		t.Fatal(err)
	}
	eps, labels := file(t, "eps.npy", string(b)), testFile("glyphs-test-labels-idx1-ubyte.gz")
	p := &j.Tasks.Points
	p.Eps, p.Label = "0.02,"+eps, labels
	prepared, err := j.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	rec, err := prepared.Known(prepared.Len() - 1)
	if err != nil {
		t.Fatal(err)
	}
	files, err := prepared.Files()
	if err != nil {
		t.Fatal(err)
	}
	want := []InputFile{{j.Posterior.Path, "posterior_sha256", rec.PosteriorSHA256}, {p.Inputs, "inputs_sha256", rec.InputsSHA256}, {eps, "eps_sha256", rec.EpsSHA256}}
	if len(files) != 4 || !slices.Equal(files[:3], want) || files[3].Path != labels || rec.EpsSHA256 == "" {
		t.Errorf("files %v, want %v and %s", files, want, labels)
	}
}

// TestLabelFile: words and numbers name no file of classes, whatever lies in the folder.
func TestLabelFile(t *testing.T) {
	for _, c := range []struct {
		points Points
		want   string
	}{
		{Points{Label: "mean"}, ""}, {Points{Label: "column", LabelColumn: "last"}, ""}, {Points{LabelColumn: "last"}, ""}, {Points{Label: "3"}, ""}, {Points{}, ""},
		{Points{Label: "classes.gz"}, "classes.gz"}, {Points{Label: "classes.npz:y", LabelColumn: "last"}, "classes.npz"},
	} {
		if got := c.points.labelFile(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.points, got, c.want)
		}
	}
}

func all(n int) []int {
	var list []int
	for k := range n {
		list = append(list, k)
	}
	return list
}

// TestIdentity: the identity of a task is that of its question, and no build's or path's; it
// does not change with versions of psafe that compute the same.
func TestIdentity(t *testing.T) {
	j := digits()
	id := func(change func(*Job)) string {
		t.Helper()
		of := *j
		change(&of)
		p, err := of.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		rec, err := p.Known(p.Len() - 1)
		if err != nil {
			t.Fatal(err)
		}
		return rec.ID
	}
	first := id(func(*Job) {})
	const was = "dce32243769dffc4b74e3d680f993d0d"
	if first != was {
		t.Errorf("the identity is %s, was %s", first, was)
	}
	for what, change := range map[string]func(*Job){
		"version": func(j *Job) { j.Version = "9" },
		"path":    func(j *Job) { j.Posterior.Path = strings.Replace(j.Posterior.Path, "testdata", "./testdata", 1) },
		"chosen":  func(j *Job) { j.Tasks.Points.Index = new("1") },
		"radii":   func(j *Job) { j.Tasks.Points.Eps = "0.02,0.01" },
	} {
		if got := id(change); got != first {
			t.Errorf("another %s: %s, not %s", what, got, first)
		}
	}
	seen := map[string]string{first: "nothing"}
	for what, change := range map[string]func(*Job){
		"index":     func(j *Job) { j.Tasks.Points.Index = new("2") },
		"eps":       func(j *Job) { j.Tasks.Points.Eps = "0.02" },
		"clip":      func(j *Job) { j.Tasks.Points.Clip = nil },
		"method":    func(j *Job) { j.Method.By = new(prove.Phases) },
		"require":   func(j *Job) { j.Require = "0.8" },
		"precision": func(j *Job) { j.Precision = new(bound.Float64) },
		"posterior": func(j *Job) { j.Posterior.Path = testFile("glyphs-64-24-24-10.npz") },
		"property":  func(j *Job) { j.Tasks.Points.Property = "top_k:2" },
		"scale":     func(j *Job) { j.Posterior.Factor = "0.5" },
	} {
		got := id(change)
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s have the same identity", what, other)
		}
		seen[got] = what
	}
}
