package nearest

import "testing"

func TestWord(t *testing.T) {
	commands := []string{"certify", "check", "inspect", "convert", "devices", "crosscheck", "bench", "plot", "paper", "train"}
	for word, want := range map[string]string{
		"certfy": "certify", "certifiy": "certify", "ceritfy": "certify", "Certify": "certify", "inspct": "inspect", "device": "devices",
		"chekc": "check", "trian": "train", "conv": "convert", "c": "", "": "", "frobnicate": "", "xx": "",
		"certifycertifycertifycertifycertifycertify": "",
	} {
		if got := Word(word, commands); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	for word, want := range map[string]string{"eps": "eps", "ep": "eps", "epsilon": "", "fail_under": "fail-under", "inputs-scale": "input-scale"} {
		if got := Word(word, []string{"eps", "clip", "inputs", "input-scale", "fail-under"}); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := Hint("rleu", []string{"relu", "tanh"}); got != `; did you mean "relu"?` {
		t.Error(got)
	}
	if got := Hint("zzz", []string{"relu", "tanh"}); got != "" {
		t.Error(got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		d    int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.d || distance(c.b, c.a) != c.d {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, got, c.d)
		}
	}
}
