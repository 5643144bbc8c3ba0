package testscale

import (
	"slices"
	"testing"
)

func TestCases(t *testing.T) {
	for _, c := range []struct {
		deep, night, factor string
		n, want             int
	}{
		{"", "", "", 1000, 100}, {"", "", "", 5, 1}, {"", "", "", 11, 2}, {"1", "", "", 1000, 1000}, {"", "1", "", 1000, 1000},
		{"1", "", "2.5", 1000, 2500}, {"", "", "0.5", 1000, 500},
	} {
		t.Setenv("PSAFE_DEEP", c.deep)
		t.Setenv("PSAFE_NIGHT", c.night)
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

func TestFew(t *testing.T) {
	list := []int{0, 1, 2, 3, 4, 5, 6}
	t.Setenv("PSAFE_DEEP", "")
	t.Setenv("PSAFE_NIGHT", "")
	if got := Few(list, 3); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("three of seven: %v", got)
	}
	if got := Few(list, 8); !slices.Equal(got, list) {
		t.Errorf("eight of seven: %v", got)
	}
	t.Setenv("PSAFE_DEEP", "1")
	if got := Few(list, 3); !slices.Equal(got, list) {
		t.Errorf("deep: %v", got)
	}
}

// TestLevels: what runs at night runs all that make deep does, and more.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		deep, night         string
		wantDeep, wantNight bool
	}{{"", "", false, false}, {"1", "", true, false}, {"", "1", true, true}, {"1", "1", true, true}} {
		t.Setenv("PSAFE_DEEP", c.deep)
		t.Setenv("PSAFE_NIGHT", c.night)
		if Deep() != c.wantDeep || Night() != c.wantNight {
			t.Errorf("%+v: deep %v, night %v", c, Deep(), Night())
		}
	}
}
