package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress draws a bar with rate and time left on a terminal, and nothing
// anywhere else.
type progress struct {
	w     io.Writer
	width int
	total int
	start time.Time
}

// isTerminal says whether w is a terminal, and how wide.
func isTerminal(w io.Writer) (int, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return width, err == nil && width > 40
}

func newProgress(w io.Writer, total int) *progress {
	width, ok := isTerminal(w)
	if !ok {
		return nil
	}
	p := &progress{w, width, total, time.Now()}
	p.update(0)
	return p
}

// update shows that done of total are finished.
func (p *progress) update(done int) {
	if p == nil {
		return
	}
	elapsed := time.Since(p.start).Seconds()
	tail := fmt.Sprintf(" %d/%d", done, p.total)
	if done > 0 && elapsed > 0 {
		rate := float64(done) / elapsed
		left := time.Duration(float64(p.total-done) / rate * float64(time.Second)).Round(time.Second)
		tail += fmt.Sprintf("  %.3g/s  %v left", rate, left)
	}
	bar := max(5, min(40, p.width-len(tail)-3))
	full := bar * done / max(1, p.total)
	fmt.Fprintf(p.w, "\r\x1b[K[%s%s]%s", strings.Repeat("=", full), strings.Repeat(" ", bar-full), tail)
}

// end removes the bar.
func (p *progress) end() {
	if p != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
