package main

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"psafe/internal/child"
)

// doneLine stands for the line that says how a child's command ended.
const doneLine = "done"

// talk is what a child has reported.
type talk struct {
	lines chan string

	mu   sync.Mutex
	rest []byte
	all  int
	done int // the status, -1 before
	// opened says that devices were, refused why one was not that the child had listed (quick.go).
	opened  bool
	refused string
}

func (t *talk) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all += len(b); t.all > 4096 {
		return 0, child.ErrFlood
	}
	t.rest = append(t.rest, b...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		t.rest = rest
		if status, ok := strings.CutPrefix(string(line), "done "); ok {
			if n, err := strconv.Atoi(status); err == nil {
				t.done = n
				line = []byte(doneLine)
			}
		}
		t.opened = t.opened || string(line) == "opened"
		if why, ok := strings.CutPrefix(string(line), refusedWord); ok {
			t.refused = why
		}
		select {
		case t.lines <- string(line):
		default: // no child says so much
		}
	}
}

// said is the status that the child has reported, -1 if it has not.
func (t *talk) said() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done
}

// opening is whether devices were opened, and why one was refused.
func (t *talk) opening() (opened bool, refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.opened, t.refused
}
