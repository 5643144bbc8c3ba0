package campaign

import (
	"fmt"
	"regexp"
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
func (s *Spec) Args(i int) []string { return args(s.settings(i)) }

// settings returns the settings of job number i.
func (s *Spec) settings(i int) []setting {
	var settings []setting
	for _, it := range s.items(i) {
		settings = append(settings, it.settings...)
	}
	for _, c := range s.common {
		if common(settings, []setting{c}) == "" {
			settings = append(settings, c)
		}
	}
	return settings
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

// flagWord is a flag as errors of psafe certify name it.
var flagWord = regexp.MustCompile(`--(?:options )?([a-z][a-z-]*)(=?)`)

// blamed is an error about a job in the words of the file.
type blamed struct {
	error
	text string
}

func (b *blamed) Error() string { return b.text }
func (b *blamed) Unwrap() error { return b.error }

// blame names job number i in an error about it, in which flags become the keys that they are in the file,
// with the lines of those that the job has beside its entries.
func (s *Spec) blame(i int, err error) error {
	place := fmt.Sprintf("job %d (%s", i, s.words(i))
	settings := s.settings(i)
	for _, it := range s.items(i) { // place has the first setting of each
		at := slices.Index(settings, it.settings[0])
		settings[at].line = 0
	}
	text := flagWord.ReplaceAllStringFunc(err.Error(), func(word string) string {
		m := flagWord.FindStringSubmatch(word)
		if !slices.Contains(s.keys, m[1]) {
			return word
		}
		at := slices.IndexFunc(settings, func(set setting) bool { return set.flag.Name == m[1] })
		if at >= 0 && settings[at].line > 0 {
			place += fmt.Sprintf(", %s of line %d", m[1], settings[at].line)
			settings[at].line = 0
		}
		return m[1] + strings.Replace(m[2], "=", ": ", 1)
	})
	return &blamed{err, fmt.Sprintf("%s: %s): %s", s.Path, place, text)}
}

// words returns which entries job number i has.
func (s *Spec) words(i int) string {
	var words []string
	for _, it := range s.items(i) {
		words = append(words, fmt.Sprintf("%s of line %d", it.name(), it.line))
	}
	return strings.Join(words, ", ")
}
