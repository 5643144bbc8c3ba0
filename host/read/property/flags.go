package property

import (
	"fmt"
	"strconv"
	"strings"
)

// KeepsClass is the --property that every input keeps the class which the mean
// network gives it, or its label. ParseSpec refuses it, WithClass adds the class.
const KeepsClass = "keeps_class"

// The kinds of property that flags and property files name.
const (
	kindArgmaxIs      = "argmax_is"
	kindArgmaxIsNever = "argmax_is_never"
	kindOutputBox     = "output_box"
	kindRows          = "rows"
)

// ParseSpec reads the text of a --property flag for a network with the given
// number of outputs (at least 1; it panics otherwise):
//
//	argmax_is:3            output 3 is never below another one
//	argmax_is_never:3      some other output is never below output 3
//	argmax_in:1,3          no other output is above the largest of these
//	top_k:2:3              fewer than 2 outputs are above output 3
//	margin:0.5:3           output 3 is above every other one by 0.5 or more
//	class_change_only:1,2:3    argmax_in:1,2,3, for inputs of class 3
//	output_box:[-1,2.5],[0,]   bounds of every output, in order
//
// A side of an output box that is empty, null or infinite ("-inf" below, "inf" above)
// is unbounded. label is the class, -1 for argmax_in and output_box. Decimal numbers are
// rounded so that the safe set shrinks. Without their class (NeedsClass), keeps_class, top_k,
// margin and class_change_only are refused. Errors are one line.
func ParseSpec(text string, outputs int) (s Safe, label int, err error) {
	needOutputs("ParseSpec", outputs)
	kind, rest, hasRest := strings.Cut(strings.TrimSpace(text), ":")
	switch {
	case NeedsClass(text):
		err = fmt.Errorf("depends on the class of each input and cannot be used here; write %s:CLASS", strings.TrimSuffix(WithClass(text, 0), ":0"))
	case (kind == kindTopK || kind == kindMargin || kind == kindClassChangeOnly) && hasRest:
		s, label, err = parseShort(kind, rest, outputs)
	case kind == kindArgmaxIn && hasRest:
		var classes []int
		if classes, err = parseClasses(rest, outputs); err == nil {
			s, err = argmaxIn(classes, outputs)
		}
		label = -1
	case (kind == kindArgmaxIs || kind == kindArgmaxIsNever) && hasRest:
		if label, err = strconv.Atoi(rest); err != nil || leadingDigits(rest) != rest {
			err = fmt.Errorf("%s is not a class; write a whole number from 0 to %d", quote(rest), outputs-1)
			break
		}
		s, err = argmaxSafe(kind, label, outputs)
	case kind == kindOutputBox && hasRest:
		label = -1
		s, err = parseOutputBox(rest, outputs)
	default:
		err = unknownSpec(kind)
	}
	if err != nil {
		return Safe{}, -1, fmt.Errorf("property %s: %w", quote(text), err)
	}
	return s, label, nil
}

// needOutputs panics for an impossible number of outputs.
func needOutputs(where string, outputs int) {
	if outputs < 1 {
		panic(fmt.Sprintf("property: %s: a network with %d outputs", where, outputs))
	}
}

// argmaxSafe is ArgmaxIs or ArgmaxIsNever with its arguments checked.
func argmaxSafe(kind string, class, outputs int) (Safe, error) {
	if err := atLeastTwo(kind, outputs); err != nil {
		return Safe{}, err
	}
	if class < 0 || class >= outputs {
		return Safe{}, fmt.Errorf("class %d is not among the %d outputs; choose 0 to %d", class, outputs, outputs-1)
	}
	if err := fitsMemory(outputs, outputs); err != nil {
		return Safe{}, err
	}
	if kind == kindArgmaxIs {
		return ArgmaxIs(class, outputs), nil
	}
	return ArgmaxIsNever(class, outputs), nil
}

// atLeastTwo refuses classes of a network that has none.
func atLeastTwo(kind string, outputs int) error {
	if outputs < 2 {
		return fmt.Errorf("%s needs at least 2 outputs, the network has %d; use %s or %s", kind, outputs, kindOutputBox, kindRows)
	}
	return nil
}

// fitsMemory refuses more rows of coefficients of the outputs than memory can hold.
func fitsMemory(rows, outputs int) error {
	if err := new(memory).rows(rows, outputs); err != nil {
		return fmt.Errorf("%w; or use a network with fewer outputs, or %s", err, kindRows)
	}
	return nil
}

// parseOutputBox reads "[lo,hi],[lo,hi]", spaces allowed between its parts.
func parseOutputBox(text string, outputs int) (Safe, error) {
	sides, err := parseSides(text)
	if err != nil {
		return Safe{}, fmt.Errorf("output %w", err)
	}
	return outputBox(sides, outputs)
}

// parseSides reads the pairs of a box, spaces allowed between its parts. Errors begin with the number of the pair.
func parseSides(text string) (sides []side, err error) {
	rest := strings.TrimSpace(text)
	for {
		body, after, ok := strings.Cut(rest, "]")
		lo, hi, two := strings.Cut(strings.TrimPrefix(body, "["), ",")
		if !ok || !two || !strings.HasPrefix(body, "[") {
			return nil, fmt.Errorf("%d: %s is not a pair of bounds; write [lo,hi]", len(sides), quote(rest))
		}
		s, err := newSide(boundText(lo, "-inf"), boundText(hi, "inf"))
		if err != nil {
			return nil, fmt.Errorf("%d: %w", len(sides), err)
		}
		sides = append(sides, s)
		if rest = strings.TrimSpace(after); rest == "" {
			return sides, nil
		}
		if rest[0] != ',' {
			return nil, fmt.Errorf("%d: %s is not a pair of bounds; put a comma between pairs", len(sides), quote(rest))
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// boundText is one side of a pair: empty if it is unbounded.
func boundText(text, unbounded string) string {
	text = strings.TrimSpace(text)
	if word := strings.ToLower(text); word == unbounded || word == "null" || word == "+"+unbounded && unbounded == "inf" {
		return ""
	}
	return text
}

// side is the pair of bounds of one output or one input; a nil bound is
// unbounded.
type side struct{ lo, hi *Decimal }

// newSide reads the two bounds, empty text being unbounded; lo > hi is an
// error.
func newSide(lo, hi string) (side, error) {
	var s side
	for _, b := range []struct {
		text string
		to   **Decimal
	}{{lo, &s.lo}, {hi, &s.hi}} {
		if b.text == "" {
			continue
		}
		d, err := NewDecimal(b.text)
		if err != nil {
			return side{}, err
		}
		*b.to = &d
	}
	if s.lo != nil && s.hi != nil && reversed(lo, hi, *s.lo, *s.hi) {
		return side{}, fmt.Errorf("lower bound %s is above upper bound %s; swap them", quote(lo), quote(hi))
	}
	return s, nil
}

// reversed reports whether lo > hi as real numbers. The enclosures a and b decide unless both
// numbers lie strictly between the same two float64.
func reversed(lo, hi string, a, b Decimal) bool {
	if a != b || a.Lo == a.Hi {
		return a.Lo > b.Lo || a.Hi > b.Hi
	}
	x, errLo := parseRat(lo)
	y, errHi := parseRat(hi)
	return errLo == nil && errHi == nil && x.Cmp(y) > 0
}

// outputBox is the conjunction of y_i - lo >= 0 and hi - y_i >= 0 over the
// outputs, without the unbounded sides. The offsets -lo and hi are enclosed.
func outputBox(sides []side, outputs int) (Safe, error) {
	if len(sides) != outputs {
		return Safe{}, fmt.Errorf("%d pairs of bounds for %d outputs; give one pair for each", len(sides), outputs)
	}
	if err := fitsMemory(2*outputs, outputs); err != nil {
		return Safe{}, err
	}
	s := Safe{Any: [][]int{nil}}
	add := func(i int, c, d, dHi float64) {
		coef := make([]float64, outputs)
		coef[i] = c
		s.Any[0] = append(s.Any[0], len(s.Rows))
		s.Rows = append(s.Rows, Row{CLo: coef, CHi: coef, D: d, DHi: dHi})
	}
	for i, b := range sides {
		if b.lo != nil {
			add(i, 1, 0-b.lo.Hi, 0-b.lo.Lo)
		}
		if b.hi != nil {
			add(i, -1, b.hi.Lo, b.hi.Hi)
		}
	}
	return s, nil
}
