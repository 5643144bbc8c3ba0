package property

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"psafe/internal/infile"
)

// ParseIndex reads a choice among n points, or what else noun names, numbered from 0, in the order
// written: "7" is one point, "a:b" the half-open range a <= i < b, of which
// either end may be left out, and commas join them ("1,5,9:12"). The result is
// never empty and has no point twice.
//
// An empty text, range or file (n = 0), a range with its ends reversed, a
// negative or unreadable number, a point beyond n-1 and a point listed twice are
// one-line errors. A negative n panics.
func ParseIndex(text string, n int, noun string) ([]int, error) {
	if n < 0 {
		panic(fmt.Sprintf("property: ParseIndex: %d points", n))
	}
	var chosen []int
	seen := make([]bool, n)
	for part := range strings.SplitSeq(text, ",") {
		first, last, err := parseRange(strings.TrimSpace(part), n, noun)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", quote(text), err)
		}
		for i := first; i < last; i++ {
			if seen[i] {
				return nil, fmt.Errorf("index %s: %s %d is listed twice; list it once", quote(text), noun, i)
			}
			seen[i] = true
			chosen = append(chosen, i)
		}
	}
	return chosen, nil
}

// Choose is ParseIndex among the points. It refuses more of them than can be held as tasks
// of a network with so many outputs, each of them so many times with its boxes and, for a
// class, with its safe set.
func (p *Points) Choose(text string, outputs, times int) ([]int, error) {
	chosen, err := ParseIndex(text, p.n, "point")
	if err != nil {
		return nil, err
	}
	boxes := float64(len(chosen)) * float64(times) * (4*8*float64(p.Dim) + 400)
	sets := float64(min(len(chosen), outputs)) * 8 * float64(outputs) * float64(outputs)
	if err := infile.Afford(int64(min(boxes+sets, math.MaxInt64/2))); err != nil {
		return nil, fmt.Errorf("index %s: %d points of %d coordinates for %d outputs: %w", quote(text), len(chosen), p.Dim, outputs, err)
	}
	return chosen, nil
}

// parseRange reads one part of an index, first <= i < last; first < last <= n.
func parseRange(part string, n int, noun string) (first, last int, err error) {
	from, to, isRange := strings.Cut(part, ":")
	if !isRange {
		if first, err = parsePoint(from, noun); err != nil {
			return 0, 0, err
		}
		if first >= n {
			return 0, 0, fmt.Errorf("%s %d is not among the %d, numbered from 0; choose a smaller one", noun, first, n)
		}
		return first, first + 1, nil
	}
	last = n
	if from != "" {
		if first, err = parsePoint(from, noun); err != nil {
			return 0, 0, err
		}
	}
	if to != "" {
		if last, err = parsePoint(to, noun); err != nil {
			return 0, 0, err
		}
	}
	switch {
	case last > n:
		return 0, 0, fmt.Errorf("range %s ends beyond the %d %s; end it at %d", quote(part), n, plural(noun), n)
	case first > last:
		return 0, 0, fmt.Errorf("range %s of %d %s has its ends reversed; write the smaller number first", quote(part), n, plural(noun))
	case first == last:
		return 0, 0, fmt.Errorf("range %s of %d %s is empty; the end itself is not included", quote(part), n, plural(noun))
	}
	return first, last, nil
}

// plural is more than one of a noun: points, inputs, properties.
func plural(noun string) string {
	if stem, y := strings.CutSuffix(noun, "y"); y {
		return stem + "ies"
	}
	return noun + "s"
}

// parsePoint reads the number of one point, or input.
func parsePoint(text, noun string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil || leadingDigits(text) != text {
		return 0, fmt.Errorf("%s is not the number of %s %s; write whole numbers from 0, such as 7, 0:100 or 1,5,9:12", quote(text), article(noun), noun)
	}
	return v, nil
}

// article is the indefinite one.
func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}
