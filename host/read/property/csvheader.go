package property

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The first line of a CSV file: names, numbers, or what programs write when nobody tells them
// otherwise.

// notCommas says what separates the columns of the first line if commas do not. dim is how many
// coordinates a point has, 0 if nobody knows.
func notCommas(fields []string, dim int) error {
	for _, by := range []struct{ sign, name string }{{";", "semicolons"}, {"\t", "tabs"}} {
		for _, f := range fields {
			if strings.Contains(f, by.sign) {
				return fmt.Errorf("line 1: has its columns separated by %s; write commas between them, and points in decimals", by.name)
			}
		}
	}
	if len(fields) > 1 {
		return nil
	}
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(fields[0]), "#"))
	numbers := len(words) > 1
	for _, w := range words {
		_, err := strconv.ParseFloat(w, 64)
		numbers = numbers && err == nil
	}
	if numbers || len(words) > 1 && dim > 1 {
		return fmt.Errorf("line 1: has its columns separated by spaces; write commas between them, in NumPy with delimiter=\",\"")
	}
	return nil
}

// mostPeeked is how much of a file is looked at before it is read.
const mostPeeked = 1 << 16

// notNumbered refuses a file that begins with the numbers of its columns, 0,1,2, which pandas
// writes for a header where nobody named them, and which would be read as a point. One column or
// two, which may well begin so, must go on with a decimal point; and a file of one line has no
// header.
func notNumbered(s *source) error {
	head, _ := s.Peek(mostPeeked)
	first, rest, _ := strings.Cut(string(head), "\n")
	second, _, _ := strings.Cut(rest, "\n")
	fields := strings.Split(strings.TrimSpace(first), ",")
	for k, f := range fields {
		if f != strconv.Itoa(k) {
			return nil
		}
	}
	if strings.TrimSpace(second) == "" || len(fields) <= 2 && !strings.Contains(second, ".") {
		return nil
	}
	point := "0.0,1"
	if len(fields) == 1 {
		point = "0.0"
	}
	return fmt.Errorf("line 1: is %s, which may be the header that pandas writes where columns have no names; take the line away (header=False), or, if it is a point, write it as %s",
		strings.Join(fields[:min(len(fields), 4)], ","), point)
}

// isName reports whether a field has a letter and is no number.
func isName(field string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
	return err != nil && strings.ContainsFunc(field, unicode.IsLetter)
}

func namesOfClasses(line, column int, field string) error {
	return fmt.Errorf("line %d: column %d holds names of classes (%s); write their numbers, from 0", line, column+1, quote(field))
}

// isHeader tells the header line from numbers. A line of both is an error: it
// may be data with a typing mistake, and must not be skipped. So is a field that
// looks like a number in another notation, or has no letter. labelColumn is that of
// InputOptions.
func isHeader(fields []string, labelColumn string) (bool, error) {
	number, word, words, numbered := -1, -1, 0, true
	for k, f := range fields {
		if strings.TrimSpace(f) == "" && k == 0 && len(fields) > 1 {
			return false, fmt.Errorf("line 1: column 1 has no name, as pandas writes the column of its index; save the table without it (index=False)")
		}
		_, notDecimal := scanDecimal(strings.TrimSpace(f))
		_, notFloat := strconv.ParseFloat(strings.TrimSpace(f), 64)
		if notDecimal != nil && (notFloat == nil || !strings.ContainsFunc(f, unicode.IsLetter)) {
			return false, fmt.Errorf("line 1: column %d is %s, which is neither a decimal number nor a name; mend it", k+1, quote(f))
		}
		if notDecimal == nil {
			numbered = numbered && len(fields) > 2 && strings.TrimSpace(f) == strconv.Itoa(k)
			number = k
		} else {
			word = k
			words++
		}
	}
	if number >= 0 && word >= 0 && numbered {
		return false, fmt.Errorf("line 1: is a header that names columns by numbers, as pandas does; name every column with a word, or take the line away (header=False)")
	}
	if number >= 0 && word >= 0 {
		if end := map[string]int{"first": 0, "last": len(fields) - 1}; words == 1 && isName(fields[word]) {
			if at, asked := end[labelColumn]; asked && at == word {
				return false, namesOfClasses(1, word, fields[word])
			}
		}
		return false, fmt.Errorf("line 1: column %d is %s, which is not a number, but column %d is one; mend it, or name every column with a word",
			word+1, quote(fields[word]), number+1)
	}
	return number < 0, nil
}
