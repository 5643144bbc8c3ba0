package infile

import "fmt"

// CheckJSON counts, before anything is taken apart, how deeply a JSON text nests brackets
// and how many values and keys it has at most; more than depth or than values is an error.
// line is where, from 1. A text that is no JSON passes or not: its parser tells.
func CheckJSON(text []byte, depth, values int) (line int, err error) {
	line = 1
	open, count := 0, 1
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			line++
		case inString:
			if c == '\\' {
				i++
			}
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '[' || c == '{':
			count++
			if open++; open > depth {
				return line, fmt.Errorf("brackets nest deeper than the limit of %d; write it flatter", depth)
			}
		case c == ']' || c == '}':
			open = max(0, open-1)
		case c == ',' || c == ':':
			count++
		}
		if count > values {
			return line, fmt.Errorf("more than %d values, the limit for such a text; split it", values)
		}
	}
	return line, nil
}
