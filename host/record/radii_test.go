package record

import "testing"

// TestRadii: of each input the largest certified radius counts and the smallest refuted one, of the
// decision where there is one; other questions are other inputs.
func TestRadii(t *testing.T) {
	of := func(index int, eps, verdict string, decision string) *Record {
		r := &Record{Index: index, Eps: eps, Verdict: verdict}
		if decision != "" {
			r.Decision = &Decision{Verdict: decision}
		}
		return r
	}
	var s Radii
	for _, r := range []*Record{
		of(0, "0.1", "safe", ""), of(0, "0.3", "unsafe", ""), of(0, "0.2", "safe", ""), of(0, "0.05", "safe", ""), of(0, "0.4", "unsafe", ""), of(0, "0.25", "unknown", ""),
		of(1, "0.1", "unknown", ""),
		of(2, "0.1", "safe", DecisionUnsafe), of(2, "0.05", "unsafe", DecisionSafe),
		of(3, "[0.1,0.2]", "safe", ""), of(3, "", "safe", ""),
	} {
		s.Add(r)
	}
	want := []RadiusEnds{{0.2, 0.3, true, true}, {}, {0.05, 0.1, true, true}}
	got := s.List()
	if len(got) != len(want) || s.Skipped != 2 {
		t.Fatalf("%+v, %d skipped", got, s.Skipped)
	}
	for i, e := range got {
		if e != want[i] {
			t.Errorf("input %d: %+v, want %+v", i, e, want[i])
		}
	}
	ball := of(0, "0.5", "safe", "")
	ball.Norm = "2"
	if s.Add(ball); len(s.List()) != 4 {
		t.Errorf("a ball is not told from a box: %+v", s.List())
	}
}
