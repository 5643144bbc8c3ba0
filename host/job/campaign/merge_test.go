package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/record"
)

// putAttempt writes a file of records of a campaign: those of a single run for these tasks,
// changed.
func putAttempt(t testing.TB, f *Folder, name, single string, tasks Span, change func(*record.Record)) string {
	t.Helper()
	var text bytes.Buffer
	for _, line := range strings.SplitAfter(single, "\n")[tasks.First:tasks.End] {
		rec, err := record.ParseRecord([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(rec)
		}
		if err := rec.Write(&text); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(f.Results(), fmt.Sprintf("%09d-%09d.%s", tasks.First, tasks.End-1, name))
	err := os.MkdirAll(f.Results(), 0o777)
	if err == nil {
		err = os.WriteFile(path, text.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	wordA = "aaaaaaaaaaaa.jsonl"
	wordB = "bbbbbbbbbbbb.jsonl"
	wordC = "cccccccccccc.jsonl.partial"
)

// TestDuplicates: records of a task that agree count once, the first of them; those that
// differ are an error that names the files, the devices and the field.
func TestDuplicates(t *testing.T) {
	want := single(t, fakeJobs)
	all := Span{0, 41}
	stopped := func(lower record.Down, upper record.Up) func(*record.Record) {
		return func(r *record.Record) {
			if r.Task == 5 {
				r.Stopped, r.PLower, r.PUpper = "time limit", lower, upper
				r.Decide(r.Require)
			}
		}
	}
	device := func(r *record.Record) {
		r.Device, r.Version, r.Posterior, r.Seconds = "another", "next", "./"+r.Posterior, new(1.5)
	}
	first, err := record.ParseRecord([]byte(strings.SplitAfter(want, "\n")[5]))
	if err != nil {
		t.Fatal(err)
	}
	lower := func(p record.Down) func(*record.Record) {
		return func(r *record.Record) {
			if device(r); r.Task == 5 {
				r.PLower = p
				r.Decide(r.Require)
			}
		}
	}
	for _, c := range []struct {
		name string
		a, b func(*record.Record)
		like string // the file that the merged one is like, or what the error says
	}{
		{"same", nil, nil, "a"},
		{"another machine", nil, device, "a"},
		{"another machine first", device, nil, "a"},
		{"the first was stopped", stopped(0, 1), nil, "b"},
		{"the second was stopped", nil, stopped(0, 1), "a"},
		{"both were, and the second proved more", stopped(0, 1), stopped(first.PLower/2, 1), "b"},
		{"both were, and the first proved more", stopped(first.PLower/2, 1), stopped(0, 1), "a"},
		{"both were, and the second proved more of p_upper", stopped(0, 1), stopped(0, 0.999), "b"},
		{"other bounds", nil, lower(first.PLower / 2), "task 5 (index 5): p_lower is "},
		{"other bounds that exclude each other", nil, func(r *record.Record) {
			if device(r); r.Task == 5 {
				r.PLower, r.PUpper = 0, record.Up(first.PLower)/2
				r.Decide(r.Require)
			}
		}, "p_lower is "},
		{"stopped, and they exclude each other", nil, stopped(1, 1), "p_upper is "},
		{"another method", nil, func(r *record.Record) { r.Method = "lbp" }, "task 0 (index 0): method is \"ibp\" in "},
	} {
		f := fakeCampaign(t, fakeJobs)
		a := putAttempt(t, f, wordA, want, all, c.a)
		b := putAttempt(t, f, wordB, want, all, c.b)
		got, err := merged(t, f)
		if len(c.like) > 1 {
			_, typed := errors.AsType[*Disagreement](err)
			if !typed || !strings.Contains(err.Error(), c.like) || !strings.Contains(err.Error(), a+": line ") || !strings.Contains(err.Error(), b+": line ") ||
				!strings.Contains(err.Error(), "device fake") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		like, _ := os.ReadFile(map[string]string{"a": a, "b": b}[c.like])
		if err != nil || got != string(like) {
			t.Errorf("%s: %v\n%s", c.name, err, got)
		}
	}
}

// TestRadiiDiffer: what was found is no way to spell a question, and bounds at two radii exclude nothing.
func TestRadiiDiffer(t *testing.T) {
	at := func(eps string, lower record.Down) record.Placed {
		return record.Placed{Record: &record.Record{RadiusEnd: "certified", Eps: eps, PLower: lower, PUpper: 1}}
	}
	for _, c := range []struct {
		a, b record.Placed
		says string
	}{{at("0.1", 0.9), at("0.1", 0.9), ""}, {at("0.1", 0.9), at("0.2", 0.9), "eps is 0.1 in "}, {at("0.1", 0.9), at("0.1", 0.8), "p_lower is "}} {
		if err := disagree(c.a, c.b); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("eps %s and %s: %v, want %q", c.a.Eps, c.b.Eps, err, c.says)
		}
	}
}

// TestOtherQuestion: a record with the id of its task that is about something else is none of
// the campaign, whatever its checksum says.
func TestOtherQuestion(t *testing.T) {
	want := single(t, fakeJobs)
	for _, change := range []func(*record.Record){
		func(r *record.Record) { r.Eps = "0.01" }, func(r *record.Record) { r.PosteriorScale += " x 0.1" }, func(r *record.Record) { r.Precision = "float64" },
		func(r *record.Record) { r.Numerics++ }, func(r *record.Record) { r.EpsSHA256 = "00" }, func(r *record.Record) { r.Inputs = "a.npz:b" },
	} {
		f := fakeCampaign(t, fakeJobs)
		path := putAttempt(t, f, wordA, want, Span{0, 41}, func(r *record.Record) {
			if r.Task == 30 {
				change(r)
			}
		})
		if _, err := merged(t, f); err == nil || !strings.HasPrefix(err.Error(), path+": line 31: has the id of task 30") {
			t.Errorf("%v", err)
		}
	}
}

// TestHoles: what has no record is named, with what to run; a partial file counts.
func TestHoles(t *testing.T) {
	want := single(t, fakeJobs)
	f := fakeCampaign(t, fakeJobs)
	if _, err := merged(t, f); err == nil || !strings.Contains(err.Error(), "41 of 41 tasks have no record (0-40): run shards 0 of 1 again") {
		t.Error(err)
	}
	if _, err := fakeRun(f, Shard{1, 4}, nil).lookAndCertify(t.Context()); err != nil { // 10 to 19
		t.Fatal(err)
	}
	putAttempt(t, f, wordC, want, Span{5, 8}, nil)
	putAttempt(t, f, wordA, want, Span{12, 33}, nil)
	_, err := merged(t, f)
	line := f.Dir + ": 15 of 41 tasks have no record (0-4,8-9,33-40): run shards 0,3 of 4 again, as in psafe run " + f.Dir + " --shard 0/4"
	if holes, typed := errors.AsType[*Holes](err); !typed || err.Error() != line || holes.Missing != 15 {
		t.Errorf("%v; want %s", err, line)
	}
	var seen []int
	holes, err := EachRecord(t.Context(), f.Dir, func(p record.Placed) error {
		seen = append(seen, p.Task)
		return nil
	})
	if err != nil || holes == nil || holes.Missing != 15 || len(seen) != 26 || seen[0] != 5 || seen[25] != 32 {
		t.Errorf("%v, %+v, %v", seen, holes, err)
	}
}

// TestForeign: what is not of the campaign, or not as it was written, is named and not merged,
// and no shard counts it as done.
func TestForeign(t *testing.T) {
	want := single(t, fakeJobs)
	at := func(task int, change func(*record.Record)) func(*record.Record) {
		return func(r *record.Record) {
			if r.Task == task {
				change(r)
			}
		}
	}
	for _, c := range []struct {
		change func(*record.Record)
		want   string
	}{
		{at(7, func(r *record.Record) { r.Run = "0123456789abcdef" }), "line 8: is of run \"0123456789abcdef\""},
		{at(7, func(r *record.Record) { r.Tasks++ }), "line 8: is of run "},
		{at(7, func(r *record.Record) { r.ID = strings.Repeat("0", 32) }), "line 8: task 7 has the id \"0000"},
		{at(7, func(r *record.Record) { r.Task = 6 }), "line 8: is of task 6, behind task 6"},
		{at(40, func(r *record.Record) { r.Tasks, r.Task = 50, 45 }), "line 41: is of task 45, and the file's name says 0-40"},
	} {
		f := fakeCampaign(t, fakeJobs)
		path := putAttempt(t, f, wordA, want, Span{0, 41}, c.change)
		_, err := merged(t, f)
		_, lookErr := fakeRun(f, Shard{0, 1}, nil).Look(t.Context())
		for _, err := range []error{err, lookErr} {
			if err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) || !strings.Contains(err.Error(), "move") {
				t.Errorf("%v; want %s", err, c.want)
			}
		}
	}
	// A line that was changed is an error in a complete file, and none in one that is not.
	for _, word := range []string{wordA, wordC} {
		f := fakeCampaign(t, fakeJobs)
		path := putAttempt(t, f, word, want, Span{0, 41}, nil)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Replace(text, []byte(`"index":3`), []byte(`"index":9`), 1), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := fakeRun(f, Shard{0, 1}, nil).Look(t.Context())
		if word == wordC && (err != nil || found.Done != 40) || word == wordA && (err == nil || !strings.Contains(err.Error(), "line 4: no record: its checksum does not match")) {
			t.Errorf("%s: %+v, %v", word, found, err)
		}
	}
}

// TestMergeOut: what is merged is a whole file, or a table and the records beside it, and never
// in the folder of attempts.
func TestMergeOut(t *testing.T) {
	f := fakeCampaign(t, fakeJobs)
	if _, err := fakeRun(f, Shard{0, 1}, nil).lookAndCertify(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	tell := func(*record.Record) { n++ }
	for _, out := range []string{filepath.Join(f.Results(), "r.jsonl"), filepath.Join(f.Dir, TasksName), filepath.Join(f.Results(), "r.csv")} {
		if err := Merge(t.Context(), f.Dir, Output{Path: out}, tell); err == nil || !strings.Contains(err.Error(), "is also an input") {
			t.Errorf("%s: %v", out, err)
		}
	}
	dir := t.TempDir()
	for name, columns := range map[string][]string{"r.csv": nil, "r.parquet": nil, "r.jsonl": nil, "few.csv": {"verdict", "index"}} {
		if err := Merge(t.Context(), f.Dir, Output{Path: filepath.Join(dir, name), Columns: columns}, tell); err != nil {
			t.Error(err)
		}
	}
	if n != 4*41 {
		t.Errorf("%d records told", n)
	}
	want, _ := os.ReadFile(filepath.Join(dir, "r.jsonl"))
	for _, name := range []string{"r.csv.jsonl", "r.parquet.jsonl"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(want) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "r.csv"))
	if err != nil || bytes.Count(table, []byte("\r\n")) != 42 {
		t.Errorf("%v, %d lines", err, bytes.Count(table, []byte("\r\n")))
	}
	if few, err := os.ReadFile(filepath.Join(dir, "few.csv")); err != nil || !bytes.HasPrefix(few, []byte("verdict,index\r\nunsafe,0\r\n")) {
		t.Errorf("%v, %.100q", err, few)
	}
	records, err := record.ReadFile(filepath.Join(dir, "r.jsonl"))
	if err != nil || len(record.Gaps(records)) > 0 {
		t.Errorf("%v, %q", err, record.Gaps(records))
	}
}

// TestStamp: what is found in a line without taking it apart is what is in it, also where texts
// look alike.
func TestStamp(t *testing.T) {
	rec, _ := fakeOf([]string{"a", "3"}).Known(1)
	rec.Name, rec.Posterior, rec.Run = `,"id":"x","task":9`, `\",\"id\":\"x`, "0123456789abcdef"
	line, err := rec.Line()
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatal(err)
	}
	slow, _ := json.Marshal(fields) // in another order
	for _, text := range [][]byte{line, slow} {
		if s, ok := stampOf(text); !ok || string(s.id) != rec.ID || s.task != 1 || s.tasks != 3 || string(s.run) != rec.Run {
			t.Errorf("%v, %+v of %s", ok, s, text)
		}
	}
	for _, text := range []string{"", "{}", `{"x":1,"id":"a","task":,"tasks":1,"run":"r"}`, `{"x":1,"id":"a","task":1e9,"tasks":1,"run":"r"`, string(line[:len(line)-200])} {
		if s, ok := stampOf([]byte(text)); ok {
			t.Errorf("%+v of %q", s, text)
		}
	}
}

// TestHolesCommand: the command that makes what is missing is one for a shell.
func TestHolesCommand(t *testing.T) {
	h := &Holes{Missing: 1, Tasks: 1, Spans: []Span{{0, 1}}, Shards: []Span{{0, 1}}, N: 1, dir: "/a b"}
	if want := "psafe run '/a b' --shard 0/1"; !strings.HasSuffix(h.Error(), want) {
		t.Errorf("%v; want %s", h, want)
	}
}
