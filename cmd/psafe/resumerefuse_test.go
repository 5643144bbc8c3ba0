package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"psafe/host/job/certify"
	"psafe/host/read/property"
	"psafe/host/record"
)

// resumeArgs is a small run of two records, and its file.
func resumeArgs(t *testing.T) (args []string, text string) {
	t.Helper()
	args = []string{"--device", "cpu", "--omit-timing", "--posterior", testFile("glyphs-64-32-10.npz"),
		"--inputs", testFile("glyphs-test-images-idx3-ubyte.gz"), "--index", "0:2", "--eps", "0.01", "--clip", "0,1", "--method", "clbp"}
	out := filepath.Join(t.TempDir(), "r.jsonl")
	certifyTo(t, out, args...)
	return args, readTest(t, out)
}

// refused demands that a run ends with status 2 and one line that says words, and
// changes no file.
func refused(t *testing.T, out string, args []string, words ...string) {
	t.Helper()
	before, _ := os.ReadFile(out + certify.PartialSuffix)
	result, _ := os.ReadFile(out)
	var stderr bytes.Buffer
	err := execute(t.Context(), overridden(append([]string{"certify", "--out", out}, args...)), io.Discard, io.Discard)
	got := status(err, &stderr)
	line := stderr.String()
	if got != exitUsage || strings.Count(line, "\n") != 1 {
		t.Fatalf("status %d, %q; want a line that says %q", got, line, words)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("%q does not say %q", line, w)
		}
	}
	if after, _ := os.ReadFile(out + certify.PartialSuffix); !bytes.Equal(before, after) {
		t.Error("the file of finished records was changed")
	}
	if after, _ := os.ReadFile(out); !bytes.Equal(result, after) {
		t.Errorf("the result was changed to %q", after)
	}
}

// TestResumeDisagrees: a record that this run would not begin with is refused, by
// field, with both values and the mend. What may differ may differ.
func TestResumeDisagrees(t *testing.T) {
	args, text := resumeArgs(t)
	lines := strings.SplitAfter(text, "\n")
	label := 7
	for _, c := range []struct {
		words  string
		change func(r *record.Record)
	}{
		{`index is 5, of this run 1 (--index)`, func(r *record.Record) { r.Index = 5 }},
		{`name is "a\u009b[31mb", of this run absent`, func(r *record.Record) { r.Name = "a\u009b[31mb" }},
		{`label is 7, of this run 1`, func(r *record.Record) { r.Label = &label }},
		{`label is null, of this run 1`, func(r *record.Record) { r.Label = nil }},
		{`property is "argmax_is:7", of this run "argmax_is:1"`, func(r *record.Record) { r.Property = "argmax_is:7" }},
		{`eps is "0.010", of this run "0.01"`, func(r *record.Record) { r.Eps = "0.010" }},
		{`clip is absent, of this run ["0","1"] (--clip)`, func(r *record.Record) { r.Clip = nil }},
		{`input_scale is "1/255", of this run absent`, func(r *record.Record) { r.InputScale = "1/255" }},
		{` (another file of --posterior): give`, func(r *record.Record) { r.PosteriorSHA256 = "52" }},
		{`flags is "--method auto", of this run "--method clbp"`, func(r *record.Record) { r.Flags = "--method auto" }},
		{`flags is absent, of this run "--method clbp"`, func(r *record.Record) { r.Flags = "" }},
		{`require is 0.5, of this run 0.9`, func(r *record.Record) { r.Require = property.MustExact("0.5") }},
		{`precision is "float64", of this run "float32"`, func(r *record.Record) { r.Precision = "float64" }},
		{`precision is "float32", of this run "float64"`, func(r *record.Record) { r.Method = "neuronsum" }},
		{`seed is 18446744073709551615, of this run 0 (--options seed)`, func(r *record.Record) { r.Seed = 1<<64 - 1 }},
		{`posterior_sha256 is "52", of this run "52418d753a27`, func(r *record.Record) { r.PosteriorSHA256 = "52" }},
		{`posterior_scale is "sd x 2", of this run "sd" (--scale)`, func(r *record.Record) { r.PosteriorScale = "sd x 2" }},
		{`activations is ["tanh"], of this run ["relu"]`, func(r *record.Record) { r.Activations = []string{"tanh"} }},
		{`inputs_sha256 is "4d", of this run "4df9360d1a`, func(r *record.Record) { r.InputsSHA256 = "4d" }},
		{`numerics is 7, of this run 4`, func(r *record.Record) { r.Numerics = 7 }},
		{`id is "`, func(r *record.Record) { r.ID = strings.Repeat("0", 32) }},
		{"", func(r *record.Record) { r.Version = "0.0.9" }},
		{`task is 0, of this run 1`, func(r *record.Record) { r.Task = 0 }},
		{`tasks is 3, of this run 2`, func(r *record.Record) { r.Tasks = 3 }},
		{`run is "ab", of this run "`, func(r *record.Record) { r.Run = "ab" }},
		{`inputs is ":b", of this run absent`, func(r *record.Record) { r.Inputs = "x.npz:b" }},
		{"", func(r *record.Record) { r.Device = "another" }},
		{"", func(r *record.Record) { r.Posterior, r.Inputs = "elsewhere.npz", "elsewhere.gz" }},
		{`seconds is there, of this run absent (--omit-timing)`, func(r *record.Record) { r.Seconds = new(float64) }},
		{`verdict is "unsafe", of this run "safe"`, func(r *record.Record) { r.PLower, r.Verdict = 0.95, "unsafe" }},
	} {
		rec, err := record.ParseRecord([]byte(lines[1]))
		if err != nil {
			t.Fatal(err)
		}
		c.change(rec)
		var changed bytes.Buffer
		if err := rec.Write(&changed); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "r.jsonl")
		writeTest(t, out+certify.PartialSuffix, lines[0]+changed.String())
		if c.words != "" {
			refused(t, out, append(args, "--resume"), c.words, out+".partial: line 2: ", ": give the flags and files of the run that was interrupted, or remove "+out+".partial to begin again")
			continue
		}
		certifyTo(t, out, append(args, "--resume")...)
		if got := readTest(t, out); got != lines[0]+changed.String() {
			t.Errorf("the finished records are not kept as they were: %s", got)
		}
	}
}

func writeTest(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// resealed is a line with a change whose checksum matches.
func resealed(line, from, to string) string {
	object := line[:strings.LastIndex(line, `,"checksum"`)] + "}"
	return string(record.Seal([]byte(strings.Replace(object, from, to, 1))))
}

// withoutChecksums leaves the checksums of records out, which are of lines that name files
// and devices.
func withoutChecksums(records string) string {
	return regexp.MustCompile(`,"checksum":"[0-9a-f]*"`).ReplaceAllString(records, "")
}

// TestResumeRefused: what is no file of finished records of this run is refused, and
// stays as it is.
func TestResumeRefused(t *testing.T) {
	args, text := resumeArgs(t)
	first, _, _ := strings.Cut(text, "\n")
	out := filepath.Join(t.TempDir(), "r.jsonl")
	for _, c := range []struct{ partial, words string }{
		{text + first + "\n", "line 3: this run has only 2 records"},
		{"\n" + text, "line 1: no result record"},
		{first + "\n\n", "line 2: no result record"},
		{first + "\n{\"index\":\n", "line 2: no result record"},
		{"\x00\x00\n", "line 1: no result record"},
		{first + "\r\n", "line 1: no result record: its checksum does not match"},
		{strings.Replace(first, `"p_lower":0.9`, `"p_lower":0.8`, 1) + "\n", "line 1: no result record: its checksum does not match"},
		{resealed(first, `"property"`, `"more":1,"property"`) + "\n", "line 1: is not as psafe writes it"},
		{resealed(first, `"cells":`, `"cells":"\u001b[2J","was":`) + "\n", "line 1: no result record: "},
	} {
		writeTest(t, out+certify.PartialSuffix, c.partial)
		refused(t, out, append(args, "--resume"), out+".partial: "+c.words, "or remove "+out+".partial to begin again")
	}
	for _, c := range []struct{ partial, words string }{
		{text, "holds 2 finished records"}, {first + "\n" + first[:50], "holds 1 finished records"}, {"", "holds 0 finished records"},
	} {
		writeTest(t, out+certify.PartialSuffix, c.partial)
		refused(t, out, args, out+".partial: "+c.words, "add --resume to go on from there, or --overwrite to begin again")
	}
	// A file that is an input is no place for records, whatever it is called.
	input := filepath.Join(t.TempDir(), "r.npz")
	content := readTest(t, testFile("glyphs-64-32-10.npz"))
	writeTest(t, input+certify.PartialSuffix, content)
	refused(t, input, append(args, "--resume", "--posterior", input+certify.PartialSuffix), input+".partial: is also an input")
	folder := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.Mkdir(folder+certify.PartialSuffix, 0o777); err != nil {
		t.Fatal(err)
	}
	refused(t, folder, append(args, "--resume"), folder+".partial: exists and is no regular file")
	err := execute(t.Context(), append(append([]string{"certify"}, args...), "--resume"), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--resume needs --out FILE") {
		t.Errorf("--resume alone: %v", err)
	}
}

// TestResumeFinished: with nothing left to compute no device is opened; records that
// are all there only get their name; those of another run are made anew with --overwrite, and
// otherwise stay.
func TestResumeFinished(t *testing.T) {
	args, text := resumeArgs(t)
	out := filepath.Join(t.TempDir(), "r.jsonl")
	absent := append(args, "--resume", "--device", "no-such-device")
	writeTest(t, out+certify.PartialSuffix, text)
	certifyTo(t, out, absent...)
	if readTest(t, out) != text {
		t.Error("complete records were changed")
	}
	notes := certifyTo(t, out, absent...)
	if !strings.HasPrefix(notes, "psafe: note: "+out+": has all 2 records already, nothing is computed\n") || !strings.Contains(notes, "of 2 safe") {
		t.Errorf("notes %q", notes)
	}
	if notes := certifyTo(t, out, append(absent, "--quiet")...); notes != "" {
		t.Errorf("--quiet: notes %q", notes)
	}
	err := execute(t.Context(), overridden(append([]string{"certify", "--out", out, "--fail-unless", "p_lower>=0.99999999"}, absent...)), io.Discard, io.Discard)
	if got := status(err, io.Discard); got != exitUnder {
		t.Errorf("--fail-unless of finished records: %v", err)
	}
	for _, other := range []string{text + text, text[:len(text)-1], text + "{", "", "no record\n", strings.Replace(text, `"eps":"0.01"`, `"eps":"0.02"`, 1)} {
		writeTest(t, out, other)
		refused(t, out, append(args, "--resume"), "--out "+out+": ", ": --overwrite replaces it")
		notes := certifyTo(t, out, append(args, "--resume", "--overwrite")...)
		if readTest(t, out) != text || !strings.HasPrefix(notes, "psafe: note: beginning anew and replacing what is not this run's: "+out+": ") {
			t.Errorf("from %q: notes %q, result:\n%s", other, notes, readTest(t, out))
		}
	}
	// What a kill between the two steps of naming leaves is one file with two names.
	if err := os.Link(out, out+certify.PartialSuffix); err != nil {
		t.Skip(err)
	}
	certifyTo(t, out, absent...)
	onlyFile(t, out)
}

// TestFlagsField: the flags that decide the numbers, in one order, whatever theirs was.
func TestFlagsField(t *testing.T) {
	glyphs := []string{"--posterior", testFile("glyphs-64-32-10.npz"), "--inputs", testFile("glyphs-test-images-idx3-ubyte.gz"), "--eps", "0"}
	samples := []string{"--posterior", testFile("samples-2-8-3.npz"), "--inputs", filepath.Join(t.TempDir(), "x.csv"), "--eps", "0"}
	writeTest(t, samples[3], "a b,\"c\",d\n1,2,3\n")
	for _, c := range []struct {
		args []string
		more string
		want string
	}{
		{glyphs, "", "--method auto"},
		{glyphs, "--options seed=3 --require 0.50 --quiet --draws 7 --fail-unless p_lower>=0", "--method auto --samples 7 --require 0.5"},
		{glyphs, "--require 0.5 --method clbp --time-limit 1h", "--method clbp --time-limit 1h0m0s"},
		{glyphs, "--precision float64 --options no-upper,derived", "--method auto --no-upper --derived --precision float64"},
		{glyphs, "--options no-upper=false --method clbp --precision float64", "--method clbp"},
		{glyphs, "--gamma 1.50 --draws 9", "--method lbp --samples 9 --gamma 1.5"},
		{glyphs, "--method statistical --options confidence=0.950,cells=4", "--method statistical --cells 4 --confidence 0.95"},
		{samples, "--label-column a_b", `--method samples --label-column "a b"`},
	} {
		args := append([]string{"certify", "--device", "cpu", "--index", "0", "--quiet"}, c.args...)
		for word := range strings.FieldsSeq(c.more) {
			args = append(args, strings.ReplaceAll(word, "a_b", "a b"))
		}
		rec, err := record.ParseRecord([]byte(psafe(t, exitDone, args...)))
		if err != nil {
			t.Errorf("%q: %v", c.more, err)
			continue
		}
		if rec.Flags != c.want {
			t.Errorf("%q: flags %q, want %q", c.more, rec.Flags, c.want)
		}
	}
}
