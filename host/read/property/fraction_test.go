package property

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestFractionTight: a fraction is enclosed in the two nearest float64, and NewExact holds
// it as it is.
func TestFractionTight(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 4))
	texts := []string{"8/255", "1/3", "-2/3", "0/7", "1/1e-300", "1e-400/3", "1e400/1e399", "5e-324/2", "0.1/0.3", "1/1024", "3/8e-400", "+1/2."}
	for range 3000 {
		texts = append(texts, fmt.Sprintf("%d.%de%d/%d", r.IntN(2000)-1000, r.IntN(100), r.IntN(20)-10, 1+r.IntN(1000)))
	}
	for _, text := range texts {
		want := ratOf(text[:len(text)-len(afterStroke(text))-1])
		want.Quo(want, ratOf(afterStroke(text)))
		d, err := NewDecimal(text)
		if text == "3/8e-400" {
			wantError(t, err, "beyond the range")
		} else if err != nil {
			t.Fatalf("%s: %v", text, err)
		} else {
			tight(t, text, d.Lo, d.Hi, want)
		}
		e, err := NewExact(text)
		if err != nil || e.Rat().Cmp(want) != 0 {
			t.Fatalf("%s is %v, %v", text, e, err)
		}
		var again Exact
		line, err := json.Marshal(e)
		if err == nil {
			err = json.Unmarshal(line, &again)
		}
		if err != nil || again.Cmp(e) != 0 || again.String() != e.String() {
			t.Errorf("%s is written %s and read %v, %v", text, line, again, err)
		}
	}
}

func afterStroke(text string) string {
	for i := range text {
		if text[i] == '/' {
			return text[i+1:]
		}
	}
	return ""
}

func TestFractionText(t *testing.T) {
	for text, want := range map[string]string{"9/10": "0.9", "2/6": "1/3", "-4/6": "-2/3", "6/3": "2", "1/1e-30": "1e+30", "0/3": "0", "1e-400/1e300": MustExact("1/1e300").String()} {
		e, err := NewExact(text)
		if text == "1e-400/1e300" { // fewer places than it takes, and yet no more than there are
			want = "1e-700"
		}
		if err != nil || e.String() != want {
			t.Errorf("%s is %v, %v: want %s", text, e, err, want)
		}
	}
}

func TestFractionRefuses(t *testing.T) {
	for text, want := range map[string]string{"1/0": "divides by zero", "1/-2": "sign behind the stroke", "1/2/3": "not a decimal", "/2": "not a decimal",
		"1/": "not a decimal", "1 / 2": "not a decimal", "1e401/2": "exponent", "1/0.0e5": "divides by zero"} {
		_, err := NewDecimal(text)
		wantError(t, err, want, `"`)
		_, err = NewExact(text)
		wantError(t, err, want)
	}
	var e Exact
	for _, text := range []string{`"0.5"`, `"1/0"`, `"`, `""`, `"/"`, `1/2`} {
		if err := json.Unmarshal([]byte(text), &e); err == nil {
			t.Errorf("%s is read as %v", text, e)
		}
	}
}

// TestFractionsInFiles: property files and short forms take fractions, as text.
func TestFractionsInFiles(t *testing.T) {
	tasks, err := parseTasks([]byte(one(`"kind": "rows", "safe": {"row": ["1/3", 1], "offset": "-1/7"}, "boxes": [[["-1/3", "8/255"]]]`)), 2)
	if err != nil {
		t.Fatal(err)
	}
	k := tasks[0]
	tight(t, "coefficient", k.S.Rows[0].CLo[0], k.S.Rows[0].CHi[0], big.NewRat(1, 3))
	tight(t, "offset", k.S.Rows[0].D, k.S.Rows[0].DHi, big.NewRat(-1, 7))
	tight(t, "lower end", k.T[0].Lo[0], k.Inner[0].Lo[0], big.NewRat(-1, 3))
	tight(t, "upper end", k.Inner[0].Hi[0], k.T[0].Hi[0], big.NewRat(8, 255))
	_, err = parseTasks([]byte(one(`"kind": "argmax_is", "class": 0, "boxes": [[["1/3", "0.3"]]]`)), 2)
	wantError(t, err, `found the text "0.3"`)
	_, err = parseTasks([]byte(one(`"kind": "argmax_is", "class": 0, "boxes": [[["1/3", 0.3]]]`)), 2)
	wantError(t, err, `"1/3" is above`)
	s, _, err := ParseSpec("output_box:[-1/3,2/3]", 1)
	if err != nil {
		t.Fatal(err)
	}
	tight(t, "lower bound", s.Rows[0].D, s.Rows[0].DHi, big.NewRat(1, 3))
	// Between the same two float64: only exact numbers tell which is larger.
	if _, _, err = ParseSpec("output_box:[0.33333333333333333334,1/3]", 1); err == nil {
		t.Error("0.33333333333333333334 is taken for no more than 1/3")
	}
}
