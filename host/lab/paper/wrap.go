package paper

import (
	"strings"
	"unicode/utf8"
)

// pageWidth is the greatest length of the lines of paper.md, but for tables, commands, and words
// that are longer.
const pageWidth = 100

// wrap breaks the lines of a Markdown text that are too long. A line that begins with "- "
// is an item of a list, whose further lines are indented; a heading stays one line.
func wrap(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, wrapLine(line)...)
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string) []string {
	if strings.HasPrefix(line, "#") {
		return []string{line}
	}
	indent := ""
	if strings.HasPrefix(line, "- ") {
		indent = "  "
	}
	var lines []string
	for words := strings.Split(line, " "); len(words) > 0; {
		n, length := 1, utf8.RuneCountInString(words[0])
		if len(lines) > 0 {
			length += len(indent)
		}
		for n < len(words) && length+1+utf8.RuneCountInString(words[n]) <= pageWidth {
			length += 1 + utf8.RuneCountInString(words[n])
			n++
		}
		for n > 1 && n < len(words) && isMark(words[n]) {
			n--
		}
		next := strings.Join(words[:n], " ")
		if len(lines) > 0 {
			next = indent + next
		}
		lines, words = append(lines, next), words[n:]
	}
	return lines
}

// isMark reports whether a line that began with this word would be something else than the text
// goes on: a list, a heading, a quotation, a line below a heading.
func isMark(w string) bool {
	digits := strings.TrimLeft(w, "0123456789")
	return w == "" || w == "-" || w == "+" || w == "*" || strings.Trim(w, "#") == "" || strings.HasPrefix(w, ">") || strings.HasPrefix(w, "|") ||
		strings.Trim(w, "=") == "" || strings.Trim(w, "-") == "" || len(digits) < len(w) && (digits == "." || digits == ")")
}
