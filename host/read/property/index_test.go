package property

import (
	"slices"
	"testing"
)

func TestParseIndex(t *testing.T) {
	for text, want := range map[string][]int{
		":": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "0:3": {0, 1, 2}, "7:": {7, 8, 9}, ":2": {0, 1}, "9": {9}, "0:10": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		"1,5,8:10": {1, 5, 8, 9}, "5, 1": {5, 1}, " 3 ": {3}, "007": {7},
	} {
		if got, err := ParseIndex(text, 10, "point"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "not the number"}, {"a", "not the number"}, {"-1", "not the number"}, {"-3:2", "not the number"}, {"1:-1", "not the number"},
		{"+1", "not the number"}, {"1:2:3", "not the number"}, {"1,,2", "not the number"}, {"1,", "not the number"}, {"1.0", "not the number"},
		{"99999999999999999999", "not the number"},
		{"10", "not among the 10"}, {"0:11", "beyond the 10"}, {"11:", "reversed"}, {"5:3", "reversed"}, {"5:5", "empty"}, {"10:", "empty"}, {":0", "empty"},
		{"1,1", "point 1 is listed twice"}, {"0:5,3:7", "point 3 is listed twice"},
	} {
		_, err := ParseIndex(c.text, 10, "point")
		wantError(t, err, c.want, quote(c.text))
	}
	_, err := ParseIndex("0:9", 4, "property")
	wantError(t, err, `range "0:9" ends beyond the 4 properties; end it at 4`)
	_, err = ParseIndex(":", 0, "point")
	wantError(t, err, "empty")
	wantPanic(t, func() { _, _ = ParseIndex(":", -1, "point") }, "-1")
}

func FuzzParseIndex(f *testing.F) {
	for _, s := range []string{":", "1,5,9:12", "-1", "5:3"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = max(0, min(n, 1000))
		got, err := ParseIndex(text, n, "point")
		if err != nil {
			wantError(t, err)
			return
		}
		seen := map[int]bool{}
		for _, i := range got {
			if i < 0 || i >= n || seen[i] {
				t.Fatalf("%q of %d: %v", text, n, got)
			}
			seen[i] = true
		}
		if len(got) == 0 {
			t.Fatalf("%q of %d chooses nothing", text, n)
		}
	})
}
