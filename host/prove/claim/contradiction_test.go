package claim

import (
	"math"
	"strings"
	"testing"

	"psafe/host/read/property"
)

// TestContradiction: which numbers of a result cannot all be true.
func TestContradiction(t *testing.T) {
	statistic := func(safe, unsafe, n int) *Statistic { return NewStatistic(n, safe, unsafe, 0.99) }
	for _, c := range []struct {
		name string
		r    Result
		want string
	}{
		{"nothing known", Result{LogP: math.Inf(-1)}, ""},
		{"bounds", Result{LogP: math.Log(0.2), UnsafeDown: 0.7}, ""},
		{"equal bounds of a finite set", Result{LogP: math.Inf(-1), PLower: 0.25, UnsafeDown: 0.75}, ""},
		{"lower above upper", Result{LogP: math.Log(0.31), UnsafeDown: 0.7}, "p_lower 0.31 is above p_upper 0.3"},
		{"not a number", Result{LogP: math.Inf(-1), PLower: math.NaN()}, "p_lower NaN is above the probability 1"},
		{"an upper bound that is none", Result{LogP: math.Inf(-1), UnsafeDown: 2}, "the probability 0 is above p_upper -1"},
		{"drawn networks agree", Result{LogP: math.Log(0.9), UnsafeDown: 0.01, Statistic: statistic(80, 15, 100)}, ""},
		{"all fail, little proved", Result{LogP: math.Log(0.19), Statistic: statistic(0, 100, 100)}, ""},
		{"all fail", Result{LogP: math.Log(0.21), Statistic: statistic(0, 100, 100)}, "p_lower 0.21 is above the limit of drawn networks at confidence 1 - 1e-9, 0.192784114"},
		{"none fails", Result{LogP: math.Inf(-1), UnsafeDown: 0.21, Statistic: statistic(100, 0, 100)}, "the limit of drawn networks at confidence 1 - 1e-9, 0.807215886 is above p_upper 0.79"},
		{"none decided", Result{LogP: 0, Statistic: statistic(0, 0, 100)}, ""},
	} {
		c.r.Task = &property.Task{Index: 7, Name: "a\nname"}
		got := Contradicts(&c.r)
		switch {
		case c.want == "" && got != nil:
			t.Errorf("%s: %v", c.name, got)
		case c.want != "" && (got == nil || !strings.Contains(got.Error(), c.want) || !strings.HasPrefix(got.Error(), `bounds of index 7 ("a\nname") contradict each other: `)):
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
}
