package check

import (
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// TestContradictions: records of which every field may be as it is, but not together, are refused,
// each with a line that begins with a field.
func TestContradictions(t *testing.T) {
	of := func(posterior, inputs, eps, property string, m certify.Method) []byte {
		j := file(posterior, "", m, bound.Float32)
		j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", inputs), Index: new("0"), Eps: eps, Property: property}}
		return written(t, j)[0]
	}
	lbp := func(m certify.Method) certify.Method { m.By = new(prove.LBP); return m }
	boxes := certify.Method{Draws: new(60), Gamma: new(0.5), Depth: new(2)}
	const product, tanh = "two-weights-product.npz", "tiny-2-3-2-tanh.npz"
	sampled := of(product, "points.csv", "0.1", "output_box:[-0.5,2]", lbp(boxes))
	none := of(product, "points.csv", "9", "output_box:[-0.1,0.1]", lbp(boxes))
	noise := of(tanh, "pairs.csv", "0.02", property.KeepsClass, certify.Method{By: new(prove.CLBP), Cells: new(4), Draws: new(20), Confidence: new(0.9), Derived: true, NoUpper: true})
	nothing := of(tanh, "pairs.csv", "50", "argmax_is:0", certify.Method{NoUpper: true})
	upper := of(tanh, "pairs.csv", "0.02", "argmax_is:1", certify.Method{By: new(prove.NeuronSum)})
	finite := of("samples-2-8-3.npz", "pairs.csv", "0.02", "argmax_is:2", certify.Method{})
	drawn := of("samples-2-8-3.npz", "pairs.csv", "0.02", property.KeepsClass, certify.Method{By: new(prove.Statistical), Draws: new(20)})
	var c Checker
	for _, line := range [][]byte{sampled, none, noise, nothing, upper, finite, drawn} {
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
			t.Fatalf("%v %v: %s", err, v.Refused, line)
		}
	}
	for _, k := range []struct {
		line    []byte
		changes string // expressions and what they become, each on a line
		want    string
	}{
		{none, `"margin":[^,]*` + "\n" + `"margin":0.5`, "margin: "},
		{none, `"margin":[^,]*` + "\n" + `"margin":0`, "margin: "},
		{none, `"safe_boxes":0` + "\n" + `"safe_boxes":3`, "safe_boxes: "},
		{none, `"safe_boxes":0` + "\n" + `"safe_boxes":3` + "\n" + `"margin":` + "\n" + `"rule":"none","margin":`, "margin: "},
		{none, `"margin":` + "\n" + `"rule":"chain","margin":`, "rule: "},
		{none, `"gamma":[^,]*,` + "\n", "gamma: "},
		{none, `"gamma":([^,]*),` + "\n" + `"gamma":[$1,1],`, "cannot unmarshal array into Go struct field Record.gamma"},
		{none, `--samples 60` + "\n" + `--samples 61`, "samples: "},
		{none, `--gamma 0.5` + "\n" + `--gamma 0.25`, "flags: "},
		{sampled, `"margin":` + "\n" + `"margin":-`, "margin: "},
		{sampled, `"rule":"[^"]*"` + "\n" + `"rule":"largest box"`, "p_lower: "},
		{sampled, `"rule":"[^"]*"` + "\n" + `"rule":"one box"`, "rule: "},
		{sampled, `"rule":"[^"]*"` + "\n" + `"rule":"none"`, "rule: "},
		{sampled, `"safe_boxes":\d+` + "\n" + `"safe_boxes":1`, "safe_boxes: "},
		{sampled, `"samples"` + "\n" + `"boxes":"sampled","samples"`, `"boxes": a field that this program does not know: check the record with the version that it names`},
		{sampled, `--depth 2` + "\n" + `--cells 3 --depth 2`, "flags: "},
		{sampled, `--depth 2` + "\n" + `--depth 0`, "flags: "},
		{sampled, `--depth 2` + "\n" + `--depth 2 --depth 2`, "flags: "},
		{sampled, `--depth 2` + "\n" + `--depth 2 --time-limit 1s`, "flags: "},
		{sampled, `--depth 2` + "\n" + `--depth 2 --uniform`, "flags: "},
		{sampled, `"boxes_tried"` + "\n" + `"cells":3,"boxes_tried"`, "cells: "},
		{sampled, `"log10_p_lower":[^,]*` + "\n" + `"log10_p_lower":-9`, "log10_p_lower: "},
		{sampled, `"log10_ceiling":[^,]*` + "\n" + `"log10_ceiling":0.5`, "log10_ceiling: "},
		{upper, `"p_upper":[^,]*,` + "\n" + `"p_upper":1,` + "\n" + `"verdict":"\w+"` + "\n" + `"verdict":"unknown"`, "proof: upper"},
		{noise, `"cells":\d` + "\n" + `"cells":5`, "cells: "},
		{noise, `"tau":[^,[]+,` + "\n" + `"tau":0.5,`, "tau: "},
		{noise, ` --derived` + "\n", "flags: "},
		{noise, `"derived":{[^}]*},` + "\n", "flags: "},
		{noise, `"inf_prob_upper":1` + "\n" + `"inf_prob_upper":0.5`, "derived: "},
		{noise, `--confidence 0.9` + "\n" + `--confidence 0.8`, "statistical: "},
		{noise, ` --confidence 0.9` + "\n", "statistical: "},
		{noise, `--samples 20` + "\n" + `--samples 21`, "statistical: "},
		{noise, `"statistical":{[^}]*},` + "\n", "statistical: "},
		{noise, `--no-upper` + "\n" + `--no-upper --require 0.9`, "flags: "},
		{noise, `--no-upper` + "\n" + `--no-upper --precision float32`, "flags: "},
		{noise, `--no-upper` + "\n" + `--no-upper --time-limit soon`, "flags: "},
		{nothing, `"cells":\d+` + "\n" + `"cells":0`, "cells: "},
		{nothing, `"cells":1` + "\n" + `"cells":1,"tau":2`, "tau: "},
		{nothing, `"seed":0` + "\n" + `"seed":5`, "seed: "},
		{nothing, `"method":"clbp"` + "\n" + `"method":"neuronsum"` + "\n" + `"precision":"float32"` + "\n" + `"precision":"float64"`, "flags: "},
		{nothing, `"method":"clbp"` + "\n" + `"method":"neuronsum"`, "precision: "},
		{nothing, `--no-upper` + "\n" + `--cells 1 --no-upper` + "\n" + `"cells":\d+` + "\n" + `"cells":7`, "cells: "},
		{upper, `--method neuronsum` + "\n" + `--method neuronsum --no-upper`, "flags: "},
		{upper, `"upper":{"method":"neuronsum"` + "\n" + `"upper":{"method":"samples"`, "proof: upper: "},
		{upper, `"tau":0,|"witness"` + "\n" + `"tau":0.001,"witness"`, "proof: upper: tau"},
		{finite, `"safe_samples":\d+` + "\n" + `"safe_samples":1`, "p_lower: "},
		{finite, `"unsafe_samples":\d+` + "\n" + `"unsafe_samples":12`, "safe_samples: "},
		{finite, `"samples":12` + "\n" + `"samples":13`, "samples: "},
		{drawn, `"method":"statistical"` + "\n" + `"method":"clbp","cells":1` + "\n" + `--method statistical` + "\n" + `--method clbp`, "method: "},
		{drawn, `"method":"statistical"` + "\n" + `"method":"lbp","gamma":1,"samples":20,"boxes_tried":20,"safe_boxes":0` + "\n" + `"statistical":{[^}]*},` + "\n" + `` + "\n" + `--method statistical` + "\n" + `--method lbp`, "method: "},
		{drawn, `"confidence":0.99,"lower":[^,]*,"upper":[^,]*` + "\n" + `"confidence":0.5,"lower":0,"upper":1`, "statistical: "},
	} {
		line := k.line
		for changes := strings.Split(k.changes, "\n"); len(changes) > 1; changes = changes[2:] {
			line = changed(t, line, changes[0], changes[1])
		}
		v, err := c.Check(t.Context(), line, false)
		switch {
		case err != nil:
			t.Fatal(err)
		case (k.want == "") != (v.Refused == nil) || v.Refused != nil && (!strings.HasPrefix(v.Refused.Error(), k.want) || strings.Contains(v.Refused.Error(), "\n")):
			t.Errorf("%q: %v, want %q\n%s", k.changes, v.Refused, k.want, line)
		}
	}
}
