package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// endOf runs the program and returns its status and what it wrote.
func endOf(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = program(args, &out, &errs)
	return status, out.String(), errs.String()
}

// wantLine demands that text is one line of psafe's with all of parts.
func wantLine(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	if !strings.HasPrefix(text, "psafe: ") || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("%s: no single line: %.2000q", what, text)
	}
	for _, r := range strings.TrimSuffix(text, "\n") {
		if !unicode.IsPrint(r) {
			t.Errorf("%s: %q has %q", what, text, r)
		}
	}
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: %q does not say %q", what, text, p)
		}
	}
}
