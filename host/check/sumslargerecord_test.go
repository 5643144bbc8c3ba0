package check

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"psafe/host/check/cases"
	"psafe/host/check/sums"
	net "psafe/host/model/network"
	"psafe/internal/testscale"
)

// TestCheckLarge: records that split off large neurons pass if they claim a little less than is
// proved with that; what is split off otherwise only names another sum, and what does not fit is
// refused.
func TestCheckLarge(t *testing.T) {
	const boxes = `[[[-1, 1], [-0.5, 1]], [[2, 2], [0.5, 0.5]]]`
	// Neuron 0 is active everywhere, and what class 0 has of it varies much.
	post := gridPosterior(net.Activation{Kind: net.ReLU})
	l := post.Layers
	for j, at := range l[0].Dense().Into(0) {
		l[0].Weight.Mean[at] = 0.1 * float64(j)
	}
	l[0].Bias.Mean[0] = 2
	for class, at := range l[1].Dense().From(0) {
		if w := &l[1].Weight; class == 0 {
			w.Mean[at], w.Spread[at], w.SdLo[at], w.SdHi[at] = 0, 0.6, 0.6, 0.6
		}
	}
	line, post, task := gridQuestionOf(t, post, boxes)
	const grids, mixtures, points = `"grids":[[[0],[]],[[],[]]]`, `"mixtures":[[0.5,0.5]]`, 6 + 1
	s, err := cases.Mixed(&task.S, [][]float64{{0.5, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := sums.New(post)
	if err != nil {
		t.Fatal(err)
	}
	all, err := sums.Grids(task.T, [][][]float64{{{0}, {}}, {{}, {}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	off := &sums.Large{At: []float64{0.3, 0.3}, Above: 2.5}
	fails := func(large [][]*sums.Large) float64 {
		fail, err := n.GridsFailUp(t.Context(), all, s.Rows[len(s.Rows)-1:], large, anyFail)
		if err != nil {
			t.Fatal(err)
		}
		return fail
	}
	without, with := fails(nil), fails([][]*sums.Large{{off}, {nil}})
	other := fails([][]*sums.Large{{nil}, {off}})
	t.Logf("fails with %v, %v with all, %v with the other box's", with, without, other)
	if !(with < 0.8*without && without < 0.97*other) {
		t.Fatal("the network is none for this test")
	}
	const entry = `{"at":[0.3,0.3],"above":2.5}`
	proof := func(large string) string { return grids + `,"large":` + large + "," + mixtures }
	good := 1 - with*1.01
	var c Checker
	for _, k := range []struct {
		p     float64
		proof string
		want  string // of the refusal, empty if it passes
	}{
		{good, proof("[[" + entry + "],[null]]"), ""},
		{1 - without*1.01, proof("[[null],[null]]"), ""},
		{1 - other*1.01, proof("[[null],[" + entry + "]]"), ""},
		{1 - with*0.99, proof("[[" + entry + "],[null]]"), "p_lower"},
		{good, grids + "," + mixtures, "p_lower"},
		{good, proof("null"), "large: it is null"},
		{good, proof("[[null],[null]]"), "p_lower"},
		{good, proof("[[null],[" + entry + "]]"), "p_lower"},
		// What is malformed is refused before anything is proved.
		{0.001, proof("[]"), "large: it is there and says nothing"},
		{0.001, proof("[[" + entry + "]]"), "large: there are 1 lists"},
		{0.001, proof("[[" + entry + "],[null],[null]]"), "large: there are 3 lists"},
		{0.001, proof("[[" + entry + "],[]]"), "large: box 1 has 0 entries, there are 1 mixtures"},
		{0.001, proof("[[" + entry + ",null],[null]]"), "large: box 0 has 2 entries"},
		{0.001, proof("[[" + entry + "],null]"), "large: box 1 has 0 entries"},
		{0.001, proof(`[[{"at":[1],"above":2}],[null]]`), "large: entry 0 of box 0 has 1 coordinates, the network has 2"},
		{0.001, proof(`[[{"at":[1,1,1],"above":2}],[null]]`), "has 3 coordinates"},
		{0.001, proof(`[[{"above":2}],[null]]`), "at: it is missing"},
		{0.001, proof(`[[{"at":[1,1]}],[null]]`), "above: it is missing"},
		{0.001, proof(`[[{"at":[0.3,0.3],"above":0}],[null]]`), "above 0"},
		{0.001, proof(`[[{"at":[0.3,0.3],"above":-2}],[null]]`), "above -2"},
		{0.001, proof(`[[{"at":[0.3,0.3],"above":null}],[null]]`), "above: it is null"},
		{0.001, proof(`[[{"at":[0.3,0.3],"above":1e999}],[null]]`), "1e999"},
		{0.001, proof(`[[{"at":[1,-1e999],"above":2}],[null]]`), "1e999"},
		{0.001, proof(`[[{"at":[1,NaN],"above":2}],[null]]`), "invalid"},
		{0.001, proof(`[[{"at":["1",1],"above":2}],[null]]`), "string"},
		{0.001, proof(`[[{"at":[0.3,0.3],"above":2,"below":3}],[null]]`), "below"},
		{0.001, proof(`[[{"at":[0.3,0.3],"above":2,"above":3}],[null]]`), "twice"},
		{0.001, proof(`[[{"at":[1,1],"Above":2}],[null]]`), "Above"},
		{0.001, proof(entry), "large"},
		{0.001, proof(strings.Repeat("[", 200) + strings.Repeat("]", 200)), "deep"},
		{0.001, proof("[" + strings.Repeat("[],", 5000) + "[]]"), "large: its length is 5001"},
		{0.001, grids + `,"large":[[` + entry + `],[null]]`, "proof: large: "},
		{0.001, `"large":[[` + entry + `],[null]],` + mixtures, "proof: large: "},
		{0.001, `"large":[]`, "proof: large: "},
		{0.001, `"cells":[-1,-1],"large":[[` + entry + `],[null]],` + mixtures, "proof: large: "},
	} {
		v, err := c.Check(t.Context(), withGrid(t, line, points, k.p, k.proof), false)
		switch {
		case err != nil:
			t.Errorf("%.99s: %v", k.proof, err)
		case k.want == "" && v.Refused != nil:
			t.Errorf("%v by %.99s is refused: %v", k.p, k.proof, v.Refused)
		case k.want != "" && (v.Refused == nil || !strings.Contains(v.Refused.Error(), k.want) || strings.Contains(v.Refused.Error(), "\n")):
			t.Errorf("%v by %.99s: %v, want %q", k.p, k.proof, v.Refused, k.want)
		}
	}
	// Another tau or point is another proof: of less.
	for _, entry := range testscale.Few(t, []string{`"at":[0.3,0.3],"above":1e-300`, `"at":[0.3,0.3],"above":0.3`, `"at":[0.3,0.3],"above":1e300`,
		`"at":[0.3,0.3],"above":100`, `"at":[1e300,1],"above":2`, `"at":[-4,-7],"above":2`}, 3) {
		v, err := c.Check(t.Context(), withGrid(t, line, points, good, proof("[[{"+entry+"}],[null]]")), false)
		if err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "p_lower") {
			t.Errorf("%s: %v %v", entry, err, v.Refused)
		}
	}
	// Other methods have none.
	for _, method := range []string{"clbp", "lbp", "statistical"} {
		text := bytes.Replace(withGrid(t, line, points, good, proof("[["+entry+"],[null]]")), []byte("neuronsum"), []byte(method), 2)
		if v, err := c.Check(t.Context(), resealed(text), false); err != nil || v.Refused == nil {
			t.Errorf("%s: %v %v", method, v.Refused, err)
		}
		text = bytes.Replace(withGrid(t, line, points, good, fmt.Sprintf(`"large":[[%s],[null]],%s`, entry, mixtures)), []byte("neuronsum"), []byte(method), 2)
		if v, err := c.Check(t.Context(), resealed(text), false); err != nil || v.Refused == nil {
			t.Errorf("%s: %v %v", method, v.Refused, err)
		}
	}
}
