package run

import (
	"strings"
	"testing"

	"psafe/host/property"
)

// Properties that leave the class open take that of the mean network or of --label, and
// records have it; points of one class share their safe set.
func TestOpenClasses(t *testing.T) {
	post, err := digits().Posterior.Read()
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		property.KeepsClass: "argmax_is:3", "top_k:2": "top_k:2:3", "margin:0.5": "margin:0.5:3", "class_change_only:5,8": "class_change_only:5,8:3",
	} {
		for _, label := range []string{"", "3"} {
			points := digits().Tasks.Points
			points.Property, points.Label, points.Index = words, label, new("3,13")
			list, err := (&Tasks{Points: points}).load(post)
			if err != nil {
				t.Fatalf("%s: %v", words, err)
			}
			a, b := &list.tasks[0], &list.tasks[1]
			if got := list.property(a); got != want || a.Label != 3 {
				t.Errorf("%s, label %q: %s, %d", words, label, got, a.Label)
			}
			if a.Label != b.Label || &a.S.Rows[0] != &b.S.Rows[0] {
				t.Errorf("%s: classes %d and %d do not share their rows", words, a.Label, b.Label)
			}
			again, class, err := property.ParseSpec(list.property(a), post.Outputs())
			if err != nil || class != a.Label || len(again.Rows) != len(a.S.Rows) || len(again.Any) != len(a.S.Any) {
				t.Errorf("%s: read again: %v", words, err)
			}
		}
	}
	for words, want := range map[string]string{
		"argmax_is:3": "--label cannot be combined with --property argmax_is:3", "argmax_in:1,2": "leaves no class open",
		"top_k:10": `property "top_k:10:3"`, "margin:x": "not a decimal", "class_change_only:0,1,2,4,5,6,7,8,9": "holds always",
	} {
		points := digits().Tasks.Points
		points.Property, points.Label = words, "3"
		if _, err := (&Tasks{Points: points}).load(post); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
	}
}
