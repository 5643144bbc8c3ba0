package campaign

import (
	"os"
	"strings"
	"testing"
)

// TestVanished: files that get their last name, or go, while they are looked for are no error.
func TestVanished(t *testing.T) {
	want := single(t, fakeJobs)
	f := fakeCampaign(t, fakeJobs)
	putAttempt(t, f, wordA, want, Span{0, 5}, nil)
	renamed := putAttempt(t, f, wordC, want, Span{5, 10}, nil)
	gone := putAttempt(t, f, "dddddddddddd.jsonl.partial", want, Span{20, 25}, nil)
	var seen []int
	err := f.eachTask(Span{0, f.Tasks}, nil, func(task *Task, found []*cursor) error {
		if task.Task == 0 { // the list has been made, and only the first file is open
			if err := os.Remove(gone); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(renamed, strings.TrimSuffix(renamed, ".partial")); err != nil {
				t.Fatal(err)
			}
		}
		if len(found) > 0 {
			seen = append(seen, task.Task)
		}
		return nil
	})
	if err != nil || len(seen) != 10 || seen[9] != 9 {
		t.Errorf("%v, %v", seen, err)
	}
}
