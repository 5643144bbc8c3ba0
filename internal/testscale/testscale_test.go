package testscale

import (
	"slices"
	"strconv"
	"testing"
)

func TestCases(t *testing.T) {
	for _, c := range []struct {
		deep, factor string
		n, want      int
	}{
		{"", "", 1000, 100}, {"", "", 5, 1}, {"", "", 11, 2}, {"1", "", 1000, 1000}, {"1", "2.5", 1000, 2500}, {"", "0.5", 1000, 500},
	} {
		t.Setenv("PSAFE_DEEP", c.deep)
		t.Setenv("PSAFE_TEST_FACTOR", c.factor)
		if testing.Short() {
			c.want = (c.want + 4) / 5
		}
		if got := Cases(t, c.n); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestCostly(t *testing.T) {
	t.Setenv("PSAFE_TEST_FACTOR", "1")
	if testing.Short() {
		t.Setenv("PSAFE_TEST_FACTOR", "5")
	}
	for deep, want := range map[string]int{"": 4, "1": 10} {
		t.Setenv("PSAFE_DEEP", deep)
		if got := Costly(t, 10); got != want {
			t.Errorf("deep %q: %d of 10, want %d", deep, got, want)
		}
	}
}

func TestBy(t *testing.T) {
	for deep, want := range map[string]int{"": 3, "0": 3, "1": 1} {
		t.Setenv("PSAFE_DEEP", deep)
		if got := By(t, 3); got != want {
			t.Errorf("deep %q: divided by %d, want %d", deep, got, want)
		}
	}
}

func TestFew(t *testing.T) {
	list := []int{0, 1, 2, 3, 4, 5, 6}
	t.Setenv("PSAFE_DEEP", "")
	if got := Few(t, list, 3); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("three of seven: %v", got)
	}
	if got := Few(t, list, 8); !slices.Equal(got, list) {
		t.Errorf("eight of seven: %v", got)
	}
	t.Setenv("PSAFE_DEEP", "1")
	if got := Few(t, list, 3); !slices.Equal(got, list) {
		t.Errorf("deep: %v", got)
	}
}

// TestDrawn: a date draws some tests, others on another day, and never what only a night affords.
func TestDrawn(t *testing.T) {
	drawn := map[string]int{}
	for _, day := range []string{"2026-11-23", "2026-11-24"} {
		for i := range 600 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Setenv("PSAFE_DEEP", day)
				if Deep(t) {
					drawn[day]++
					drawn[t.Name()]++
				}
				if Night() {
					t.Error("a night")
				}
			})
		}
	}
	both := 0
	for _, n := range drawn {
		if n == 2 {
			both++
		}
	}
	if a, b := drawn["2026-11-23"], drawn["2026-11-24"]; min(a, b) < 60 || max(a, b) > 140 || both > 40 {
		t.Errorf("%d and %d of 600 drawn, %d of them on both days", a, b, both)
	}
	for text, want := range map[string]bool{"": false, "0": false, "1": true} {
		if t.Setenv("PSAFE_DEEP", text); Deep(t) != want || Night() != want {
			t.Errorf("%q: deep %v, night %v", text, Deep(t), Night())
		}
	}
}
