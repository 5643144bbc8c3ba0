package property

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
)

// holdsAt reports whether the logits, small whole numbers, are in S by the lower ends of its rows:
// exactly, since all numbers are whole or, of one kind, an offset of about a third.
func holdsAt(s *Safe, y []int) bool {
	rows := make([]float64, len(s.Rows))
	for r, row := range s.Rows {
		rows[r] = row.D
		for i, c := range row.CLo {
			rows[r] += c * float64(y[i])
		}
	}
	return s.Holds(rows)
}

// everyLogits calls with each vector of n whole numbers from 0 to 3: all orders of n up to 4
// outputs, with all ties, and many of 5.
func everyLogits(n int, each func(y []int)) {
	y := make([]int, n)
	for {
		each(y)
		i := 0
		for i < n && y[i] == 3 {
			y[i] = 0
			i++
		}
		if i == n {
			return
		}
		y[i]++
	}
}

// above counts the outputs that are above that of a class.
func above(y []int, class int) int {
	n := 0
	for _, v := range y {
		if v > y[class] {
			n++
		}
	}
	return n
}

// TestShortForms holds the safe sets to what the words say, at every order of small logits.
func TestShortForms(t *testing.T) {
	count := 0
	try := func(text string, n, wantLabel int, want func(y []int) bool) {
		t.Helper()
		s, label, err := ParseSpec(text, n)
		if err != nil || label != wantLabel {
			t.Fatalf("%s: label %d, %v", text, label, err)
		}
		if err := s.check(n); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		count++
		everyLogits(n, func(y []int) {
			if got := holdsAt(&s, y); got != want(y) {
				t.Fatalf("%s: at %v it is %v", text, y, got)
			}
		})
	}
	for n := 2; n <= 5; n++ {
		for c := range n {
			for k := 1; k < n; k++ {
				try(fmt.Sprintf("top_k:%d:%d", k, c), n, c, func(y []int) bool { return above(y, c) < k })
			}
			for m := -2; m <= 3; m++ {
				try(fmt.Sprintf("margin:%d:%d", m, c), n, c, func(y []int) bool {
					for j, v := range y {
						if j != c && y[c]-v < m {
							return false
						}
					}
					return true
				})
			}
			try(fmt.Sprintf("margin:1/3:%d", c), n, c, func(y []int) bool { return above(y, c) == 0 && !tied(y, c) })
		}
		for set := 1; set < 1<<n-1; set++ {
			var classes []int
			text := ""
			for c := range n {
				if set>>c&1 == 1 {
					classes = append(classes, c)
					text += fmt.Sprintf(",%d", c)
				}
			}
			in := func(y []int) bool {
				return slices.ContainsFunc(classes, func(c int) bool { return above(y, c) == 0 })
			}
			try("argmax_in:"+text[1:], n, -1, in)
			if len(classes) > 1 {
				try(fmt.Sprintf("class_change_only:%s:%d", text[3:], classes[0]), n, classes[0], in)
				try(fmt.Sprintf("class_change_only:%s:%d", text[1:], classes[0]), n, classes[0], in)
			}
		}
	}
	if count < 150 {
		t.Errorf("only %d properties", count)
	}
}

func tied(y []int, class int) bool {
	for j, v := range y {
		if j != class && v == y[class] {
			return true
		}
	}
	return false
}

// A margin that is no float64 is rounded up, its other end down.
func TestMarginShrinks(t *testing.T) {
	for _, text := range []string{"0.1", "0.3", "-0.1", "1/3", "2/7", "1e-400", "123456789.123456789", "0"} {
		real, _ := new(big.Rat).SetString(text)
		s, _, err := ParseSpec("margin:"+text+":1", 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range s.Rows {
			if exact(-row.D).Cmp(real) < 0 || exact(-row.DHi).Cmp(real) > 0 || row.D > row.DHi || row.D == 0 && 1/row.D < 0 {
				t.Errorf("margin %s: offset from %v to %v", text, row.D, row.DHi)
			}
		}
	}
}

func TestWithClass(t *testing.T) {
	for text, want := range map[string]string{
		KeepsClass: "argmax_is:2", " keeps_class ": "argmax_is:2", "top_k:2": "top_k:2:2", " margin:0.5 ": "margin:0.5:2", "class_change_only:1,3": "class_change_only:1,3:2",
	} {
		if !NeedsClass(text) || NeedsClass(want) || WithClass(text, 2) != want {
			t.Errorf("%q: %v, %q", text, NeedsClass(text), WithClass(text, 2))
		}
		if _, label, err := ParseSpec(WithClass(text, 2), 5); err != nil || label != 2 {
			t.Errorf("%q: label %d, %v", text, label, err)
		}
	}
	for _, text := range []string{"", "argmax_is:1", "argmax_in:1,2", "output_box:[0,]", "keeps_class:1", "top_k:2:1"} {
		if NeedsClass(text) {
			t.Errorf("%q needs a class", text)
		}
	}
	wantPanic(t, func() { WithClass("argmax_is:1", 1) }, "leaves no class open")
}

// Rows that no memory holds are refused before they are made, and nothing else is.
func TestShortFormsLimits(t *testing.T) {
	_, _, err := ParseSpec("top_k:2:0", 1<<20)
	wantError(t, err, "in rows of 1048576 coefficients", "GB of memory")
	for text, outputs := range map[string]int{"top_k:3:0": 100, "top_k:500:0": 1000, "top_k:50:7": 100, "top_k:97:0": 99, "top_k:2:9": 1000} {
		if s, _, err := ParseSpec(text, outputs); err != nil || len(s.Rows) != outputs-1 {
			t.Error(len(s.Rows), err)
		}
	}
	_, _, err = ParseSpec("top_k:1:0", 1)
	wantError(t, err, "at least 2 outputs")
}

// A property file may say a safe set in the same words.
func TestWordsInFile(t *testing.T) {
	path := write(t, "p.json", `{"properties": [
		{"kind": "rows", "safe": "top_k:2:1", "boxes": [[[0, 1]]]},
		{"kind": "argmax_is", "class": 1, "boxes": [[[0, 1]]]},
		{"kind": "rows", "safe": "top_k:2:1", "boxes": [[[0, 2]]]},
		{"kind": "rows", "safe": "argmax_in:0,2", "boxes": [[[0, 1]]]}]}`)
	tasks, err := ReadFile(path, 4)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := ParseSpec("top_k:2:1", 4)
	for i, label := range []int{1, 1, 1, -1} {
		if tasks[i].Label != label {
			t.Errorf("task %d: label %d", i, tasks[i].Label)
		}
	}
	if fmt.Sprint(tasks[0].S) != fmt.Sprint(want) || fmt.Sprint(tasks[2].S) != fmt.Sprint(want) {
		t.Errorf("%v", tasks[0].S)
	}
	for safe, say := range map[string]string{"top_k:2": "depends on the class", "argmax_is1": "not a property", "margin": "not a property"} {
		path := write(t, "p.json", `{"properties": [{"kind": "argmax_is", "class": 1, "boxes": [[[0, 1]]]},
			{"kind": "rows", "safe": "`+safe+`", "boxes": [[[0, 1]]]}]}`)
		_, err := ReadFile(path, 4)
		wantError(t, err, "line 2", "property 1", say)
	}
}
