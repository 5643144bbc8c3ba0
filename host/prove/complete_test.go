package prove

import (
	"strings"
	"testing"
)

// A run whose work comes back without a result for every task is an error: records that are
// silently missing would pass for a complete file.
func TestComplete(t *testing.T) {
	for _, k := range []struct {
		emitted, tasks int
		want           string
	}{{0, 0, ""}, {3, 3, ""}, {2, 3, "2 of 3 tasks have a result"}, {4, 3, "4 of 3 tasks"}} {
		err := complete(k.emitted, k.tasks)
		if (err == nil) != (k.want == "") || err != nil && !strings.Contains(err.Error(), k.want) {
			t.Errorf("%d of %d: %v", k.emitted, k.tasks, err)
		}
	}
}
