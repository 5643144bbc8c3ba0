package property

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"psafe/internal/nearest"
)

// The kinds of property in words whose class may be left open (NeedsClass), and argmax_in.
const (
	kindTopK            = "top_k"
	kindMargin          = "margin"
	kindClassChangeOnly = "class_change_only"
	kindArgmaxIn        = "argmax_in"
)

// specKinds are the kinds of --property in words, in the order of messages.
var specKinds = []string{KeepsClass, kindArgmaxIs, kindArgmaxIsNever, kindArgmaxIn, kindTopK, kindMargin, kindClassChangeOnly, kindOutputBox}

// SpecKinds are the kinds of --property in words, for completion and help.
func SpecKinds() []string { return slices.Clone(specKinds) }

// NeedsClass reports whether a --property in words leaves a class open: keeps_class, top_k:K,
// margin:M and class_change_only:B,C. WithClass adds it, of each input another.
func NeedsClass(text string) bool {
	text = strings.TrimSpace(text)
	switch kind, rest, argument := strings.Cut(text, ":"); kind {
	case KeepsClass:
		return !argument
	case kindTopK, kindMargin, kindClassChangeOnly:
		return argument && !strings.Contains(rest, ":")
	}
	return false
}

// IsClass reports whether a --property in words is that one class is the largest output: keeps_class,
// or argmax_is with a class, as records have it.
func IsClass(text string) bool {
	kind, _, argument := strings.Cut(strings.TrimSpace(text), ":")
	return kind == KeepsClass && !argument || kind == kindArgmaxIs && argument
}

// IsBox reports whether a --property in words is a box of outputs.
func IsBox(text string) bool {
	kind, _, argument := strings.Cut(strings.TrimSpace(text), ":")
	return kind == kindOutputBox && argument
}

// WithClass is the property with the class that it leaves open, as ParseSpec reads it and
// records have it: argmax_is:3 for keeps_class, else the text, a colon and the class. It
// panics for a text that leaves none open.
func WithClass(text string, class int) string {
	if !NeedsClass(text) {
		panic(fmt.Sprintf("property: WithClass: %s leaves no class open", quote(text)))
	}
	if text = strings.TrimSpace(text); text == KeepsClass {
		text = kindArgmaxIs
	}
	return text + ":" + strconv.Itoa(class)
}

// parseShort reads what is behind the kind of top_k, margin and class_change_only: an
// argument, a colon and the class.
func parseShort(kind, rest string, outputs int) (s Safe, class int, err error) {
	argument, word, _ := strings.Cut(rest, ":")
	if err := atLeastTwo(kind, outputs); err != nil {
		return Safe{}, -1, err
	}
	if err := fitsMemory(outputs, outputs); err != nil {
		return Safe{}, -1, err
	}
	if class, err = parseClassWord(word, outputs); err != nil {
		return Safe{}, -1, err
	}
	switch kind {
	case kindTopK:
		s, err = parseTopK(argument, class, outputs)
	case kindMargin:
		s, err = parseMargin(argument, class, outputs)
	default:
		var to []int
		if to, err = parseClasses(argument, outputs); err == nil {
			s, err = argmaxIn(append(to, class), outputs)
		}
	}
	return s, class, err
}

// parseClassWord reads the number of a class.
func parseClassWord(word string, outputs int) (int, error) {
	class, err := strconv.Atoi(word)
	if err != nil || leadingDigits(word) != word {
		return -1, fmt.Errorf("%s is not a class; write a whole number from 0 to %d", quote(word), outputs-1)
	}
	if class >= outputs {
		return -1, fmt.Errorf("class %d is not among the %d outputs; choose 0 to %d", class, outputs, outputs-1)
	}
	return class, nil
}

// parseClasses reads classes joined by commas, each once.
func parseClasses(text string, outputs int) ([]int, error) {
	var classes []int
	for word := range strings.SplitSeq(text, ",") {
		class, err := parseClassWord(strings.TrimSpace(word), outputs)
		if err != nil {
			return nil, err
		}
		if slices.Contains(classes, class) {
			return nil, fmt.Errorf("class %d is there twice; name each once", class)
		}
		classes = append(classes, class)
	}
	return classes, nil
}

// parseMargin is the set where y_class - y_j >= m for every other j. The offset -m is
// enclosed as that of an output box is.
func parseMargin(text string, class, outputs int) (Safe, error) {
	m, err := NewDecimal(text)
	if err != nil {
		return Safe{}, err
	}
	s := ArgmaxIs(class, outputs)
	for r := range s.Rows {
		s.Rows[r].D, s.Rows[r].DHi = 0-m.Hi, 0-m.Lo
	}
	return s, nil
}

// parseTopK reads K.
func parseTopK(text string, class, outputs int) (Safe, error) {
	k, err := strconv.Atoi(text)
	if err != nil || leadingDigits(text) != text || k < 1 || k >= outputs {
		return Safe{}, fmt.Errorf("%s is not how many of the %d outputs may be in front; write a whole number from 1 to %d", quote(text), outputs, outputs-1)
	}
	return topK(k, class, outputs), nil
}

// topK is the set where the class is among the k largest outputs: where fewer than k
// others are above it, which is where it is not below some outputs-k of them, so that ties
// count for it.
func topK(k, class, outputs int) Safe {
	s := ArgmaxIs(class, outputs) // its rows are y_class - y_j for all others
	switch need := outputs - k; need {
	case len(s.Rows):
	case 1:
		s = Safe{Rows: s.Rows}
		for r := range s.Rows {
			s.Any = append(s.Any, []int{r})
		}
	default:
		s.Gates, s.Any = []Gate{{need, s.Any[0]}}, [][]int{{^0}}
	}
	return s
}

// argmaxIn is the set where the largest output is one of the classes (each may stand there
// more than once): where one of them is not below any output that is not among them.
func argmaxIn(classes []int, outputs int) (Safe, error) {
	slices.Sort(classes)
	classes = slices.Compact(classes)
	others := outputs - len(classes)
	if others == 0 {
		return Safe{}, fmt.Errorf("all %d classes are named, so it holds always; leave one out", outputs)
	}
	if err := fitsMemory(len(classes)*others, outputs); err != nil {
		return Safe{}, err
	}
	var s Safe
	for _, c := range classes {
		var all []int
		for j := range outputs {
			if _, among := slices.BinarySearch(classes, j); !among {
				all = append(all, len(s.Rows))
				s.Rows = append(s.Rows, difference(c, j, outputs))
			}
		}
		s.Any = append(s.Any, all)
	}
	return s, nil
}

// unknownSpec tells what there is instead of a text that is no property.
func unknownSpec(kind string) error {
	if strings.ContainsAny(kind, "./\\") {
		return errors.New("is neither a property nor a file that is there; mend the name of the property file")
	}
	switch strings.ToLower(kind) {
	case "robust", "robustness", "local_robustness", "epsilon", "eps":
		return fmt.Errorf("is not a property; that every point of T keeps its class is %s, which is asked by default, and how large T is says --eps", KeepsClass)
	}
	return fmt.Errorf("is not a property; write %s, %s:CLASS, %s:CLASS, %s:CLASS,CLASS, %s:K, %s:M, %s:CLASS,CLASS or %s:[lo,hi],[lo,hi] with a pair for each output%s",
		KeepsClass, kindArgmaxIs, kindArgmaxIsNever, kindArgmaxIn, kindTopK, kindMargin, kindClassChangeOnly, kindOutputBox,
		nearest.Hint(kind, specKinds))
}
