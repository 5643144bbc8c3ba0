package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/average"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/inputlaw"
	"psafe/host/read/property"
	jobrecord "psafe/host/record"
	"psafe/internal/outfile"
	"psafe/internal/testscale"
)

// finitePosterior has few networks, so that all of them can be asked.
var finitePosterior = filepath.Join("..", "..", "testdata", "samples-2-8-3.npz")

// certifyCells makes the records of cells.
func certifyCells(ctx context.Context, cells, records string) error {
	j := certify.Job{
		Posterior: certify.Posterior{Path: finitePosterior}, Tasks: certify.Tasks{File: cells}, Out: certify.Output{Path: records},
		Method: certify.Method{Each: true, NoUpper: true, Cells: new(1)},
		Open: func(p bound.Precision) (*certify.Devices, error) {
			return &certify.Devices{List: []bound.Device{fallback.New(p)}}, nil
		},
	}
	return j.Each(ctx, func(*jobrecord.Record) {})
}

// averaging runs the job of a law on a grid of [-1,1]^2, or on the cells of the law, and returns its result and its file.
func averaging(t *testing.T, post *posterior.Posterior, law, grid, words string, splits int) (*average.Result, string) {
	t.Helper()
	l, err := inputlaw.Read(law)
	if err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(t.TempDir(), "map.jsonl")
	cells, err := property.GridFile("[-1,1],[-1,1]", grid, words, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(records+".cells.json", cells, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := certifyCells(t.Context(), records+".cells.json", records); err != nil {
		t.Fatal(err)
	}
	j := average.Job{
		Text: law, Law: l, Property: words, Posterior: post, Cells: records + ".cells.json", Records: records,
		Splits: splits, Confidence: 0.99, Certify: certifyCells, Old: outfile.Keep,
	}
	r, err := j.Run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", law, err)
	}
	return r, records + average.ResultSuffix
}

// share is how many networks are safe at a point: surely, and perhaps, as rounding leaves it open.
func share(post *posterior.Posterior, s *property.Safe, x []float64) (surely, perhaps float64) {
	set := post.Networks()
	for i, count := range set.Counts {
		y := post.Network().OutputsApprox(set.Weights(i), x)
		margins := make([]float64, len(s.Rows))
		for r, row := range s.Rows {
			margins[r] = row.D
			for k, v := range y {
				margins[r] += row.CLo[k] * v
			}
		}
		of := float64(count) / float64(set.Total())
		if m := s.MarginLo(margins); m > 1e-9 {
			surely += of
		} else if m < -1e-9 {
			continue
		}
		perhaps += of
	}
	return surely, perhaps
}

// TestAverageTruth: bounds for laws of atoms, of which many are on edges of cells, hold for all networks at all atoms, and psafe check
// proves them again.
func TestAverageTruth(t *testing.T) {
	post, err := format.Read(finitePosterior, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(48, 3))
	told, n := 0, testscale.Cases(t, 300)
	if testscale.Deep(t) {
		n = 1000
	}
	for i := range n {
		type atom struct{ x, p float64 }
		var sides [2][]atom
		var laws [2]string
		for j := range sides {
			var words []string
			for range 1 + rng.IntN(4) {
				a := atom{float64(rng.IntN(19)-9) / 8, float64(rng.IntN(5)) / 16}
				sides[j], words = append(sides[j], a), append(words, fmt.Sprintf("%v=%v", a.x, a.p))
			}
			laws[j] = "atoms:" + strings.Join(words, ",")
		}
		words := []string{"argmax_is:0", "argmax_is:1", "argmax_is:2", "argmax_in:0,1", "argmax_is_never:2", "output_box:[-1,0.3],[,],[-0.5,]"}[rng.IntN(6)]
		grid := fmt.Sprintf("%dx%d", 1+rng.IntN(4), 1+rng.IntN(4))
		r, file := averaging(t, post, strings.Join(laws[:], ";"), grid, words, rng.IntN(2)*5)
		s, _, err := property.ParseSpec(words, post.Outputs())
		if err != nil {
			t.Fatal(err)
		}
		lower, upper, in := 0.0, 1.0, 0.0
		for _, a := range sides[0] {
			for _, b := range sides[1] {
				surely, perhaps := share(post, &s, []float64{a.x, b.x})
				lower += a.p * b.p * perhaps
				upper -= a.p * b.p * (1 - surely)
				if max(a.x, b.x, -a.x, -b.x) <= 1 {
					in += a.p * b.p
				}
			}
		}
		if float64(r.PLower) > lower+1e-12 || float64(r.PUpper) < upper-1e-12 || float64(r.Mass) > in {
			t.Fatalf("case %d: %+v: at most %v, and at least %v with what is missing, mass %v", i, r, lower, upper, in)
		}
		if r.PLower > 0 || r.PUpper < 1 {
			told++
		}
		proved(t, file)
	}
	if told == 0 {
		t.Error("nothing was proved of any law")
	}
}

// proved has psafe check prove a result.
func proved(t *testing.T, file string) {
	t.Helper()
	text, err := AverageText(file)
	if err != nil || text == nil {
		t.Fatalf("%s is no result of a law: %v", file, err)
	}
	refused, err := new(Checker).Average(t.Context(), text, func() {})
	if err != nil || refused != nil {
		t.Fatalf("what is true is refused: %v, %v: %s", refused, err, text)
	}
}

// TestAverageDrawn: bounds for a law with a density hold for drawn inputs.
func TestAverageDrawn(t *testing.T) {
	post, err := format.Read(finitePosterior, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, file := averaging(t, post, "truncated:0,0.5,-1,1;uniform:-1,1", "4x4", "argmax_is:1", 16)
	proved(t, file)
	s := property.ArgmaxIs(1, post.Outputs())
	rng := rand.New(rand.NewPCG(48, 4))
	n, sum := testscale.Cases(t, 4000), 0.0
	for range n {
		x := rng.NormFloat64() / 2
		for x < -1 || x > 1 {
			x = rng.NormFloat64() / 2
		}
		_, perhaps := share(post, &s, []float64{x, 2*rng.Float64() - 1})
		sum += perhaps
	}
	mean, off := sum/float64(n), 0.06 // by Hoeffding missed with probability below 1e-12 for 4000 draws
	if float64(r.PLower) > mean+off || float64(r.PUpper) < mean-off || r.PLower == 0 || r.PUpper == 1 {
		t.Errorf("%+v: drawn %v", r, mean)
	}
}

// TestAverageAtoms: cells of a law with atoms are cut in the inputs that are atoms too, without which nothing would be proved.
func TestAverageAtoms(t *testing.T) {
	post, err := format.Read(finitePosterior, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range []string{"atoms:-0.9=0.5,0.7=0.5;uniform:-1,1", "atoms:-0.8=1;atoms:-0.9=0.5,0.7=0.5"} {
		r, file := averaging(t, post, law, "1x1", "argmax_is:1", 12)
		proved(t, file)
		if r.PLower == 0 || r.PUpper == 1 {
			t.Errorf("%s: %v to %v", law, r.PLower, r.PUpper)
		}
	}
}

// TestAverageRefused: a result is refused with anything changed that it rests on, with an atom counted twice, and with what p_upper says of
// P_safe in the place of what holds at each input.
func TestAverageRefused(t *testing.T) {
	post, err := format.Read(finitePosterior, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sample := filepath.Join(dir, "sample.csv")
	if err := os.WriteFile(sample, []byte(strings.Repeat("-0.5,0\n0.25,0.5\n", 400)), 0o666); err != nil {
		t.Fatal(err)
	}
	r, file := averaging(t, post, "sample:"+sample, "4x4", "argmax_is:1", 0)
	proved(t, file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r.Sample.Lower > r.PLower || r.Sample.Upper < r.PUpper || r.Sample.Lower == 0 && r.Sample.Upper == 1 {
		t.Errorf("%+v", r.Sample)
	}
	for _, c := range [][3]string{
		{`"p_lower": 0.`, `"p_lower": 0.99`, "p_lower:"},
		{`"p_lower": 0.`, `"p_lower": 1.`, "p_lower: it is no probability"},
		{`"mass": `, `"mass": 1e0, "Mass": `, "Mass"},
		{`"cells": 16`, `"cells": 17`, "cells: there are 17"},
		{`"points": 800`, `"points": 8000`, "statistical:"},
		{`"confidence": 0.99`, `"confidence": 0.9999`, "statistical:"},
		{`"confidence": 0.99`, `"confidence": 1`, "statistical:"},
		{`statistical, no certificate`, `certified`, "statistical:"},
		{`"argmax_is:1"`, `"argmax_is:2"`, "cells: the safe set"},
		{`"over an input`, `"over any input`, "statement:"},
		{`"certified bounds,`, `"exact bounds,`, "guarantee:"},
		{r.SHA256, r.PosteriorSHA256, "input_law:"},
		{r.PosteriorSHA256, r.SHA256, "posterior:"},
		{`"posterior_scale": "`, `"posterior_scale": "sd x 2, `, "posterior:"},
		{`"activations": [`, `"activations": [ "relu",`, "posterior:"},
		{`"posterior_scale": `, `"mean": "0", "std": "1", "posterior_scale": `, "posterior:"},
		{r.Parts[0].CellsSHA256, r.SHA256, "cells:"},
		{`"parts": [`, `"parts": [{"cells": "absent.json", "cells_sha256": "", "records": "absent.jsonl"},`, "absent.json is not there"},
	} {
		if !bytes.Contains(text, []byte(c[0])) {
			t.Fatalf("%q is not there: %s", c[0], text)
		}
		refused, err := new(Checker).Average(t.Context(), []byte(strings.Replace(string(text), c[0], c[1], 1)), func() {})
		if why := fmt.Sprint(refused, err); !strings.Contains(why, c[2]) {
			t.Errorf("%q for %q: %s", c[1], c[0], why)
		}
	}
}

// TestAverageForged: cells that are said to fail with a safe set that is not outside of S are refused, and so are cells of other words.
func TestAverageForged(t *testing.T) {
	post, err := format.Read(finitePosterior, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, file := averaging(t, post, "uniform:-1,1;uniform:-1,1", "2x2", "argmax_is:1", 0)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{"argmax_is_never:0": "is not outside of the property", "argmax_is_never:1": "is not outside of the property"} {
		forged := filepath.Join(t.TempDir(), "forged.json")
		box := property.Box{Lo: []float64{-1, -1}, Hi: []float64{0, 0}}
		cells, err := property.CellsFile([]property.Cell{{Name: "cell 0,0 fails", Box: box, Words: words}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(forged, cells, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := certifyCells(t.Context(), forged, forged+"l"); err != nil {
			t.Fatal(err)
		}
		part := fmt.Sprintf(`"parts": [{"cells": %q, "cells_sha256": "%x", "records": %q},`, forged, sha256.Sum256(cells), forged+"l")
		refused, err := new(Checker).Average(t.Context(), []byte(strings.Replace(string(text), `"parts": [`, part, 1)), func() {})
		if why := fmt.Sprint(refused, err); !strings.Contains(why, want) {
			t.Errorf("%s, %s: %s", words, r.Property, why)
		}
	}
}

// TestApart: a set is apart from S if no output is in both, on their rims either.
func TestApart(t *testing.T) {
	for _, words := range []string{"argmax_is:0", "argmax_is_never:2", "output_box:[-1,0.1],[,],[0,1]", "margin:0.1:1"} {
		s, _, err := property.ParseSpec(words, 3)
		if err != nil {
			t.Fatal(err)
		}
		var turned, rim property.Safe
		turned.Any, rim.Any = [][]int{nil}, [][]int{nil}
		for k, all := range s.Any {
			row := s.Rows[all[len(all)-1]]
			out, ok := row.Outside()
			if !ok {
				t.Fatalf("%s: no row outside", words)
			}
			turned.Rows, turned.Any[0] = append(turned.Rows, out), append(turned.Any[0], k)
			out.D, out.DHi = 0-row.DHi, 0-row.DHi
			rim.Rows, rim.Any[0] = append(rim.Rows, out), append(rim.Any[0], k)
		}
		less := turned
		less.Any = [][]int{turned.Any[0][1:]}
		if !apart(&s, &turned) || apart(&s, &rim) || apart(&s, &less) || apart(&s, &s) {
			t.Errorf("%s: %v %v %v %v", words, apart(&s, &turned), apart(&s, &rim), apart(&s, &less), apart(&s, &s))
		}
	}
}
