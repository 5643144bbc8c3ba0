package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Gaps says, in one line for each run of which records are missing or there more than once,
// which tasks those are. Records may come from several files.
func Gaps(records []Placed) []string {
	type run struct {
		id    string
		tasks int
	}
	first, counts := map[run]string{}, map[run]map[int]int{}
	var order []run
	for _, r := range records {
		key := run{r.Run, r.Tasks}
		if counts[key] == nil {
			first[key], counts[key], order = r.File, map[int]int{}, append(order, key)
		}
		counts[key][r.Task]++
	}
	var lines []string
	for _, key := range order {
		var missing, twice []span
		next := 0
		for _, task := range slices.Sorted(maps.Keys(counts[key])) {
			missing = add(missing, next, task-1)
			if counts[key][task] > 1 {
				twice = add(twice, task, task)
			}
			next = task + 1
		}
		missing = add(missing, next, key.tasks-1)
		for what, spans := range map[string][]span{"missing": missing, "there more than once": twice} {
			if len(spans) > 0 {
				lines = append(lines, fmt.Sprintf("%s: of the %d tasks of a run, counted from 0, these are %s: %s", first[key], key.tasks, what, list(spans)))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// span is the tasks from first to last.
type span struct{ first, last int }

// add appends the tasks from first to last, if there are any.
func add(spans []span, first, last int) []span {
	if n := len(spans); n > 0 && spans[n-1].last == first-1 && first <= last {
		spans[n-1].last = last
		return spans
	}
	if first <= last {
		spans = append(spans, span{first, last})
	}
	return spans
}

// list writes a dozen spans at most.
func list(spans []span) string {
	var words []string
	for _, s := range spans {
		switch {
		case len(words) == 12:
			return strings.Join(append(words, "..."), ", ")
		case s.first == s.last:
			words = append(words, fmt.Sprint(s.first))
		default:
			words = append(words, fmt.Sprintf("%d-%d", s.first, s.last))
		}
	}
	return strings.Join(words, ", ")
}
