package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/npy"
	"psafe/host/read/property"
)

// vector writes numbers to a .npy file.
func vector(t *testing.T, name string, numbers ...float64) string {
	t.Helper()
	b, err := npy.Encode(&npy.Array{Shape: []int{len(numbers)}, Data: numbers, DType: "<f8"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// about is a job about points of two inputs, with their region changed.
func about(change func(*certify.Tasks)) *certify.Job {
	tasks := certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Index: new("0:1"), Eps: "1/255", Property: "output_box:[-1.5,1.5],[-1.5,1.5]"}}
	change(&tasks)
	return &certify.Job{Posterior: certify.Posterior{Path: testFile("tiny-2-3-2-tanh.npz")}, Tasks: tasks,
		Method: certify.Method{By: new(prove.CLBP), NoUpper: true, Cells: new(8)}, Precision: new(bound.Float64), Version: "test"}
}

// template is a file of one property relative to points.
func template(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.json")
	text := `{"properties": [{"kind": "output_box", "output": [[-9, 9], [-9, 9]], "relative": {"eps": "1/255"}},
		{"name": "of the label", "kind": "argmax_is", "class": "label", "relative": [[0, 0.01], [0, 0]]}]}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestQuestionRefused: a record about a larger region than was proved, or about another
// question than its files ask, is refused, though its checksum is right.
func TestQuestionRefused(t *testing.T) {
	radii, others, clip := vector(t, "radii.npy", 1./256, 0), vector(t, "others.npy", 2, 2), template(t)
	jobs := map[string]func(*certify.Tasks){
		"eps":    func(k *certify.Tasks) { k.Points.Eps = "1/255,[1/255,0]," + radii },
		"clip":   func(k *certify.Tasks) { k.Points.Eps, k.Points.Clip = "3", []string{"[0,0]", "[1,2/3]"} },
		"fix":    func(k *certify.Tasks) { k.Points.Eps, k.Points.Fix = "1", "1" },
		"free":   func(k *certify.Tasks) { k.Points.Eps, k.Points.Free = "0.3", "1" },
		"norm":   func(k *certify.Tasks) { k.Points.Mean, k.Points.Std = "0.5,0", "0.25" },
		"vector": func(k *certify.Tasks) { k.Points.Mean, k.Points.Std = radii, "1" },
		"templates": func(k *certify.Tasks) {
			k.Points.Eps, k.Points.Property, k.File = "", "", clip
		},
	}
	lines := map[string][][]byte{}
	var c Checker
	for name, change := range jobs {
		lines[name] = written(t, about(change))
		for _, line := range lines[name] {
			if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
				t.Fatalf("%s: %v %v: %s", name, err, v.Refused, line)
			}
		}
	}
	for _, k := range []struct {
		job              string
		line             int
		expression, with string
		want             string
	}{
		{"eps", 0, `"eps":"1/255"`, `"eps":"60/255"`, "p_lower: "},
		{"eps", 0, `"eps":"1/255"`, `"eps":"1/0"`, "eps: "},
		{"eps", 0, `"eps":"1/255"`, `"eps":"1/255","eps_sha256":"00"`, "eps_sha256: "},
		{"eps", 1, `"eps":"\[1/255,0\]"`, `"eps":"[1/255,1]"`, "p_lower: "},
		{"eps", 1, `"eps":"\[1/255,0\]"`, `"eps":"[1/255]"`, "eps: "},
		{"eps", 2, `"eps_sha256":"[^"]*",`, ``, "eps_sha256: "},
		{"eps", 2, `"eps":"[^"]*radii`, `"eps":"` + strings.TrimSuffix(others, ".npy"), "eps_sha256: "},
		{"clip", 0, `\[1,2/3\]`, `[1,5]`, "p_lower: "},
		{"clip", 0, `"clip":\["\[0,0\]",`, `"clip":["[1,1]",`, "clip: "},
		{"clip", 0, `"clip":`, `"clip_sha256":"00","clip":`, "clip_sha256: "},
		{"fix", 0, `"fix":"1",`, ``, "p_lower: "},
		{"fix", 0, `"fix":"1",`, `"fix":"1","free":"0",`, "fix: "},
		{"fix", 0, `"fix":"1",`, `"fix":"2",`, "fix: "},
		{"free", 0, `"free":"1",`, `"free":":",`, "p_lower: "},
		{"norm", 0, `"std":"0.25",`, `"std":"0.125",`, "p_lower: "},
		{"norm", 0, `"std":"0.25",`, ``, "mean: "},
		{"norm", 0, `"std":"0.25",`, `"std":"-0.25",`, "mean: "},
		{"norm", 0, `"mean":"0.5,0","std":"0.25",`, `"mean":"posterior","std":"posterior",`, "mean: "},
		{"norm", 0, `"std":"0.25",`, `"std":"0.25","std_sha256":"00",`, "std_sha256: "},
		{"norm", 0, `"std":"0.25",`, `"std":"0.25","channels":"first",`, "inputs: "},
		{"vector", 0, `"mean_sha256":"[^"]*",`, ``, "mean_sha256: "},
		{"vector", 0, `"mean":"[^"]*","mean_sha256":"[^"]*","std":"1",`, `"mean_sha256":"00",`, "mean_sha256: "},
		{"templates", 0, `"template_entry":0`, `"template_entry":1`, "name: "},
		{"templates", 0, `"template_entry":0`, `"template_entry":2`, "template_entry: "},
		{"templates", 0, `,"template_entry":0`, ``, "template: "},
		{"templates", 0, `"template_sha256":"..`, `"template_sha256":"zz`, "template: "},
		{"templates", 0, `"property":"[^"]*"`, `"property":"else","eps":"0"`, "eps: "},
		{"templates", 0, `"property":"[^"]*"`, `"property":"else"`, "property: "},
		{"templates", 0, `"label":null`, `"label":0`, "label: "},
		{"templates", 1, `"label":\d`, `"label":null`, "label: "},
		{"templates", 1, `"label":\d`, `"label":7`, "label: "},
		{"templates", 0, `"template":"[^"]*","template_sha256":"[^"]*","template_entry":0`, `"fix":"0"`, "clip: "},
	} {
		v, err := c.Check(t.Context(), changed(t, lines[k.job][k.line], k.expression, k.with), false)
		if err != nil {
			t.Fatal(k, err)
		}
		switch {
		case v.Refused == nil:
			t.Errorf("%s: %s instead of %s passes", k.job, k.with, k.expression)
		case !strings.HasPrefix(v.Refused.Error(), k.want) || strings.Contains(v.Refused.Error(), "\n"):
			t.Errorf("%s: %s instead of %s: %q, want %q", k.job, k.with, k.expression, v.Refused, k.want)
		}
	}
	var runs Runs
	for _, line := range lines["eps"] {
		v, err := c.Check(t.Context(), line, true)
		if err != nil {
			t.Fatal(err)
		}
		runs.Add(v)
	}
	if gaps := runs.Gaps(); len(gaps) > 0 {
		t.Errorf("several radii: %q", gaps)
	}
	for _, away := range []string{radii, clip} {
		if err := os.Remove(away); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range [][]byte{lines["eps"][2], lines["vector"][0], lines["templates"][0]} {
		if _, err := new(Checker).Check(t.Context(), line, false); err == nil || !strings.Contains(err.Error(), "is not there: run psafe check in the folder") {
			t.Errorf("%v of %s", err, line)
		}
	}
}

// TestNormOfPosterior: a record must say that the posterior's file normalises, and is proved
// with what the file says.
func TestNormOfPosterior(t *testing.T) {
	typed := written(t, about(func(k *certify.Tasks) { k.Points.Mean, k.Points.Std = "0.5,0", "0.25" }))[0]
	says := changed(t, typed, `"mean":"0.5,0","std":"0.25"`, `"mean":"posterior","std":"posterior"`)
	for _, k := range []struct {
		line  []byte
		input posterior.Input
		want  string
	}{
		{typed, posterior.Input{}, ""}, {says, posterior.Input{}, "mean: "},
		{says, posterior.Input{Mean: []float64{0.5, 0}, Std: []float64{0.25}}, ""},
		{typed, posterior.Input{Mean: []float64{0.5, 0}, Std: []float64{0.25}}, "mean: "},
		{says, posterior.Input{Mean: []float64{0.5, 0}, Std: []float64{0.0625}}, "p_lower: "},
		{says, posterior.Input{Mean: []float64{0.5, 0, 1}, Std: []float64{0.25}}, "mean: "},
		{says, posterior.Input{Mean: []float64{0.5, 0}, Std: []float64{0.25}, Shape: []int{2, 1}}, ""},
	} {
		r, err := record.Parse(k.line)
		if err != nil {
			t.Fatal(err)
		}
		var c Checker
		post, err := c.files.posterior(r, Files{})
		if err != nil {
			t.Fatal(err)
		}
		post.Input = k.input // as a file would that says it
		v, err := c.Check(t.Context(), k.line, false)
		if err != nil {
			t.Fatal(err)
		}
		if (v.Refused == nil) != (k.want == "") || v.Refused != nil && !strings.HasPrefix(v.Refused.Error(), k.want) {
			t.Errorf("%+v: %v, want %q", k.input, v.Refused, k.want)
		}
	}
}

// TestTaskIsThatOfTheRun: check asks the same of the networks as certify.
func TestTaskIsThatOfTheRun(t *testing.T) {
	j := about(func(k *certify.Tasks) {
		k.Points.Index, k.Points.Eps, k.Points.Fix, k.Points.Clip = new("2:4"), "[1/3,8/255],0.1", "1", []string{"-0.3", "0.95"}
		k.Points.Mean, k.Points.Std = "[0.1307,1/3]", "0.3081"
	})
	j.Method.Cells = new(1) // what is proved does not matter here
	post, err := j.Posterior.Read()
	if err != nil {
		t.Fatal(err)
	}
	want, err := j.Tasks.Load(post)
	if err != nil {
		t.Fatal(err)
	}
	var f files
	for i, line := range written(t, j) {
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		q, err := f.question(r, Files{})
		if err != nil {
			t.Fatal(err)
		}
		for _, boxes := range [2][2][]property.Box{{q.task.T, want[i].T}, {q.task.Inner, want[i].Inner}} {
			for j := range boxes[0][0].Lo {
				if boxes[0][0].Lo[j] != boxes[1][0].Lo[j] || boxes[0][0].Hi[j] != boxes[1][0].Hi[j] {
					t.Errorf("task %d: %v, want %v", i, boxes[0], boxes[1])
				}
			}
		}
	}
}

// TestLongRadii: records of one run whose radii begin alike are of one run.
func TestLongRadii(t *testing.T) {
	names := map[string]string{}
	for _, eps := range []string{"1/255", "[" + strings.Repeat("1/255,", 20) + "0]", "[" + strings.Repeat("1/255,", 20) + "1]", strings.Repeat("radii/", 9) + "a.npy", strings.Repeat("radii/", 9) + "b.npy"} {
		name := (&record.Record{Eps: eps}).Asks()
		if other, known := names[name]; known || len(name) > 200 {
			t.Errorf("%.200s is that of %s and %s", name, eps, other)
		}
		names[name] = eps
	}
	list := "[" + strings.Repeat("0", 40)
	job := about(func(k *certify.Tasks) { k.Points.Eps = list + ".1,0]," + list + ".2,0]" })
	var c Checker
	var runs Runs
	for _, line := range written(t, job) {
		v, err := c.Check(t.Context(), line, false)
		if err != nil || v.Refused != nil {
			t.Fatal(err, v.Refused)
		}
		runs.Add(v)
	}
	if gaps := runs.Gaps(); len(gaps) > 0 {
		t.Error(gaps)
	}
}
