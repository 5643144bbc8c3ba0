package check

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	jobloop "psafe/host/job/loop"
	"psafe/host/read/plant"
	"psafe/host/read/property"
	jobrecord "psafe/host/record"
)

// looping runs the job of a small loop and returns its result, the plant, and the file's name.
func looping(t *testing.T) (*jobloop.Result, *plant.Plant, string) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "small.yaml"), filepath.Join(dir, "loop.json")
	text := `state: {x: {range: [-1, 1], cells: 4}, v: {range: [-1, 1], cells: 4}}
network: {inputs: [x, v], outputs: [u]}
next: {x: 0.5*x, v: "0.5*v + 0.1*clip(u, -1, 1)"}
start: [-0.5 <= x <= 0.5, -0.5 <= v <= 0.5]
safe: [-1 <= x <= 1, -1 <= v <= 1]
semantics: once
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	j := jobloop.Job{Plant: file, Certify: certify.Job{
		Posterior: certify.Posterior{Path: filepath.Join("..", "..", "testdata", "loop-2-16-1.npz")}, Out: certify.Output{Path: out},
		Open: func(p bound.Precision) (*certify.Devices, error) {
			return &certify.Devices{List: []bound.Device{fallback.New(p)}}, nil
		},
	}}
	r, err := j.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p, err := plant.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return r, p, out
}

// TestLoopRefused: a result is proved again as it is, and refused with anything changed that it rests on.
func TestLoopRefused(t *testing.T) {
	r, p, out := looping(t)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(old, text string) string {
		t.Helper()
		refused, err := new(Checker).Loop(context.Background(), []byte(text), func() {})
		if err != nil {
			t.Fatal(err)
		}
		if refused == nil {
			return ""
		}
		return refused.Error()
	}
	if why := refused("", string(text)); why != "" {
		t.Errorf("what is true is refused: %s", why)
	}
	drawn := func(samples, safe, unsafe, upper, statement string) string {
		return fmt.Sprintf(`"statistical": {"samples": %s, "safe": %s, "unsafe": %s, "confidence": 0.99, "lower": 0, "upper": %s, "statement": "%s"}, "grid": 16`, samples, safe, unsafe, upper, statement)
	}
	says := jobrecord.LoopStatement
	if why := refused("", strings.Replace(string(text), `"grid": 16`, drawn("9", "0", "0", "1", says), 1)); why != "" {
		t.Errorf("drawn networks that say nothing are refused: %s", why)
	}
	for _, c := range [][3]string{
		{`"grid": 16`, drawn("9", "0", "0", "0.9", says), "upper is 0.9"},
		{`"grid": 16`, drawn("9", "1", "0", "1", says), "1 networks are safe"},
		{`"grid": 16`, drawn("9", "0", "0", "1", "certified"), "the statement is"},
		{`"grid": 16`, drawn("1000", "0", "900", "1", says), "contradict"},
		{`"grid": 16`, drawn("9", "0", "1", "1", says), "left: 0 cells"},
		{`"grid": 16`, drawn("9", "0", "1", "1", says) + `, "left": ["cell 4,0"]`, "is no cell"},
		{`"grid": 16`, `"left": ["cell 0,0"], "grid": 16`, "no networks were drawn"},
		{`"loop": "once"`, `"loop": "each-step"`, "loop: it is"},
		{`stays safe for all time`, `stays safe for a time`, "statement:"},
		{`"p_lower": 0.`, `"p_lower": 1.`, "p_lower: it is no probability"},
		{`"posterior_scale": "sd"`, `"posterior_scale": "variance"`, "posterior: it is another"},
		{`"posterior_scale": "sd"`, `"posterior_scale": "sd", "posterior_sd": "0.05"`, "posterior: it is another"},
		{`"posterior_scale": "sd"`, `"posterior_scale": "sd", "posterior_sd_sha256": "05"`, "posterior: it is another"},
		{`"relu"`, `"tanh"`, "posterior: it is another"},
		{`"certified bounds,`, `"exact bounds,`, "guarantee: it is"},
		{`"certified": `, `"certified": 1`, "certified: it is"},
		{`"used": `, `"used": 9`, "grid: it has"},
		{`"grid": 16`, `"grid": 1`, "grid: it has"},
		{`"grid": 16`, `"why": "so", "grid": 16`, "why: it says"},
		{`"grid": 16`, `"steps": 4, "grid": 16`, "steps:"},
		{`"grid": 16`, `"other": 4, "grid": 16`, "other"},
		{r.PosteriorSHA256, r.PlantSHA256, "posterior: it is another"},
		{r.PlantSHA256, r.CellsSHA256, "plant:"},
		{`"cells_sha256": "` + r.CellsSHA256, `"cells_sha256": "` + r.PlantSHA256, "cells:"},
	} {
		if !bytes.Contains(text, []byte(c[0])) {
			t.Fatalf("%q is not there", c[0])
		}
		if why := refused(c[0], strings.Replace(string(text), c[0], c[1], 1)); !strings.Contains(why, c[2]) {
			t.Errorf("%q for %q: %q", c[1], c[0], why)
		}
	}
	lines, err := os.ReadFile(r.Records)
	if err != nil {
		t.Fatal(err)
	}
	// Records that are there twice, or not at all.
	first, rest, _ := strings.Cut(string(lines), "\n")
	for _, c := range [][2]string{{rest, "records: property 0 has none"}, {first + "\n" + string(lines), "index: 0 is there twice"}} {
		if err := os.WriteFile(r.Records, []byte(c[0]), 0o666); err != nil {
			t.Fatal(err)
		}
		if why := refused("", string(text)); !strings.Contains(why, c[1]) {
			t.Errorf("%q, not %s", why, c[1])
		}
	}
	// What a record has to agree in with the first.
	one, err := record.Parse([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	whole := looped{CellsSHA256: r.CellsSHA256, PosteriorSHA256: r.PosteriorSHA256, PosteriorScale: r.PosteriorScale, Activations: r.Activations}
	if err := ofCell([]byte(first), &whole, p, make([]*big.Rat, 9), new(*record.Record)); err != nil {
		t.Error(err)
	}
	for _, change := range []func(r *record.Record){
		func(r *record.Record) { r.Mean, r.Std = "posterior", "posterior" },
		func(r *record.Record) { r.Mean = "posterior" },
	} {
		other := *one
		change(&other)
		before := &other
		if err := ofCell([]byte(first), &whole, p, make([]*big.Rat, 9), &before); err == nil {
			t.Errorf("a record of another posterior is taken: %+v", other)
		}
	}
	fresh := *p
	fresh.Fresh = true
	var none *record.Record
	if err := ofCell([]byte(first), &whole, &fresh, make([]*big.Rat, 9), &none); err == nil {
		t.Error("p_lower stands for each_lower")
	}
}

// TestRingOf: a property is a ring of its cell if its box covers the cell and its safe set is a box, and of no other.
func TestRingOf(t *testing.T) {
	_, p, out := looping(t)
	tasks, err := property.ReadFile(out+jobloop.CellsSuffix, 1)
	if err != nil {
		t.Fatal(err)
	}
	number, ring, err := ringOf(p, &tasks[0])
	if want, ok := p.CellOf(tasks[0].Name); err != nil || !ok || number != want {
		t.Fatalf("cell %d: %v", number, err)
	}
	if lo, _ := ring.Lo[0].Float64(); lo != -tasks[0].S.Rows[0].D {
		t.Errorf("outputs are from %v", lo)
	}
	for name, change := range map[string]func(t *property.Task){
		"a narrower box":  func(t *property.Task) { t.T[0].Hi[1] -= 0x1p-40 },
		"a later box":     func(t *property.Task) { t.T[0].Lo[0] += 0x1p-40 },
		"another cell":    func(t *property.Task) { t.Name = "cell 3,0" },
		"no cell":         func(t *property.Task) { t.Name = "cell 4,0" },
		"one side":        func(t *property.Task) { t.S.Any = [][]int{{0}} },
		"an OR":           func(t *property.Task) { t.S.Any = [][]int{{0}, {1}} },
		"another row":     func(t *property.Task) { t.S.Rows[0].CLo = []float64{2}; t.S.Rows[0].CHi = []float64{2} },
		"an interval row": func(t *property.Task) { t.S.Rows[0].CLo = []float64{0.5} },
		"an empty box":    func(t *property.Task) { t.S.Rows[0].D, t.S.Rows[1].D = -3, -3 },
	} {
		tasks, err := property.ReadFile(out+jobloop.CellsSuffix, 1)
		if err != nil {
			t.Fatal(err)
		}
		change(&tasks[0])
		if _, _, err := ringOf(p, &tasks[0]); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
