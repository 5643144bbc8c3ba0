package paper

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/host/read/format"
	"psafe/host/record"
)

// record is one as a run would have written it.
func aRecord(method string, lower, upper float64, s *record.Statistical) record.Placed {
	log := record.Down(-1)
	return record.Placed{Record: &record.Record{Index: 3, Property: "p", Method: method, PLower: record.Down(lower), PUpper: record.Up(upper), Log10PLower: &log, Statistical: s, PosteriorSHA256: "a", InputsSHA256: "b"}, File: method + ".jsonl", Line: 1}
}

// TestContradictions: bounds of one input that contradict each other are an error that
// names both files; those of different inputs are not held against each other.
func TestContradictions(t *testing.T) {
	s := &record.Statistical{Samples: 10, Lower: 0.2, Upper: 0.5, Confidence: 0.999999999}
	for _, c := range []struct {
		name    string
		records []record.Placed
		want    []string
	}{
		{"consistent", []record.Placed{aRecord("clbp", 0.4, 1, nil), aRecord("lbp", 0.1, 0.9, nil), aRecord("statistical", 0, 1, s)}, nil},
		{"certified", []record.Placed{aRecord("clbp", 0.95, 1, nil), aRecord("lbp", 0.1, 0.9, nil)}, []string{"clbp.jsonl: line 1", "lbp.jsonl: line 1", "p_upper 0.9"}},
		{"statistical and p_upper", []record.Placed{aRecord("lbp", 0, 0.1, nil), aRecord("statistical", 0, 1, s)}, []string{"lbp.jsonl", "the statistical lower limit 0.2"}},
		{"statistical", []record.Placed{aRecord("clbp", 0.51, 1, nil), aRecord("statistical", 0, 1, s)}, []string{"clbp.jsonl: line 1", "statistical.jsonl", "the statistical upper limit 0.5"}},
	} {
		all := Results{}
		for _, r := range c.records {
			all[r.Method] = []record.Placed{r}
		}
		err := all.checkAll()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if _, typed := errors.AsType[*Contradiction](err); c.want != nil && !typed {
			t.Errorf("%s: the error is no Contradiction", c.name)
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", c.name, err, w)
			}
		}
	}
	other := aRecord("lbp", 0.1, 0.9, nil)
	other.Index = 4
	if err := (Results{"a": {aRecord("clbp", 0.95, 1, nil)}, "b": {other}}).checkAll(); err != nil {
		t.Errorf("records of different inputs: %v", err)
	}
}

// TestCubicTraining: the network of example 1 is trained as the file of testdata was.
func TestCubicTraining(t *testing.T) {
	post, err := format.Read("../../../testdata/cubic-128.npz", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if note, err := cubicTraining.Note(); err != nil || note != post.Source.Note {
		t.Errorf("%q, %v; the file's note is %q", note, err, post.Source.Note)
	}
}

// TestPowersOfTen: a logarithm that times ten rounds to a whole number is still printed
// on the safe side.
func TestPowersOfTen(t *testing.T) {
	for _, x := range []float64{-56.2, math.Nextafter(-56.2, -100), math.Nextafter(-56.2, 0), -0.3, -521.9000000000001} {
		down, up := record.Down(x), record.Up(x)
		exact, _ := new(big.Rat).SetString(strings.TrimPrefix(lowerCell(&record.Record{Method: "ibp", PLower: 1e-300, Log10PLower: &down}).text, "10^"))
		most, _ := new(big.Rat).SetString(strings.TrimPrefix(ceilingCell(&record.Record{Log10Ceiling: &up}).text, "10^"))
		v := new(big.Rat).SetFloat64(x)
		if exact == nil || most == nil || exact.Cmp(v) > 0 || most.Cmp(v) < 0 {
			t.Errorf("10^%v is printed as at least 10^%v and at most 10^%v", x, exact, most)
		}
	}
}

// TestVerdict: a printed value is named exactly if it is above an upper limit.
func TestVerdict(t *testing.T) {
	j := &vcasJob{c: &Config{Data: "x"}, list: []entry{{Name: "phi_1"}, {Name: "phi_3"}}}
	one, three := newBounds(), newBounds()
	r := aRecord("clbp", 0, 0.975, nil)
	one.take(&r) // above 0.9739, below 0.9798
	s := aRecord("statistical", 0, 1, &record.Statistical{Samples: 2000, Safe: 1980, Unsafe: 19, Lower: 0.97, Upper: 0.9998, Confidence: 0.999999999})
	three.take(&s)
	text := j.verdict([]*bounds{one, three})
	for _, want := range []string{"phi_1, LBP: printed 0.9798; P_safe is at most 0.9750, certified", "phi_3, IBP: printed 0.9999", "of 2000 drawn networks 19 are proved unsafe and 1980 safe", "Not refuted by what was computed here: phi_1 IBP 0.9739"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "phi_1, IBP") {
		t.Errorf("a value below the limit is named:\n%s", text)
	}
	if text := j.verdict([]*bounds{newBounds(), newBounds()}); !strings.HasPrefix(text, "No printed value") {
		t.Errorf("without evidence: %s", text)
	}
}

// TestCells: what a reader sees is rounded to the safe side.
func TestCells(t *testing.T) {
	log := record.Down(-56.18744309335194)
	small := &record.Record{Method: "ibp", PLower: 6.49e-57, Log10PLower: &log}
	if c := lowerCell(small); c.text != "10^-56.2" || c.raw[0] != "6.4899999999999998e-57" || c.raw[1] != "-56.18744309335194" {
		t.Errorf("p_lower of 6.49e-57: %v", c)
	}
	if c := lowerCell(&record.Record{Method: "statistical"}); c.text != "-" || len(c.raw) != 0 {
		t.Errorf("p_lower of a statistical record: %v", c)
	}
	for p, want := range map[float64]string{1: "1", 0.97499: "0.9750", 4.6e-6: "4.7e-6", 9.99e-6: "1.0e-5", 0: "0"} {
		if c := upCell(p); c.text != want {
			t.Errorf("p_upper %v: %s, want %s", p, c.text, want)
		}
	}
}

// TestSynthetic: the posterior of the scale experiment is what it says, and always the
// same.
func TestSynthetic(t *testing.T) {
	widths := []int{30, 200, 100, 3}
	p := synthetic(widths, 0.01, 1)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := format.WriteNPZ(&a, p); err != nil {
		t.Fatal(err)
	}
	if err := format.WriteNPZ(&b, synthetic(widths, 0.01, 1)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two of one seed differ")
	}
	for k, l := range p.Layers {
		sum := 0.0
		for _, m := range l.Weight.Mean {
			sum += m * m
		}
		variance, want := sum/float64(len(l.Weight.Mean)), 2/float64(l.Inputs())
		if slack := 0.25; variance < want*(1-slack) || variance > want*(1+slack) {
			t.Errorf("layer %d: variance of mu %v, want about %v", k, variance, want)
		}
		if sd, want := l.Weight.SdHi[0], 0.01*0.25819888974716115; k == 0 && (sd < want*0.999999 || sd > want*1.000001) {
			t.Errorf("sigma %v, want %v", sd, want)
		}
	}
}

// TestInputsStay: an experiment prepared again leaves its input files as they are, so
// that it can be resumed; no two runs share a result file.
func TestInputsStay(t *testing.T) {
	c := &Config{Out: t.TempDir(), Quick: true}
	prepare := func() []string {
		seen := map[string]bool{}
		for _, name := range Names {
			e, err := New(t.Context(), name, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range e.Runs {
				if seen[r.Name] {
					t.Errorf("%s: two runs are called %s", name, r.Name)
				}
				seen[r.Name] = true
			}
		}
		files, err := filepath.Glob(filepath.Join(c.Out, "inputs", "*"))
		if err != nil || len(files) < 8 {
			t.Fatalf("%d input files, %v", len(files), err)
		}
		return files
	}
	old := time.Unix(1e9, 0)
	for _, f := range prepare() {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range prepare() {
		if info, err := os.Stat(f); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was written again (%v)", f, err)
		}
	}
}

// TestMissingData: a folder that lacks a released file is refused by the file's name.
func TestMissingData(t *testing.T) {
	err := checkData(t.TempDir(), []string{"scale"})
	if err == nil || !strings.Contains(err.Error(), "t10k-images-idx3-ubyte.gz is not there") {
		t.Errorf("error %v", err)
	}
}
