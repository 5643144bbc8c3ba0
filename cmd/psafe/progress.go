package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// bar draws a bar with rate and time left on a terminal, and nothing anywhere else.
type bar struct {
	w     io.Writer
	start time.Time
	drawn bool
}

// onTerminal says whether a person reads w on a terminal.
func onTerminal(w io.Writer) bool {
	f, ok := behind(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// isTerminal says whether w is a terminal with room for a bar or a table, and how wide.
func isTerminal(w io.Writer) (int, bool) {
	if !onTerminal(w) {
		return 0, false
	}
	width, _, err := term.GetSize(int(behind(w).(*os.File).Fd()))
	return width, err == nil && width > 40
}

// update shows that done of total are finished; the first call starts the clock.
func (p *bar) update(done, total int) {
	width, terminal := isTerminal(p.w)
	if !terminal {
		return
	}
	if !p.drawn {
		p.start, p.drawn = time.Now(), true
	}
	elapsed := time.Since(p.start).Seconds()
	tail := fmt.Sprintf(" %d/%d", done, total)
	if done > 0 && elapsed > 0 {
		rate := float64(done) / elapsed
		left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
		tail += fmt.Sprintf("  %.3g/s  %v left", rate, left)
	}
	length := max(5, min(40, width-len(tail)-3))
	full := length * done / max(1, total)
	fmt.Fprintf(exactly(p.w), "\r\x1b[K[%s%s]%s", strings.Repeat("=", full), strings.Repeat(" ", length-full), tail)
}

// end removes the bar.
func (p *bar) end() {
	if p.drawn {
		p.drawn = false
		eraseBar(p.w)
	}
}

// eraseBar removes a bar that may be there.
func eraseBar(w io.Writer) {
	if _, terminal := isTerminal(w); terminal {
		fmt.Fprint(exactly(w), "\r\x1b[K")
	}
}
