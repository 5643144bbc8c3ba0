package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"psafe/host/record"
)

// onTerminal reports whether a person reads w on a terminal.
func onTerminal(w io.Writer) bool {
	f, ok := behind(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// screen is the size of the terminal that w is, if it is one. A terminal that does not say, as
// one over a serial line, has the size that most had.
func screen(w io.Writer) (width, height int, ok bool) {
	if !onTerminal(w) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(behind(w).(*os.File).Fd()))
	if err != nil {
		return 0, 0, false
	}
	if width == 0 {
		width = 80
	}
	if height == 0 {
		height = 24
	}
	return width, height, true
}

// isTerminal reports whether w is a terminal with room for a bar or a table, and how wide.
func isTerminal(w io.Writer) (int, bool) {
	width, _, ok := screen(w)
	return width, ok && width > 40
}

// printTable prints records as a table, on a terminal with the heads again on each screen and
// with verdicts in colour.
func printTable(w io.Writer, records []*record.Record) error {
	every := 0
	if _, height, ok := screen(w); ok {
		every = max(1, height-2) // below the heads, above the line that is typed on
	}
	var b bytes.Buffer
	if err := record.Table(&b, records, every); err != nil {
		return err
	}
	text := escaped(b.Bytes(), false)
	if coloured(w) {
		text = inColours(text)
	}
	_, err := exactly(w).Write(text)
	return err
}

// coloured reports whether w shows colours, and whoever reads it wants them (no-color.org).
func coloured(w io.Writer) bool {
	return onTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// verdictCell is a verdict in the row of a table: before the end, or the seconds there.
var verdictCell = regexp.MustCompile(`(?m) (safe|unsafe|unknown)(  +[-0-9.]+)?$`)

// inColours is a table with its verdicts in colours: green, red and yellow.
func inColours(table []byte) []byte {
	colours := map[string]string{"safe": "32", "unsafe": "31", "unknown": "33"}
	return verdictCell.ReplaceAllFunc(table, func(cell []byte) []byte {
		parts := verdictCell.FindSubmatch(cell)
		return []byte(" \x1b[" + colours[string(parts[1])] + "m" + string(parts[1]) + "\x1b[0m" + string(parts[2]))
	})
}

// printLine prints a line for people. On a terminal it is wrapped at words, a command that ends it has lines
// of its own, which can be copied, and its head is in colour, if that is not empty.
func printLine(w io.Writer, colour, head, text string) {
	text = plain(text)
	width, ok := isTerminal(w)
	if !ok {
		fmt.Fprintln(w, head, text)
		return
	}
	command := ""
	if at := strings.LastIndex(text, ": psafe "); at >= 0 && !strings.Contains(text[at+2:], "; ") {
		text, command = text[:at+1], "  "+text[at+2:]+"\n"
	}
	lines := strings.Join(wrapped(head+" "+text, "  ", width), "\n")
	if colour != "" && coloured(w) {
		lines = "\x1b[" + colour + "m" + head + "\x1b[0m" + strings.TrimPrefix(lines, head)
	}
	io.WriteString(exactly(w), lines+"\n"+command)
}

// widthOf is the width of a terminal, and else without limit: whoever searches lines finds them whole.
func widthOf(w io.Writer) int {
	if width, is := isTerminal(w); is {
		return width
	}
	return math.MaxInt
}

// wrapped are the lines of a text, of at most width characters if no word is longer, each but the first
// behind an indent.
func wrapped(text, indent string, width int) (lines []string) {
	line := ""
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), indent+word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Colours of heads.
const (
	noColour = ""
	red      = "31"
)

// howMany is a number of things.
func howMany(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
