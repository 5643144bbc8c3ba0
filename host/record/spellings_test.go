package record

import "testing"

// TestSpellings: each word of the list is recorded as it was first called, and read back; the other
// words, and the same words elsewhere, stay as they are.
func TestSpellings(t *testing.T) {
	for _, c := range [][4]string{ // a flag and its value today, and as recorded
		{"draws", "100", "samples", "100"},
		{"method", "finite", "method", "samples"},
	} {
		if flag, value := Recorded(c[0], c[1]); flag != c[2] || value != c[3] {
			t.Errorf("Recorded(%q, %q) is %q, %q", c[0], c[1], flag, value)
		}
		for _, of := range [][2]string{{c[0], c[1]}, {c[2], c[3]}} {
			if flag, value := Today(of[0], of[1]); flag != c[0] || value != c[1] {
				t.Errorf("Today(%q, %q) is %q, %q", of[0], of[1], flag, value)
			}
		}
	}
	for _, c := range [][2]string{
		{"method", "auto"}, {"method", "sampled"}, {"method", "drawn"}, {"precision", "samples"}, {"property", "finite"}, {"gamma", "1"},
		{"posterior", "samples"}, {"label-column", "finite"}, {"property", "drawn"}, {"inputs", "sampled"}, {"", ""}, {"method", ""},
	} {
		for name, words := range map[string]func(string, string) (string, string){"Recorded": Recorded, "Today": Today} {
			if flag, value := words(c[0], c[1]); flag != c[0] || value != c[1] {
				t.Errorf("%s(%q, %q) is %q, %q", name, c[0], c[1], flag, value)
			}
		}
	}
	if len(spellings) != 2 {
		t.Errorf("%d spellings, and this test knows 2", len(spellings))
	}
}
