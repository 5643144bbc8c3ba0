package record_test

import (
	"slices"
	"strings"
	"testing"

	"psafe/host/read/property"
	"psafe/host/record"
)

// TestIdentify: the identity is that of what is asked. Paths of files that have digests, builds
// and places in runs are no part of it; everything else is.
func TestIdentify(t *testing.T) {
	first := record.Record{
		Index: 3, Property: "argmax_is:1", Eps: "eps.npy", EpsSHA256: "e", Clip: []string{"clip.npy"}, ClipSHA256: "c", Mean: "mean.npy", MeanSHA256: "m", Std: "2",
		Template: "t.json", TemplateSHA256: "t", Flags: "--method lbp", Require: property.MustExact("0.9"), Precision: "float32",
		Posterior: "net.npz", PosteriorSHA256: "p", PosteriorScale: "sd", PosteriorSDFile: "sd.npz", PosteriorSDSHA: "s",
		Inputs: "dir/x.npz:a", InputsSHA256: "i", Version: "1", Numerics: 1,
	}
	id := func(change func(*record.Record)) string {
		r := first
		change(&r)
		r.Identify()
		return r.ID
	}
	same := id(func(*record.Record) {})
	for what, change := range map[string]func(*record.Record){
		"path of eps":       func(r *record.Record) { r.Eps = "e.npy" },
		"path of clip":      func(r *record.Record) { r.Clip = []string{"c.npy"} },
		"path of mean":      func(r *record.Record) { r.Mean = "m.npy" },
		"path of template":  func(r *record.Record) { r.Template = "u.json" },
		"path of posterior": func(r *record.Record) { r.Posterior, r.PosteriorSDFile = "n.npz", "s.npz" },
		"folder of inputs":  func(r *record.Record) { r.Inputs = "y.npz:a" },
		"version":           func(r *record.Record) { r.Version = "2" },
		"run":               func(r *record.Record) { r.Task, r.Tasks, r.Run, r.ID = 1, 2, "ab", "cd" },
		"what came out": func(r *record.Record) {
			r.PLower, r.PUpper, r.Verdict, r.Device, r.Stopped = 0.5, 0.75, "unknown", "gpu", "time limit"
		},
	} {
		if got := id(change); got != same || len(got) != 32 {
			t.Errorf("another %s: %s, not %s", what, got, same)
		}
	}
	seen := []string{same}
	for what, change := range map[string]func(*record.Record){
		"index": func(r *record.Record) { r.Index = 4 }, "property": func(r *record.Record) { r.Property = "argmax_is:2" },
		"eps file": func(r *record.Record) { r.EpsSHA256 = "f" }, "eps": func(r *record.Record) { r.Eps, r.EpsSHA256 = "0.1", "" },
		"clip file": func(r *record.Record) { r.ClipSHA256 = "d" }, "clip": func(r *record.Record) { r.Clip, r.ClipSHA256 = []string{"0", "1"}, "" },
		"mean file": func(r *record.Record) { r.MeanSHA256 = "n" }, "std": func(r *record.Record) { r.Std = "3" }, "std file": func(r *record.Record) { r.StdSHA256 = "s" },
		"template": func(r *record.Record) { r.TemplateSHA256 = "u" }, "entry": func(r *record.Record) { r.TemplateEntry = new(int) },
		"flags": func(r *record.Record) { r.Flags = "--method ibp" }, "require": func(r *record.Record) { r.Require = property.MustExact("0.8") },
		"precision": func(r *record.Record) { r.Precision = "float64" }, "posterior": func(r *record.Record) { r.PosteriorSHA256 = "q" },
		"scale": func(r *record.Record) { r.PosteriorScale = "sd x 2" }, "sd": func(r *record.Record) { r.PosteriorSD = "0.1" }, "features": func(r *record.Record) { r.FeaturesOf = "a backbone" }, "sd file": func(r *record.Record) { r.PosteriorSDSHA = "t" },
		"array": func(r *record.Record) { r.Inputs = "dir/x.npz:b" }, "inputs": func(r *record.Record) { r.InputsSHA256 = "j" },
		"numerics": func(r *record.Record) { r.Numerics = 2 }, "seed": func(r *record.Record) { r.Seed = 1 }, "name": func(r *record.Record) { r.Name = "n" },
		"label": func(r *record.Record) { r.Label = new(int) }, "input scale": func(r *record.Record) { r.InputScale = "1/255" },
		"fix": func(r *record.Record) { r.Fix = "0" }, "free": func(r *record.Record) { r.Free = "0" }, "channels": func(r *record.Record) { r.Channels = "first" },
		"activations": func(r *record.Record) { r.Activations = []string{"relu"} },
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
	of := func(ids string) string { return record.RunID(slices.Values(strings.Fields(ids))) }
	if a := of("a b"); len(a) != 16 || a == of("b a") || a == of("ab") || a == of("a") || a != of(" a  b ") {
		t.Error(a)
	}
}
