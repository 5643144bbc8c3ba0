package check

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
)

// either is about f(x) = w x: one of both always holds, and for no w of some size one alone on all
// of T.
const either = `{"properties": [{"name": "either", "kind": "rows", "boxes": [[[-3, 3]]],
 "safe": {"or": [{"row": [1], "offset": 1}, {"row": [-1], "offset": 1.5}]}}]}`

// mixedJobs are jobs whose lower bounds rest on mixtures, of every method with weight boxes or
// noise.
func mixedJobs(t *testing.T) map[string]*certify.Job {
	t.Helper()
	path := filepath.Join(t.TempDir(), "either.json")
	if err := os.WriteFile(path, []byte(either), 0o600); err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*certify.Job{}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for name, m := range map[string]certify.Method{
			"clbp": {By: new(prove.CLBP), Cells: new(1)},
			"lbp":  {By: new(prove.LBP), Draws: new(30), Gamma: new(0.8)},
			"ibp":  {By: new(prove.IBP), Draws: new(30), Gamma: new(0.2)},
			"auto": {By: new(prove.Auto), Cells: new(1)},
		} {
			j := file("one-weight.npz", "", m, p)
			j.Tasks = certify.Tasks{File: path}
			jobs[name+" "+p.String()] = j
		}
	}
	return jobs
}

var mixturesOf = regexp.MustCompile(`"mixtures":\[\[[^\]]*\]\]`)

// TestCheckMixtures: records that rest on mixtures pass, with these and no others: with factors
// that are none they are refused, and without any nothing of what they claim is proved.
func TestCheckMixtures(t *testing.T) {
	jobs := mixedJobs(t)
	for _, name := range slices.Sorted(maps.Keys(jobs)) { // the same forgeries each time
		j := jobs[name]
		var c Checker
		line := written(t, j)[0]
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !mixturesOf.Match(line) {
			t.Errorf("%s: %v %v\n%s", name, err, v.Refused, line)
			continue
		}
		for _, bad := range []string{
			`"mixtures":[[-0.5,0.5]]`, `"mixtures":[[0.5,-0.5]]`, `"mixtures":[[0,0]]`, `"mixtures":[[0.5]]`, `"mixtures":[[0.5,0.25,0.25]]`,
			`"mixtures":[]`, `"mixtures":[[0.5,0.5],[0.5,0.5]]`, `"mixtures":[[NaN,0.5]]`, `"mixtures":[[1e999,0.5]]`, `"mixtures":[[1e308,1e308]]`,
			`"mixtures":[["0.5","0.5"]]`, `"mixtures":[[1,0]]`, `"mixtures":[[0,1]]`, `"mixtures":[[0.01,0.99]]`, `"mixtures":null`,
		} {
			forged := resealed(mixturesOf.ReplaceAll(line, []byte(bad)))
			if v, err := c.Check(t.Context(), forged, false); err != nil || v.Refused == nil {
				t.Errorf("%s: %s passes: %v\n%s", name, bad, err, forged)
			}
		}
		none := bytes.Replace(bytes.Replace(mixturesOf.ReplaceAll(line, nil), []byte(",,"), []byte(","), 1), []byte("{,"), []byte("{"), 1)
		none = bytes.Replace(none, []byte(",}"), []byte("}"), 1)
		if v, err := c.Check(t.Context(), resealed(none), false); err != nil || v.Refused == nil {
			t.Errorf("%s: passes without mixtures: %v\n%s", name, err, none)
		}
	}
}

// TestCheckMixturesElsewhere: what does not rest on mixtures has none.
func TestCheckMixturesElsewhere(t *testing.T) {
	for name, j := range map[string]*certify.Job{
		"a conjunction":  images("glyphs-64-32-10.npz", 1, "0.01", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float32),
		"nothing proved": images("glyphs-64-32-10.npz", 1, "0.5", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float32),
	} {
		var c Checker
		line := written(t, j)[0]
		for _, with := range []string{`"proof":{"mixtures":[[0.5,0.5]],`, `"proof":{"mixtures":[[1]],`, `"proof":{"mixtures":[],`} {
			forged := bytes.Replace(line, []byte(`"proof":{`), []byte(with), 1)
			if bytes.Equal(forged, line) {
				forged = bytes.Replace(line, []byte(`,"checksum"`), []byte(","+strings.TrimSuffix(with, ",")+`},"checksum"`), 1)
			}
			if v, err := c.Check(t.Context(), resealed(forged), false); err != nil || v.Refused == nil {
				t.Errorf("%s: passes with mixtures: %v\n%s", name, err, forged)
			}
		}
	}
}
