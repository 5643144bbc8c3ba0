package child

import (
	"bufio"
	"io"
	"os"
	"strings"

	"psafe/internal/fault"
)

// Inside holds what the child has of its parent.
type Inside struct {
	// Report goes to the parent. Stdout and Stderr are the parent's own, nil if it gave
	// none; what anything else in the process prints goes elsewhere.
	Report, Stdout, Stderr *os.File
	// Word is the line that the parent tells (Child.Tell), if it ever does.
	Word <-chan string
}

// Enter is called first by a process that is meant to be a child, one with outputs of
// its parent or without. It is nil in one that no parent has started, but somebody by
// hand.
func Enter(outputs bool) *Inside {
	inside, life := wired(outputs)
	if inside == nil {
		return nil
	}
	word := make(chan string, 1)
	inside.Word = word
	fault.Go(nil, func() {
		// Reading ends when the parent has.
		r := bufio.NewReader(life)
		if line, err := r.ReadString('\n'); err == nil {
			word <- strings.TrimSuffix(line, "\n")
			_, _ = io.Copy(io.Discard, r)
		}
		killSelf()
	})
	return inside
}
