package report_test

import (
	"slices"
	"strings"
	"testing"

	"psafe/host/property"
	"psafe/host/report"
)

// TestIdentify: the identity is that of what is asked. Paths of files that have digests, builds
// and places in runs are no part of it; everything else is.
func TestIdentify(t *testing.T) {
	first := report.Record{
		Index: 3, Property: "argmax_is:1", Eps: "eps.npy", EpsSHA256: "e", Clip: []string{"clip.npy"}, ClipSHA256: "c", Mean: "mean.npy", MeanSHA256: "m", Std: "2",
		Template: "t.json", TemplateSHA256: "t", Flags: "--method lbp", Require: property.MustExact("0.9"), Precision: "float32",
		Posterior: "net.npz", PosteriorSHA256: "p", PosteriorScale: "sd", PosteriorSDFile: "sd.npz", PosteriorSDSHA: "s",
		Inputs: "dir/x.npz:a", InputsSHA256: "i", Version: "1", Numerics: 1,
	}
	id := func(change func(*report.Record)) string {
		r := first
		change(&r)
		r.Identify()
		return r.ID
	}
	same := id(func(*report.Record) {})
	for what, change := range map[string]func(*report.Record){
		"path of eps":       func(r *report.Record) { r.Eps = "e.npy" },
		"path of clip":      func(r *report.Record) { r.Clip = []string{"c.npy"} },
		"path of mean":      func(r *report.Record) { r.Mean = "m.npy" },
		"path of template":  func(r *report.Record) { r.Template = "u.json" },
		"path of posterior": func(r *report.Record) { r.Posterior, r.PosteriorSDFile = "n.npz", "s.npz" },
		"folder of inputs":  func(r *report.Record) { r.Inputs = "y.npz:a" },
		"version":           func(r *report.Record) { r.Version = "2" },
		"run":               func(r *report.Record) { r.Task, r.Tasks, r.Run, r.ID = 1, 2, "ab", "cd" },
		"what came out": func(r *report.Record) {
			r.PLower, r.PUpper, r.Verdict, r.Device, r.Stopped = 0.5, 0.75, "unknown", "gpu", "time limit"
		},
	} {
		if got := id(change); got != same || len(got) != 32 {
			t.Errorf("another %s: %s, not %s", what, got, same)
		}
	}
	seen := []string{same}
	for what, change := range map[string]func(*report.Record){
		"index": func(r *report.Record) { r.Index = 4 }, "property": func(r *report.Record) { r.Property = "argmax_is:2" },
		"eps file": func(r *report.Record) { r.EpsSHA256 = "f" }, "eps": func(r *report.Record) { r.Eps, r.EpsSHA256 = "0.1", "" },
		"clip file": func(r *report.Record) { r.ClipSHA256 = "d" }, "clip": func(r *report.Record) { r.Clip, r.ClipSHA256 = []string{"0", "1"}, "" },
		"mean file": func(r *report.Record) { r.MeanSHA256 = "n" }, "std": func(r *report.Record) { r.Std = "3" }, "std file": func(r *report.Record) { r.StdSHA256 = "s" },
		"template": func(r *report.Record) { r.TemplateSHA256 = "u" }, "entry": func(r *report.Record) { r.TemplateEntry = new(int) },
		"flags": func(r *report.Record) { r.Flags = "--method ibp" }, "require": func(r *report.Record) { r.Require = property.MustExact("0.8") },
		"precision": func(r *report.Record) { r.Precision = "float64" }, "posterior": func(r *report.Record) { r.PosteriorSHA256 = "q" },
		"scale": func(r *report.Record) { r.PosteriorScale = "sd x 2" }, "sd": func(r *report.Record) { r.PosteriorSD = "0.1" }, "sd file": func(r *report.Record) { r.PosteriorSDSHA = "t" },
		"array": func(r *report.Record) { r.Inputs = "dir/x.npz:b" }, "inputs": func(r *report.Record) { r.InputsSHA256 = "j" },
		"numerics": func(r *report.Record) { r.Numerics = 2 }, "seed": func(r *report.Record) { r.Seed = 1 }, "name": func(r *report.Record) { r.Name = "n" },
		"label": func(r *report.Record) { r.Label = new(int) }, "input scale": func(r *report.Record) { r.InputScale = "1/255" },
		"fix": func(r *report.Record) { r.Fix = "0" }, "free": func(r *report.Record) { r.Free = "0" }, "channels": func(r *report.Record) { r.Channels = "first" },
		"activations": func(r *report.Record) { r.Activations = []string{"relu"} },
	} {
		got := id(change)
		if slices.Contains(seen, got) {
			t.Errorf("another %s has the identity of something else", what)
		}
		seen = append(seen, got)
	}
}

// TestRunID: the id of a run is that of its tasks in their order.
func TestRunID(t *testing.T) {
	of := func(ids string) string { return report.RunID(slices.Values(strings.Fields(ids))) }
	if a := of("a b"); len(a) != 16 || a == of("b a") || a == of("ab") || a == of("a") || a != of(" a  b ") {
		t.Error(a)
	}
}
