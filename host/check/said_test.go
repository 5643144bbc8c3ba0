package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record/fields"
	"psafe/internal/testscale"
)

// saidOnly are the fields of another class of which the table says when they are only said.
var saidOnly = map[string]func(r *record.Record) bool{
	"safe_boxes": func(r *record.Record) bool { return true },
	"rule":       func(r *record.Record) bool { return len(r.Proof.Boxes) > 1 && r.Rule != record.LargestBox },
	"cells":      func(r *record.Record) bool { return !r.Claims() },
	"tau":        func(r *record.Record) bool { return !r.Claims() },
	"stopped":    func(r *record.Record) bool { return true },
	"eps":        func(r *record.Record) bool { return r.EpsSHA256 != "" || r.RadiusEnd != "" },
	"clip":       func(r *record.Record) bool { return r.ClipSHA256 != "" },
	"mean":       func(r *record.Record) bool { return r.MeanSHA256 != "" },
	"std":        func(r *record.Record) bool { return r.StdSHA256 != "" },

	"input_noise": func(r *record.Record) bool { return r.InputNoiseSHA != "" },
	"other":       func(r *record.Record) bool { return r.OtherSHA256 != "" },
}

// kindsOf returns what is known of each field: its class in the table of fields, and said where it is
// that under a condition.
func kindsOf() map[string][]string {
	kinds := map[string][]string{}
	for _, f := range fields.Table {
		kinds[f.Name] = []string{string(f.Class)}
		if f.Said != "" {
			kinds[f.Name] = append(kinds[f.Name], "said")
		}
	}
	return kinds
}

// fieldsOf are the names of all fields of records, those within objects with a dot.
func fieldsOf(t reflect.Type, within string) (names []string) {
	for f := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(f).Tag.Get("json"), ",")
		names = append(names, within+name)
		of := t.Field(f).Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if within == "" && of.Kind() == reflect.Struct && of != reflect.TypeFor[record.Decimal]() {
			names = append(names, fieldsOf(of, name+".")...)
		}
	}
	return names
}

// TestListOfFields: the table of fields has every field that the checker reads, and no other, and
// says when fields of another class are only said.
func TestListOfFields(t *testing.T) {
	kinds := kindsOf()
	all := slices.DeleteFunc(fieldsOf(reflect.TypeFor[record.Record](), ""), func(n string) bool { return n == "proof.chains" }) // which the checker knows no more
	for _, name := range all {
		if len(kinds[name]) == 0 {
			t.Errorf("the table does not have the field %s", name)
		}
	}
	for name, of := range kinds {
		if !slices.Contains(all, name) {
			t.Errorf("%s is listed, which is no field that the checker reads", name)
		}
		if both := len(of) > 1; both != (saidOnly[name] != nil) {
			t.Errorf("the table of fields has %s under %v, this test knows when it is only said: %v", name, of, saidOnly[name] != nil)
		}
	}
}

// variedRuns are the records of small runs of every method, with all fields that records have.
func variedRuns(t *testing.T) [][][]byte {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	points := func(posterior, inputs, eps, property string, m certify.Method) *certify.Job {
		return &certify.Job{Posterior: certify.Posterior{Path: testFile(posterior)}, Tasks: certify.Tasks{Points: certify.Points{Inputs: inputs, Eps: eps, Property: property}},
			Method: m, Precision: new(bound.Float32), Version: "test"}
	}
	line, pair, pairs := filepath.Join("testdata", "points.csv"), file("pair.csv", "0.3,-0.2\n"), filepath.Join("testdata", "pairs.csv")
	const tanh, wide = "tiny-2-3-2-tanh.npz", "output_box:[-0.5,2]"
	lbp := func(m certify.Method) certify.Method { m.By = new(prove.LBP); return m }
	stopped := points(tanh, pair, "0.01", property.KeepsClass, certify.Method{})
	stopped.Require = "0.01"
	limited := points(tanh, pair, "0.01", property.KeepsClass, certify.Method{By: new(prove.CLBP)})
	limited.TimeLimit = new(time.Nanosecond)
	radii := points(tanh, pair, file("radii.npy", radiiOfTests), property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true})
	radii.Tasks.Points.Clip, radii.Tasks.Points.Mean, radii.Tasks.Points.Std = []string{"-1", "1"}, "0.1", "0.9"
	noisy := points(tanh, pair, "0.02", property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true})
	noisy.Tasks.Points.InputNoise = file("noise.npy", radiiOfTests)
	paired := points(tanh, pair, "0.02", property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true})
	paired.Tasks.Points.Relation = "same_class:0.05"
	beside := points(tanh, pair, "0.02", property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true})
	beside.Tasks.Points.Relation, beside.Tasks.Points.Other = "same_class", meanFile(t, testFile(tanh))
	ball := points(tanh, pair, "0.05", property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true})
	ball.Tasks.Points.Norm = "2"
	leaves := images("glyphs-64-24-24-10.npz", 1, "0.02", certify.Method{By: new(prove.Phases)}, bound.Float32)
	leaves.Tasks.Points.Index = new("2")
	moments := images("glyphs-64-32-10.npz", 1, "0", certify.Method{By: new(prove.Chernoff)}, bound.Float32)
	moments.Posterior.Factor = "20"
	either := mixedJobs(t)["clbp float32"]
	linearised := points("correlated-2-8-3.npz", pair, "0.02", property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true})
	linearised.Posterior.Predictive = certify.PredictiveLinearised
	searched := points("samples-2-8-3.npz", pair, "", property.KeepsClass, certify.Method{By: new(prove.Finite)})
	searched.Tasks.Points.Most, searched.Tasks.Points.Step = "0.5", "0.125"
	worst := points(tanh, file("far.csv", "1,-1\n"), "1", property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true, Each: true, Quantile: "0.1", Cells: new(6)})
	var runs [][][]byte
	for _, j := range []*certify.Job{
		points(tanh, pair, "0.02,0.05", property.KeepsClass, lbp(certify.Method{NoUpper: true, Draws: new(6), Gamma: new(1.5)})),
		points("two-weights.npz", line, "0.1", wide, lbp(certify.Method{Draws: new(60), Gamma: new(0.5), Seed: new(uint64(7))})),
		points("two-weights-product.npz", line, "0.1", wide, certify.Method{By: new(prove.IBP), Draws: new(1), Gamma: new(0.5)}),
		points("two-weights-product.npz", line, "9", wide, lbp(certify.Method{Draws: new(5), Gamma: new(0.1)})),
		points(tanh, pair, "0.02", property.KeepsClass, certify.Method{By: new(prove.CLBP), Derived: true, Draws: new(20), Confidence: new(0.9)}),
		points(tanh, pair, "0.3", property.KeepsClass, certify.Method{By: new(prove.CLBP), Cells: new(6)}),
		points(tanh, pair, "0.9", "argmax_is:1", certify.Method{}),
		points(tanh, pair, "0.02", property.KeepsClass, certify.Method{By: new(prove.NeuronSum), Cells: new(2)}),
		points("samples-2-8-3.npz", pairs, "0.1", property.KeepsClass, certify.Method{Draws: new(10)}),
		searched,
		points("dropout-2-8-3.npz", pair, "0.1", property.KeepsClass, certify.Method{By: new(prove.Statistical)}),
		images("glyphs-64-24-24-10.npz", 1, "0.02", certify.Method{By: new(prove.Phases)}, bound.Float32),
		parentJob(t, dir, certify.Method{}),
		points(tanh, pair, "0.05", property.KeepsClass, certify.Method{By: new(prove.CLBP), NoUpper: true, Decision: true, Cells: new(4)}),
		points("samples-2-8-3.npz", pairs, "0.1", "argmax_is:0", certify.Method{By: new(prove.Finite), Decision: true, Cells: new(4)}),
		points("cubic-128.npz", line, "0.1", "output_box:[0.5,9]", certify.Method{By: new(prove.CLBP), NoUpper: true, Mean: true, Cells: new(4)}),
		points("samples-2-8-3.npz", pairs, "0.1", property.KeepsClass, certify.Method{By: new(prove.Finite), Decision: true, Reject: "0.6"}),
		points("cubic-128.npz", line, "0.1", "output_box:[0.5,9]", certify.Method{By: new(prove.CLBP), NoUpper: true, Mean: true, Noise: "0.1", Cells: new(4)}),
		worst, stopped, limited, radii, noisy, paired, beside, ball, either, leaves, moments, linearised,
		plansJob(t, `{"or": [{"row": [1], "offset": 0.1}, {"row": [-1], "offset": 0.2}]}`),
	} {
		runs = append(runs, written(t, j))
	}
	const boxes = `[[[-1, 1], [-0.5, 1]], [[2, 2], [0, 0.5]]]`
	asked, _, _ := gridQuestion(t, net.Activation{Kind: net.ReLU}, boxes)
	grid := withGrid(t, asked, 10, 0.99, `"grids":[[[0,0.5],[]],[[],[]]],"mixtures":[[0.5,0.5]]`)
	var r record.Record
	if err := json.Unmarshal(grid, &r); err != nil {
		t.Fatal(err)
	}
	return append(runs, [][]byte{changed(t, grid, `"run":"\w+"`, `"run":"`+record.RunOf([]string{r.ID})+`"`)})
}

// radiiOfTests is a .npy file of the numbers 1/64 and 1/32.
var radiiOfTests = fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00%-117s\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }") + "\x00\x00\x00\x00\x00\x00\x90\x3f\x00\x00\x00\x00\x00\x00\xa0\x3f"

// object is a JSON object with its fields in their order.
type object struct {
	names  []string
	values map[string]json.RawMessage
}

func objectOf(t *testing.T, text []byte) *object {
	t.Helper()
	o := &object{}
	if err := json.Unmarshal(text, &o.values); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	_, _ = dec.Token()
	for dec.More() {
		key, _ := dec.Token()
		o.names = append(o.names, key.(string))
		var value json.RawMessage
		_ = dec.Decode(&value)
	}
	return o
}

// with is the object with another value of a field, of one in an object if the name has a dot;
// without the field if the value is empty.
func (o *object) with(t *testing.T, name, value string) string {
	t.Helper()
	if outer, inner, nested := strings.Cut(name, "."); nested {
		name, value = outer, objectOf(t, o.values[outer]).with(t, inner, value)
	}
	var parts []string
	names := o.names
	if !slices.Contains(names, name) {
		at := max(0, slices.Index(names, "id"))
		names = slices.Insert(slices.Clone(names), at, name)
	}
	for _, n := range names {
		text := string(o.values[n])
		if n == name {
			text = value
		}
		if text != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", n, text))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// value is that of a field, of one in an object if the name has a dot; empty if it is not there.
func (o *object) value(t *testing.T, name string) string {
	outer, inner, nested := strings.Cut(name, ".")
	if nested && o.values[outer] != nil {
		return objectOf(t, o.values[outer]).value(t, inner)
	}
	return string(o.values[name])
}

// others are values that a forger may write in the place of one; among is what other records have.
func others(value string, among []string) (list []string) {
	list = append(slices.Clone(among), "", "null", `""`, "0", "[]", "{}", "-1", "1e-9", "1e400", `"x"`, "[[]]")
	if x, err := strconv.ParseFloat(value, 64); err == nil {
		for _, y := range []float64{x + 1, x - 1, 2 * x, x / 2, x * (1 - 1e-9), math.Nextafter(x, arith.Inf), math.Nextafter(x, -arith.Inf), math.Abs(x), 1, (1 + x) / 2} {
			if !math.IsInf(y, 0) && !math.IsNaN(y) {
				list = append(list, property.DecimalDown(y), property.DecimalUp(y))
			}
		}
	}
	if n := len(value); n > 2 {
		switch value[0] {
		case '"':
			list = append(list, value[:n-1]+`x"`, `"`+value[2:], `"0`+value[1:], value[:n-1]+` --cells 7"`, value[:n-1]+` --derived"`, strings.Replace(value, "/", "/./", 1))
		case '[':
			list = append(list, value[:n-1]+","+value[1:], "["+value+"]", value[:n-1]+",0]")
		}
	}
	slices.Sort(list)
	x, err := strconv.ParseFloat(value, 64)
	return slices.DeleteFunc(slices.Compact(list), func(v string) bool {
		y, err2 := strconv.ParseFloat(v, 64)
		return v == value || err == nil && err2 == nil && x == y // the same number in other digits
	})
}

// moreThan reports whether a value of a field that is proved claims more than another one: much
// more, since what is proved may be better than what is claimed (TestForged has the last digits).
func moreThan(field, value, than string) bool {
	name := field[strings.LastIndex(field, ".")+1:]
	var list, thanList []float64
	if json.Unmarshal([]byte(value), &list) == nil && json.Unmarshal([]byte(than), &thanList) == nil && len(list) == len(thanList) {
		for i, y := range thanList { // means, of which lines tell more than intervals
			if x, more := list[i], 0.01*(1+math.Abs(y)); name == "lower" && x > y+more || name == "upper" && x < y-more {
				return true
			}
		}
		return false
	}
	x, err := strconv.ParseFloat(value, 64)
	y, err2 := strconv.ParseFloat(than, 64)
	switch {
	case err != nil: // no more is claimed by null, or without the field, and what is no number is refused
		return value != "null" && value != ""
	case err2 != nil:
		return true
	case slices.Contains([]string{"p_upper", "inf_prob_upper", "upper", "rival_upper"}, name):
		return x < y-0.5*min(y, 1-y)
	case name == "unsafe_samples":
		return x != y
	case name == "safe_samples":
		return x > y
	case y < 0: // logarithms and means
		return x > 0.1*y
	}
	return 1-x < 0.1*(1-y)
}

// TestSaid: whatever a forger writes in the place of one field of a genuine record is refused, or
// names another question than the run's, or the table of fields has the field among those that are said.
func TestSaid(t *testing.T) {
	kinds, runs := kindsOf(), variedRuns(t)
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(n string) bool { return n == "checksum" })
	values := map[string][]string{}
	for _, lines := range runs {
		for _, line := range lines {
			for _, name := range all {
				if v := objectOf(t, line).value(t, name); v != "" && !slices.Contains(values[name], v) && len(values[name]) < 6 {
					values[name] = append(values[name], v)
				}
			}
		}
	}
	values["rule"] = append(values["rule"], `"chain"`, `"de Caen"`)
	type forgery struct {
		run         int
		field, with string
	}
	var forgeries []forgery
	var c Checker
	for i, lines := range runs {
		var genuine Runs
		for _, line := range lines {
			v, err := c.Check(t.Context(), line, false)
			if err != nil || v.Refused != nil {
				t.Fatalf("a genuine record is refused: %v %v\n%s", err, v.Refused, line)
			}
			genuine.Add(v)
		}
		if gaps := genuine.Gaps(); gaps != nil {
			t.Fatalf("%v: %s", gaps, lines[0])
		}
		o := objectOf(t, lines[0])
		for _, name := range all {
			if outer, _, nested := strings.Cut(name, "."); nested && o.values[outer] == nil {
				continue
			}
			if values[name] == nil && name != "log10_ceiling" && !strings.HasPrefix(name, "posterior_sd") && !strings.Contains("peak_bytes eps_sha256 clip_sha256 mean_sha256 std_sha256 fix free channels template template_sha256 template_entry input_scale name proof.centres proof.large proof.rows proof.lines features_of decision.drawn_lower", name) {
				t.Errorf("no record has %s", name)
			}
			for _, with := range others(o.value(t, name), values[name]) {
				forgeries = append(forgeries, forgery{i, name, with})
			}
		}
	}
	rng := rand.New(rand.NewPCG(28, 8))
	rng.Shuffle(len(forgeries), func(i, j int) { forgeries[i], forgeries[j] = forgeries[j], forgeries[i] })
	if !testscale.Deep(t) {
		forgeries = forgeries[:min(len(forgeries), testscale.Costly(t, 2500)/2)]
	}
	slices.SortStableFunc(forgeries, func(a, b forgery) int { return a.run - b.run }) // files are read once
	refused, passed := 0, map[string]int{}
	for _, f := range forgeries {
		lines := runs[f.run]
		o := objectOf(t, lines[0])
		forged := sealed(o.with(t, f.field, f.with))
		if f.field == "id" || f.field == "run" {
			forged = resealed(append([]byte(strings.TrimSuffix(o.with(t, f.field, f.with), "}")), '}'))
		}
		v, err := c.Check(t.Context(), forged, false)
		if err != nil || v.Refused != nil {
			refused++
			continue
		}
		var together Runs
		together.Add(v)
		for _, line := range lines[1:] {
			v, _ := c.Check(t.Context(), line, true)
			together.Add(v)
		}
		r, err := record.Parse(lines[0])
		if err != nil {
			t.Fatal(err)
		}
		allowed := false
		for _, kind := range kinds[f.field] {
			switch kind {
			case "proved":
				allowed = allowed || !moreThan(f.field, f.with, o.value(t, f.field))
			case "question":
				allowed = allowed || together.Gaps() != nil
			case "certificate":
				allowed = true
			case "said":
				allowed = allowed || saidOnly[f.field] == nil || saidOnly[f.field](r)
			}
		}
		if !allowed {
			t.Errorf("%s %s in place of %s passes, the table of fields has it under %v\n%s", f.field, f.with, o.value(t, f.field), kinds[f.field], forged)
		}
		passed[f.field]++
	}
	t.Logf("of %d forgeries %d are refused; pass as said: %v", len(forgeries), refused, passed)
	if !testscale.Deep(t) {
		return
	}
	for name, of := range kinds {
		if slices.Contains(of, "said") && passed[name] == 0 && values[name] != nil {
			t.Errorf("%s is under said in the table of fields, and nothing but the genuine value passes", name)
		}
	}
}
