package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// sealed is a line with the id and the checksum that belong to it.
func sealed(line string) []byte {
	if ids, err := record.Identities([]byte(line)); err == nil {
		line = regexp.MustCompile(`"id":"[0-9a-f]*"`).ReplaceAllString(line, `"id":"`+ids[0]+`"`)
	}
	at := strings.LastIndex(line, `,"checksum":"`)
	if at < 0 {
		at = len(line) - 1
	}
	sum := sha256.Sum256([]byte(line[:at]))
	return []byte(line[:at] + `,"checksum":"` + hex.EncodeToString(sum[:8]) + `"}`)
}

// changed replaces what an expression matches in a line, which must be there, and seals it.
func changed(t testing.TB, line []byte, expression, with string) []byte {
	t.Helper()
	e := regexp.MustCompile(expression)
	if !e.Match(line) {
		t.Fatalf("no %s in %s", expression, line)
	}
	return sealed(string(e.ReplaceAll(line, []byte(with))))
}

// claiming is a line with another p_lower, with the logarithm and the verdict that belong to it.
func claiming(t testing.TB, line []byte, p float64) []byte {
	t.Helper()
	line = changed(t, line, `"p_lower":[^,]*,"log10_p_lower":[^,]*`, fmt.Sprintf(`"p_lower":%s,"log10_p_lower":%s`, property.DecimalDown(p), property.DecimalDown(math.Log10(p))))
	var r record.Record
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	return changed(t, line, `"verdict":"\w+"`, `"verdict":"`+r.Follows()+`"`)
}

// TestRecordRefused: whatever a line says of itself that is wrong is one line that names the
// field, though its checksum is right.
func TestRecordRefused(t *testing.T) {
	good := written(t, images("glyphs-64-32-10.npz", 3, "0.01", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float32))[0]
	sampled := written(t, boxJobs()["lbp float32 two-weights"])[0]
	var c Checker
	inAnyOrder := changed(t, good, `("task":\d+),("tasks":\d+)`, `$2,$1`)
	for _, line := range [][]byte{good, sampled, inAnyOrder, changed(t, good, `"seconds":[^,]*,`, "")} {
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
			t.Fatalf("%v %v: %s", err, v.Refused, line)
		}
	}
	for _, k := range []struct {
		line             []byte
		expression, with string
		want             string
	}{
		{claiming(t, good, 1-0x1p-53), `"task":0`, `"task":0`, "p_lower: it is 0.99999999999999988, proved is"},
		{good, `"p_lower":[^,]*`, `"p_lower":0.9375`, "log10_p_lower: it is not that of p_lower 0.9375"},
		{changed(t, good, `"verdict":"safe"`, `"verdict":"unknown"`), `"p_lower":0.[^,]*`, `"p_lower":0`, "log10_p_lower: it is not that of p_lower 0"},
		{good, `"p_lower":([^,]*)`, `"p_lower":${1}1`, "p_lower: 0.999999674242421081 is not how records write a bound"},
		{good, `"log10_p_lower":[^,]*`, `"log10_p_lower":null`, "log10_p_lower: it is not that"},
		{good, `"p_lower":[^,]*`, `"p_lower":1.0000000000000000000001`, "p_lower: 1.0000000000000000000001 and p_upper 1 are no bounds"},
		{good, `"p_lower":[^,]*,`, ``, "p_lower: it is missing"},
		{good, `"p_lower":[^,]*`, `"p_lower":NaN`, "no JSON object"},
		{good, `"p_lower":[^,]*`, `"p_lower":1e-999`, ""},
		{good, `"p_upper":1,`, `"p_upper":0.9,`, "p_lower: "},
		{changed(t, good, ` --no-upper`, ``), `"p_upper":1,`, `"p_upper":` + property.DecimalUp(0.9999999) + `,`, "proof: there is none of p_upper"},
		{good, `"log10_p_lower":[^,]*`, `"log10_p_lower":` + property.DecimalDown(-0.001), "log10_p_lower: it is not that of p_lower"},
		{good, `"log10_p_lower":[^,]*`, `"log10_p_lower":` + property.DecimalDown(math.Log10(0.99999967424242108)/2), "log10_p_lower: it is -7."},
		{good, `"log10_p_lower":[^,]*`, `"log10_p_lower":1e-12`, "log10_p_lower: it is 1e-12, which is above 0"},
		{good, `"margin":null`, `"margin":99`, "margin: "},
		{sampled, `"margin":`, `"margin":-`, "margin: "},
		{good, `"verdict":"safe"`, `"verdict":"unknown"`, "verdict: "},
		{good, `"require":0.9`, `"require":0.99999999999999999`, "verdict: "},
		{good, `"require":0.9`, `"require":2`, "require: "},
		{good, `"guarantee":"`, `"guarantee":"un`, "guarantee: "},
		{good, `"precision":`, `"stopped":"a full disk","precision":`, "stopped: "},
		{good, `"precision":`, `"stopped":"time limit","precision":`, "stopped: the flags have no time limit"},
		{good, `"precision":`, `"stopped":"require","precision":`, "stopped: the flags do not have what is required"},
		{sampled, `"boxes_tried":\d+`, `"boxes_tried":0`, "boxes_tried: it is there and says nothing"},
		{sampled, `"rule":"[^"]*"`, `"rule":"disjoint"`, "rule: "},
		{sampled, `"rule":"[^"]*"`, `"rule":"one box"`, "rule: "},
		{sampled, `"method":"lbp"`, `"method":"statistical"`, "margin: "},
		{sampled, `"method":"lbp"`, `"method":"magic"`, "method: "},
		{sampled, `"gamma":[^,]*`, `"gamma":[0.5,0.5]`, "cannot unmarshal array"},
		{sampled, `"gamma":[^,]*`, `"gamma":null`, "gamma: it is null"},
		{sampled, `"gamma":[^,]*`, `"gamma":-0.5`, "gamma: it is missing, or not above 0"},
		{sampled, `"gamma":[^,]*,`, ``, "gamma: it is missing, or not above 0"},
		{sampled, `"eps":"[^"]*"`, `"eps":"9"`, "proof: box "},
		{good, `"eps":"[^"]*"`, `"eps":"0.3"`, "p_lower: "},
		{good, `"eps":"[^"]*"`, `"eps":"-1"`, "eps: "},
		{good, `"clip":\["0","1"\]`, `"clip":["0"]`, "clip: "},
		{good, `"clip":\["0","1"\]`, `"clip":["0.9","1"]`, "eps: "},
		{good, `"index":0`, `"index":1`, ""},
		{good, `"index":0`, `"index":1000`, "index: "},
		{good, `"label":\d`, `"label":null`, "label: "},
		{good, `"property":"argmax_is:\d"`, `"property":"argmax_is:77"`, "property "},
		{good, `"precision":"float32"`, `"precision":"float16"`, "precision: "},
		{good, `"posterior_sha256":"....`, `"posterior_sha256":"0000`, "posterior: "},
		{good, `"inputs_sha256":"....`, `"inputs_sha256":"0000`, "inputs: "},
		{good, `"posterior_scale":"sd"`, `"posterior_scale":"variance"`, "posterior: "},
		{good, `"posterior_scale":"sd"`, `"posterior_scale":"sd,none"`, "posterior: "},
		{good, `"posterior_scale":"sd"`, `"posterior_scale":"log_sd"`, "posterior: "},
		{good, `"posterior_scale":"sd"`, `"posterior_scale":"sd x 9"`, "p_lower: "},
		{good, `"posterior_scale":"sd"`, `"posterior_scale":"sd x zero"`, "posterior: "},
		{good, `"activations":\["relu"\]`, `"activations":["tanh"]`, "posterior: "},
		{good, `"activations":\["relu"\]`, `"activations":[]`, "posterior: "},
		{good, `"task":0`, `"task":3`, "task: "},
		{good, `"run":"[^"]*"`, `"run":""`, "task: "},
		{good, `"version":`, `"more":1,"version":`, `"more": a field that this program does not know`},
		{good, `"version":`, `"Device":"x","version":`, `"Device": a field that this program does not know`},
		{good, `"version":`, `"p_lower":0.1,"version":`, `"p_lower": it is there twice`},
		{good, `"device":"cpu"`, `"device":7`, ""},
		{good, `"proof":{`, `"proof":{"boxes":[1],`, "proof: "},
		{good, `"proof":{`, `"proof":{"networks":[1],`, "proof: "},
		{good, `"version":`, `"proof":{"boxes":[1],"boxes":[2]},"version":`, `"boxes": it is there twice`},
		{good, `"version":`, `"proof":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,"version":`, "lists within lists"},
		{sampled, `"boxes":\[\d+`, `"boxes":[-1`, "proof: box -1"},
		{sampled, `"boxes":\[(\d+),\d+`, `"boxes":[$1,$1`, "proof: box "},
		{sampled, `"proof":{"boxes":\[\d+,\d+`, `"proof":{"boxes":[300`, "proof: box 300 is not among 300"},
		{sampled, `"seed":7`, `"seed":8`, ""},
		{sampled, `"proof":{[^}]*}`, `"proof":{}`, "proof: it is there and says nothing"},
		{sampled, `"safe_boxes":\d+`, `"safe_boxes":0`, "safe_boxes: "},
		{sampled, `"safe_boxes":\d+`, `"safe_boxes":301`, "safe_boxes: "},
		{sampled, `"samples":300,"boxes_tried":300`, `"samples":10,"boxes_tried":300`, "samples: "},
		{sampled, `"gamma":0.5`, `"gamma":0.05`, "flags: the gamma is another"},
		{changed(t, sampled, `--gamma 0.5`, `--gamma 0.0625`), `"gamma":0.5`, `"gamma":0.0625`, "p_lower: "},
	} {
		v, err := c.Check(t.Context(), changed(t, k.line, k.expression, k.with), false)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case v.Refused == nil:
			t.Errorf("%s instead of %s passes", k.with, k.expression)
		case !strings.HasPrefix(v.Refused.Error(), k.want) || strings.Contains(v.Refused.Error(), "\n"):
			t.Errorf("%s instead of %s: %q, want %q", k.with, k.expression, v.Refused, k.want)
		}
	}
	for what, line := range map[string][]byte{
		"nothing": nil, "no object": []byte("[]"), "no checksum": []byte(`{"index":0}`), "cut": good[:len(good)-3], "two": append(bytes.Clone(good), good...),
		"more behind": append(bytes.Clone(good), ' '), "a bit": bytes.Replace(good, []byte(`"seed":0`), []byte(`"seed":1`), 1),
		"another's checksum": append(bytes.Clone(good[:len(good)-20]), sampled[len(sampled)-20:]...), "no JSON": sealed(`{"index":0,}`),
	} {
		if v, _ := c.Check(t.Context(), line, true); v.Refused == nil {
			t.Errorf("%s passes", what)
		}
	}
}

// TestRuns: tasks that are missing or there twice are said.
func TestRuns(t *testing.T) {
	var runs Runs
	for _, v := range []Verdict{{Task: 1, Tasks: 8, Run: "a"}, {Task: 0, Tasks: 2, Run: "b"}, {Task: 5, Tasks: 8, Run: "a"}, {Task: 5, Tasks: 8, Run: "a"}, {Task: 1, Tasks: 2, Run: "b"}, {}} {
		runs.Add(v)
	}
	want := "of the 8 tasks of run a, counted from 0, these are missing: 0, 2-4, 6-7\n" +
		"of the 8 tasks of run a, counted from 0, these are there more than once: 5"
	if got := strings.Join(runs.Gaps(), "\n"); got != want {
		t.Errorf("%s", got)
	}
}

// TestMixedRuns: records that cannot be of one run are told, whatever else passes, and a file
// that is not there is no fault of a record.
func TestMixedRuns(t *testing.T) {
	j := images("glyphs-64-32-10.npz", 2, "0.01", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float32)
	lines := written(t, j)
	var c Checker
	add := func(s *Runs, line []byte) {
		v, err := c.Check(t.Context(), line, true)
		if err != nil || v.Refused != nil {
			t.Fatal(err, v.Refused)
		}
		s.Add(v)
	}
	for what, second := range map[string][]byte{
		"are both index 0": changed(t, lines[0], `"task":0`, `"task":1`), "with these ids it would be run": changed(t, lines[1], `"require":0.9`, `"require":0.5`),
		"is of 3 tasks, others of 2": changed(t, lines[1], `"tasks":2`, `"tasks":3`),
	} {
		var s Runs
		add(&s, lines[0])
		add(&s, second)
		if gaps := strings.Join(s.Gaps(), "; "); !strings.Contains(gaps, what) {
			t.Errorf("%q does not say %q", gaps, what)
		}
	}
	if _, err := c.Check(t.Context(), changed(t, lines[0], `"posterior":"`, `"posterior":"absent/`), false); err == nil || !strings.HasSuffix(err.Error(), "say with --posterior where it is") {
		t.Errorf("an absent posterior: %v", err)
	}
}

// TestIdentity: a record that says another question than its id is refused, and how paths
// are spelled says nothing.
func TestIdentity(t *testing.T) {
	line := written(t, images("glyphs-64-32-10.npz", 1, "0.01", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float32))[0]
	tiny := file("two-weights-product.npz", "", certify.Method{By: new(prove.NeuronSum), NoUpper: true}, bound.Float32)
	tiny.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "points.csv"), Eps: "0", Property: "output_box:[-0.3,-0.1]"}}
	sums := written(t, tiny)[0]
	var c Checker
	for _, k := range []struct {
		line           []byte
		from, to, want string
	}{
		{line, `"index":0`, `"index":1`, "id: "}, {line, `"eps":"0.01"`, `"eps":"0.02"`, "id: "}, {line, `"numerics":4`, `"numerics":1`, "id: "},
		{line, `"id":"`, `"id":"0`, "id: "}, {line, `"version":"`, `"version":"9`, ""}, {line, `"posterior":"`, `"posterior":"./`, ""},
		{sums, `"numerics":4`, `"numerics":1`, "id: "}, {sums, `"version":"`, `"version":"9`, ""},
	} {
		text := strings.Replace(string(k.line), k.from, k.to, 1)
		v, err := c.Check(t.Context(), resealed([]byte(text)), true)
		if err != nil {
			t.Fatal(err)
		}
		if (v.Refused == nil) != (k.want == "") || v.Refused != nil && !strings.HasPrefix(v.Refused.Error(), k.want) {
			t.Errorf("%s instead of %s: %v", k.to, k.from, v.Refused)
		}
	}
}

// TestForgedFields: fields of another method, bounds that drawn networks contradict, and lists
// that are longer than a certificate's are refused before anything is proved.
func TestForgedFields(t *testing.T) {
	clbp := written(t, images("glyphs-64-32-10.npz", 1, "0.01", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float32))[0]
	var c Checker
	for _, k := range []struct {
		line             []byte
		from, with, want string
	}{
		{clbp, `"margin":null`, `"margin":1`, "margin: "},
		{clbp, `"require":`, `"rule":"by eye","require":`, "margin: "},
		{clbp, `"cells":1`, `"samples":-3,"cells":1`, "samples: "},
		{clbp, `"precision":"float32"`, `"precision":"float128"`, "precision: "},
		{clbp, `"flags":"--method clbp`, `"flags":"--method ibp`, "flags: "},
		{clbp, `"flags":"--method clbp`, `"flags":"--method clbp --scale-factor 9`, "flags: "},
		{changed(t, clbp, `--method clbp`, `--method clbp --samples 1000`), `"p_upper":1`, `"p_upper":1,"statistical":{"samples":1000,"safe":0,"unsafe":1000,"confidence":0.99,"lower":0,"upper":1,"statement":"` + record.Statement + `"}`, "p_lower: "},
		{clbp, `"p_upper":1`, `"p_upper":1,"statistical":{"samples":8388608,"safe":4194304,"unsafe":4194304,"confidence":0.99,"lower":0.9999,"upper":1,"statement":"` + record.Statement + `"}`, "statistical: "},
		{clbp, `"proof":{`, `"proof":{"boxes":[` + strings.Repeat("0,", 300) + `0],`, "proof: boxes"},
		{clbp, `"log10_p_lower":-[^,]*`, `"log10_p_lower":-1000`, "log10_p_lower: "},
		{clbp, `"eps":`, `"eps_sha256":null,"eps":`, "eps_sha256: it is null"},
		{clbp, `"seed":0,`, ``, "seed: it is missing"},
	} {
		v, err := c.Check(t.Context(), changed(t, k.line, k.from, k.with), false)
		if err != nil || v.Refused == nil || !strings.HasPrefix(v.Refused.Error(), k.want) {
			t.Errorf("%.80s instead of %s: %v, want %q", k.with, k.from, v.Refused, k.want)
		}
	}
}
