package child

import (
	"io"
	"os"

	"psafe/internal/fault"
)

// Inside holds what the child has of its parent.
type Inside struct {
	// Report goes to the parent. Stdout and Stderr are the parent's own, nil if it gave
	// none; what anything else in the process prints goes elsewhere.
	Report, Stdout, Stderr *os.File
}

// Enter is called first by a process that is meant to be a child, one with outputs of
// its parent or without. It is nil in one that no parent has started, but somebody by
// hand.
func Enter(outputs bool) *Inside {
	inside, life := wired(outputs)
	if inside == nil {
		return nil
	}
	fault.Go(nil, func() {
		// Nothing is ever written there: reading ends when the parent has.
		_, _ = io.Copy(io.Discard, life)
		killSelf()
	})
	return inside
}
