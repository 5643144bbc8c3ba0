package main

import (
	"encoding/json"
	"io"
	"math"
	"slices"

	"psafe/host/lab/bench"
	"psafe/host/lab/crosscheck"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/measure"
	"psafe/internal/outfile"
)

// What --json says of itself, where there is one object and where there are several.
const (
	jsonUsage      = "one JSON object on one line (docs/reference.md), in place of the table"
	jsonLinesUsage = "JSON objects, one on each line (docs/reference.md), in place of the table"
)

// printJSON writes a value as one line of JSON.
func printJSON(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		panic("psafe: " + err.Error())
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	return nil
}

// finiteOrNull is a number as JSON can have it.
func finiteOrNull(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// inspected is psafe inspect --json.
type inspected struct {
	Posterior   string           `json:"posterior"`
	Format      string           `json:"format"`
	Kind        string           `json:"kind"`
	Description string           `json:"description"`
	Scale       string           `json:"scale"`
	SHA256      string           `json:"sha256"`
	Note        string           `json:"note,omitempty"`
	Layers      []inspectedLayer `json:"layers"`
	Weights     int              `json:"weights"`
	Random      int              `json:"random"`
	Samples     *inspectedSample `json:"samples,omitempty"`
	// Gamma is no bound.
	Gamma *float64 `json:"gamma_for_mass_0.9_approx,omitempty"`
	// Check is there with --check, and says what was compared when the file was read.
	Check    *inspectedCheck `json:"check,omitempty"`
	Warnings []string        `json:"warnings"`
}

type inspectedCheck struct {
	References int     `json:"references"`
	Compared   int     `json:"compared"`
	Largest    float64 `json:"largest_difference"`
	Tolerance  float64 `json:"tolerance"`
	Arithmetic string  `json:"arithmetic,omitempty"`
	Spreads    int     `json:"spreads"`
}

type inspectedLayer struct {
	Inputs  int `json:"inputs"`
	Outputs int `json:"outputs"`
	// Map says in words what a layer that is not dense does; From is there where it is not
	// fed by the layer before alone.
	Map        string          `json:"map,omitempty"`
	From       []int           `json:"from,omitempty"`
	Activation string          `json:"activation"`
	Weight     inspectedSpread `json:"weight"`
	Bias       inspectedSpread `json:"bias"`
}

// inspectedSpread has quantiles of standard deviations: least, 1/4, median, 3/4, largest.
type inspectedSpread struct {
	Number int        `json:"number"`
	Random int        `json:"random"`
	Sigma  [5]float64 `json:"sigma"`
}

type inspectedSample struct {
	Number int `json:"number"`
	Least  int `json:"least_count"`
	Most   int `json:"most_count"`
	Total  int `json:"total_count"`
}

func inspectFields(p *posterior.Posterior) inspected {
	out := inspected{
		Posterior: p.Source.Path, Format: p.Source.Format, Kind: p.Kind.String(), Description: p.Describe(), Scale: p.Scale.String(),
		SHA256: p.Source.SHA256, Note: p.Source.Note, Weights: weightsOf(p),
	}
	net := p.Network()
	for k, s := range p.SpreadSummary() {
		l := &p.Layers[k]
		spread := func(s posterior.Spread) inspectedSpread {
			out.Random += s.Random
			if s.N == 0 {
				return inspectedSpread{}
			}
			return inspectedSpread{s.N, s.Random, s.Quantiles}
		}
		layer := inspectedLayer{Inputs: l.Inputs(), Outputs: l.Outputs(), Activation: l.Activation.String(), Weight: spread(s.Weight), Bias: spread(s.Bias)}
		if _, dense := l.Map.(network.Dense); !dense {
			layer.Map = network.Describe(l.Map)
		}
		if feed := net.Feed(k); len(feed) > 1 || feed[0] != k-1 {
			layer.From = feed
		}
		out.Layers = append(out.Layers, layer)
	}
	if s := p.Finite(); s != nil {
		out.Samples = &inspectedSample{s.N(), int(slices.Min(s.Counts)), int(slices.Max(s.Counts)), int(s.Total())}
	}
	if out.Random > 0 && p.Independent() {
		out.Gamma = finiteOrNull(measure.GammaForMassApprox(0.9, out.Random))
	}
	return out
}

// benched is a line of psafe bench --json: a workload on a device.
type benched struct {
	Device    string   `json:"device"`
	Precision string   `json:"precision"`
	Workload  string   `json:"workload"`
	Seconds   float64  `json:"seconds"`
	GBPerS    *float64 `json:"gb_per_s,omitempty"`
	GFlops    *float64 `json:"gflop_per_s,omitempty"`
	CopyGB    *float64 `json:"device_copy_gb_per_s,omitempty"`
	FMAGF     *float64 `json:"device_fma_gflop_per_s,omitempty"`
	Fallback  *float64 `json:"fallback_seconds,omitempty"`

	Operations []benchedOperation `json:"operations,omitempty"`
}

// benchedOperation holds what a kernel did in a workload, and its shares of the device's rates.
type benchedOperation struct {
	Name     string   `json:"name"`
	Launches int      `json:"launches"`
	Seconds  float64  `json:"seconds"`
	GBPerS   *float64 `json:"gb_per_s,omitempty"`
	GFlops   *float64 `json:"gflop_per_s,omitempty"`
	OfCopy   *float64 `json:"of_copy,omitempty"`
	OfFMA    *float64 `json:"of_fma,omitempty"`
}

func benchJSON(w io.Writer, m *bench.Measured) error {
	known := func(x float64) *float64 {
		if x == 0 {
			return nil
		}
		return finiteOrNull(x)
	}
	for i, r := range m.Rows {
		row := benched{Device: m.Device, Precision: m.Precision.String(), Workload: r.Workload, Seconds: r.Seconds, GBPerS: known(r.GBPerSecond()), GFlops: known(r.GFPerSecond())}
		if m.Limits != nil {
			row.CopyGB, row.FMAGF, row.Fallback = known(m.Limits.CopyGB), known(m.Limits.FMAGF), known(m.Beside[i].Seconds)
		}
		for _, o := range r.Operations {
			gb, gf := o.GBPerSecond(), o.GFPerSecond()
			row.Operations = append(row.Operations, benchedOperation{o.Name, o.Launches, o.Seconds, known(gb), known(gf), known(gb / m.Limits.CopyGB), known(gf / m.Limits.FMAGF)})
		}
		if err := printJSON(w, row); err != nil {
			return err
		}
	}
	return nil
}

// crosschecked is a line of psafe crosscheck --json: compared is "bits", of two devices, or
// "precisions", of float32 and float64.
type crosschecked struct {
	Compared   string `json:"compared"`
	Method     string `json:"method"`
	Precision  string `json:"precision,omitempty"`
	Devices    string `json:"devices,omitempty"`
	Numbers    int64  `json:"numbers,omitempty"`
	Operations int    `json:"operations,omitempty"`
	Inside     *int   `json:"inside,omitempty"`
	Bounds     int    `json:"bounds,omitempty"`
	// Gap is the largest difference, which says nothing about either being a bound.
	Gap *float64 `json:"largest_gap,omitempty"`
}

func equalFields(e crosscheck.Equal) crosschecked {
	return crosschecked{Compared: "bits", Method: e.Method.String(), Precision: e.Precision.String(), Devices: e.Devices, Numbers: e.Numbers, Operations: e.Operations}
}

func overlapFields(o crosscheck.Overlap) crosschecked {
	return crosschecked{Compared: "precisions", Method: o.Method.String(), Inside: &o.Inside, Bounds: o.Total, Gap: finiteOrNull(o.Gap)}
}

// refusedLine holds what psafe check --json says of a record that does not pass, gapLine of a run
// whose tasks are not all there once, checkedLine at the end.
type refusedLine struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Refused string `json:"refused"`
}

type gapLine struct {
	Gap string `json:"gap"`
}

type checkedLine struct {
	Records     int  `json:"records"`
	Proved      int  `json:"proved"`
	Refused     int  `json:"refused"`
	Nothing     int  `json:"claim_nothing"`
	Read        int  `json:"only_read"`
	Gaps        int  `json:"gaps"`
	Statistical bool `json:"statistical"`
}
