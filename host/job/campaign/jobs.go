package campaign

import (
	"fmt"
	"slices"
	"strings"
)

// Jobs returns how many jobs the file asks for: all combinations of an entry of each list.
func (s *Spec) Jobs() int {
	n := 1
	for _, list := range s.axes {
		n *= max(1, len(list))
	}
	return n
}

// items are the entries of job number i; a list that is not given has none.
func (s *Spec) items(i int) []item {
	var items []item
	for a := len(axes) - 1; a >= 0; a-- {
		if n := len(s.axes[a]); n > 0 {
			items = append([]item{s.axes[a][i%n]}, items...)
			i /= n
		}
	}
	return items
}

// Args are the flags of psafe certify of job number i. What goes with an entry counts more
// than what goes with all jobs.
func (s *Spec) Args(i int) []string {
	var settings []setting
	for _, it := range s.items(i) {
		settings = append(settings, it.settings...)
	}
	for _, c := range s.common {
		if common(settings, []setting{c}) == "" {
			settings = append(settings, c)
		}
	}
	return args(settings)
}

// args are settings as words of a command line.
func args(settings []setting) []string {
	var words []string
	for _, s := range settings {
		switch {
		case s.flag.Switch:
			words = append(words, "--"+s.flag.Name+"="+s.value)
		default:
			words = append(words, "--"+s.flag.Name, s.value)
		}
	}
	return words
}

// inWords are words of a command line, --NAME VALUE or --NAME=VALUE, with each flag and its value as
// words gives them.
func inWords(args []string, words func(flag, value string) (string, string)) []string {
	list := slices.Clone(args)
	for i := 0; i < len(list); i++ {
		text, flag := strings.CutPrefix(list[i], "--")
		name, value, joined := strings.Cut(text, "=")
		switch {
		case !flag:
		case joined:
			name, value = words(name, value)
			list[i] = "--" + name + "=" + value
		case i+1 < len(list):
			name, list[i+1] = words(name, list[i+1])
			list[i] = "--" + name
			i++
		}
	}
	return list
}

// name returns what an item is called in messages.
func (it item) name() string {
	return fmt.Sprintf("%s %.60s", it.settings[0].flag.Name, it.settings[0].value)
}

// place names job number i in messages.
func (s *Spec) place(i int) string { return fmt.Sprintf("%s: job %d (%s)", s.Path, i, s.words(i)) }

// words returns which entries job number i has.
func (s *Spec) words(i int) string {
	var words []string
	for _, it := range s.items(i) {
		words = append(words, fmt.Sprintf("%s of line %d", it.name(), it.line))
	}
	return strings.Join(words, ", ")
}
