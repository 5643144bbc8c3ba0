package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared is a buffer for several goroutines.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// lines waits until there are n.
func (s *shared) lines(t *testing.T, n int) []string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		text := s.b.String()
		s.mu.Unlock()
		if strings.Count(text, "\n") >= n {
			return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
	}
	t.Fatalf("no %d lines", n)
	return nil
}

// TestHeartbeat: where there is no terminal a line tells now and then how far a run is, also if
// nothing was finished since the last; without an interval that ends there is none.
func TestHeartbeat(t *testing.T) {
	var out shared
	p := newProgress(&out, progressAuto)
	if p.every != 30*time.Second {
		t.Errorf("every %v", p.every)
	}
	p.every = time.Millisecond
	p.update(0, 300)
	if first := out.lines(t, 2)[0]; first != "psafe: 0 of 300 inputs, none finished yet" {
		t.Errorf("%q", first)
	}
	p.update(120, 300)
	n := len(out.lines(t, 1))
	last := out.lines(t, n+2)[n+1]
	p.inside(0)
	p.mu.Lock()
	p.began = p.began.Add(-longPass)
	p.mu.Unlock()
	p.inside(0.4321)
	n = len(out.lines(t, 1))
	inside := out.lines(t, n+2)[n+1]
	p.inside(1)
	n = len(out.lines(t, 1))
	after := out.lines(t, n+2)[n+1]
	p.end()
	if !strings.HasSuffix(inside, " left; 43.2% of this pass") || strings.Contains(after, "pass") {
		t.Errorf("inside of a pass %q, after it %q", inside, after)
	}
	if !regexp.MustCompile(`^psafe: 120 of 300 inputs, [0-9.e+]+/s, [0-9hms.]+ left$`).MatchString(last) {
		t.Errorf("%q", last)
	}
	for _, word := range []string{progressAuto, progressNone} {
		var quiet shared
		p = newProgress(&quiet, word)
		p.update(0, 3)
		p.update(3, 3)
		p.end()
		if quiet.b.Len() > 0 {
			t.Errorf("%s: %q", word, quiet.b.String())
		}
	}
}

// TestProgressJSON: every line is a JSON object with the same fields.
func TestProgressJSON(t *testing.T) {
	var out shared
	p := newProgress(&out, progressJSON)
	p.every = time.Millisecond
	p.update(0, 4)
	p.update(1, 4)
	p.inside(0)
	p.mu.Lock()
	p.began = p.began.Add(-longPass)
	p.mu.Unlock()
	p.inside(0.25)
	n := len(out.lines(t, 3))
	if inside := out.lines(t, n+2)[n+1]; !strings.HasSuffix(inside, `,"pass":0.25}`) {
		t.Errorf("inside of a pass %q", inside)
	}
	p.inside(1)
	p.update(4, 4)
	p.end()
	for i, line := range out.lines(t, n+1) {
		var is map[string]any
		if err := json.Unmarshal([]byte(line), &is); err != nil || len(is) != 5 || is["total"] != 4.0 || (is["done"] == 0.0) != (is["rate"] == nil) {
			t.Errorf("line %d: %q: %v", i, line, err)
		}
	}
}

// TestPace: rate and time left.
func TestPace(t *testing.T) {
	if rate, left, ok := pace(120, 300, time.Minute); rate != 2 || left != 90*time.Second || !ok {
		t.Errorf("%v, %v, %v", rate, left, ok)
	}
	if _, _, ok := pace(0, 300, time.Minute); ok {
		t.Error("of nothing finished there is a pace")
	}
}
