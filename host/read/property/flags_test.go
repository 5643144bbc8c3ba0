package property

import (
	"math/big"
	"reflect"
	"testing"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Safe{
		"argmax_is:2":         ArgmaxIs(2, 3),
		" argmax_is_never:0 ": ArgmaxIsNever(0, 3),
	} {
		s, label, err := ParseSpec(text, 3)
		if err != nil || !reflect.DeepEqual(s, want) || label != map[bool]int{true: 2, false: 0}[text[0] == 'a'] {
			t.Errorf("%q: %v, %d, %v", text, s, label, err)
		}
	}
	s, label, err := ParseSpec("output_box:[-1,2.5], [ null, +Inf ] ,[-INF,0.1]", 3)
	want := Safe{
		Rows: []Row{
			{CLo: []float64{1, 0, 0}, CHi: []float64{1, 0, 0}, D: 1, DHi: 1},
			{CLo: []float64{-1, 0, 0}, CHi: []float64{-1, 0, 0}, D: 2.5, DHi: 2.5},
			{CLo: []float64{0, 0, -1}, CHi: []float64{0, 0, -1}, D: down(0.1), DHi: 0.1},
		},
		Any: [][]int{{0, 1, 2}},
	}
	if err != nil || label != -1 || !reflect.DeepEqual(s, want) {
		t.Errorf("%v, %d, %v", s, label, err)
	}
}

// The float64 nearest to 0.1 is above it, that nearest to 0.3 below: an upper
// bound must move down in the first case and stay in the second.
func TestOutputBoxShrinks(t *testing.T) {
	for _, text := range []string{"0.1", "0.3", "-0.1", "-0.3", "1e-400", "-1e-400", "0", "7", "123456789.123456789"} {
		real, _ := new(big.Rat).SetString(text)
		s, _, err := ParseSpec("output_box:["+text+",]", 1)
		if err != nil {
			t.Fatal(err)
		}
		// y + D >= 0 means y >= -D: the stored bound must be >= the written one.
		if bound := exact(-s.Rows[0].D); bound.Cmp(real) < 0 {
			t.Errorf("lower bound %s grew to %v", text, -s.Rows[0].D)
		}
		s, _, err = ParseSpec("output_box:[,"+text+"]", 1)
		if err != nil {
			t.Fatal(err)
		}
		if exact(s.Rows[0].D).Cmp(real) > 0 {
			t.Errorf("upper bound %s grew to %v", text, s.Rows[0].D)
		}
	}
}

func TestParseSpecErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "not a property"}, {"argmax", "not a property"}, {"argmax_is", "not a property"}, {"keeps_class:1", "not a property"},
		{KeepsClass, "depends on the class of each input and cannot be used here; write argmax_is:CLASS"}, {"rows:1", "not a property"},
		{"top_k:2", "write top_k:2:CLASS"}, {"margin:0.5", "write margin:0.5:CLASS"}, {"top_k:0:1", "from 1 to 2"}, {"top_k:3:1", "from 1 to 2"},
		{"top_k:+2:1", "from 1 to 2"}, {"top_k:2:3", "not among the 3 outputs"}, {"top_k:2:", "not a class"}, {"top_k:2:1:1", "not a class"},
		{"margin::1", "not a decimal"}, {"margin:x:1", "not a decimal"}, {"margin:1/0:1", "divides by zero"}, {"margin:nan:1", "not a decimal"},
		{"margin:1:-1", "not a class"}, {"argmax_in:", "not a class"}, {"argmax_in:0,0", "there twice"}, {"argmax_in:0,1,2", "holds always"},
		{"argmax_in:1,3", "not among the 3 outputs"}, {"argmax_in:1:2", "not a class"}, {"class_change_only:1,2:0", "holds always"},
		{"class_change_only:1", "write class_change_only:1:CLASS"}, {"class_change_only::1", "not a class"},
		{"argmax_si:1", `did you mean "argmax_is"?`}, {"keep_class", `did you mean "keeps_class"?`}, {"topk:2", `did you mean "top_k"?`},
		{"argmax_is:", "not a class"}, {"argmax_is:x", "not a class"}, {"argmax_is:-1", "not a class"}, {"argmax_is:+1", "not a class"},
		{"argmax_is:1.0", "not a class"}, {"argmax_is:99999999999999999999", "not a class"},
		{"argmax_is:3", "not among the 3 outputs"}, {"argmax_is_never:3", "not among the 3 outputs"},
		{"output_box:", "output 0"}, {"output_box:[1,2]", "1 pairs of bounds for 3"}, {"output_box:[1,2],[1,2],[1,2],[1,2]", "4 pairs"},
		{"output_box:[1,2],", "output 1"}, {"output_box:[1,2][1,2]", "comma"}, {"output_box:[1,2],[1]", "output 1"},
		{"output_box:[1,2],1,2]", "output 1"}, {"output_box:[1,2],[3,x]", `output 1: "x"`}, {"output_box:[1,2,3]", `"2,3"`},
		{"output_box:[2,1],[,],[,]", "output 0: lower bound"}, {"output_box:[inf,],[,],[,]", `"inf"`}, {"output_box:[,-inf],[,],[,]", `"-inf"`},
		{"output_box:[+-inf,],[,],[,]", `"+-inf"`}, {"output_box:[nan,],[,],[,]", `"nan"`}, {"output_box:[1e999,],[,],[,]", "exponent"},
		{"output_box:[0.10000000000000000002,0.10000000000000000001],[,],[,]", "above upper bound"},
		{"a\nb", "not a property"},
	} {
		_, label, err := ParseSpec(c.text, 3)
		wantError(t, err, c.want, "property "+quote(c.text))
		if label != -1 {
			t.Errorf("%q: label %d", c.text, label)
		}
	}
	_, _, err := ParseSpec("argmax_is:0", 1)
	wantError(t, err, "at least 2 outputs")
	wantPanic(t, func() { _, _, _ = ParseSpec("argmax_is:0", 0) }, "0 outputs")
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"argmax_is:1", "argmax_is_never:0", "output_box:[-1,2.5],[,inf],[-inf,]", "output_box:[[,],]",
		"top_k:2:1", "margin:-1/3:0", "margin:0.1:2", "argmax_in:1,3", "class_change_only:1,2:0", "output_box:[null,0]"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, outputs int) {
		outputs = max(1, min(outputs, 20))
		s, label, err := ParseSpec(text, outputs)
		if err != nil {
			wantError(t, err)
			return
		}
		task := Task{Label: label, T: []Box{{Lo: []float64{0}, Hi: []float64{1}}}, S: s}
		if err := task.Check(1, outputs); err != nil {
			t.Fatal(err)
		}
	})
}
