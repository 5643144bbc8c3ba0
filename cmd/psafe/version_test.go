package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestVersion: a record's version is the commit's where the program was built from just
// that, and otherwise nobody else's.
func TestVersion(t *testing.T) {
	digest := func() ([]byte, error) { return []byte{1, 2, 3, 4, 5, 6, 7, 8}, nil }
	none := func() ([]byte, error) { return nil, errors.New("no file") }
	commit := "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		b      build
		digest func() ([]byte, error)
		want   string // a pattern after the release
	}{
		{build{commit: commit}, none, `\+0123456789ab`},
		{build{commit: "0123"}, none, `\+0123`},
		{build{commit: commit, modified: true}, digest, `\+0123456789ab-modified\+build\.010203040506`},
		{build{}, digest, `\+build\.010203040506`},
		{build{}, none, `\+build\.unknown\.[A-Z2-7]{26}`},
		{build{commit: commit, modified: true}, none, `\+0123456789ab-modified\+build\.unknown\.[A-Z2-7]{26}`},
	} {
		got := c.b.version(c.digest)
		if !regexp.MustCompile(`^` + regexp.QuoteMeta(release) + c.want + `$`).MatchString(got) {
			t.Errorf("%+v: version %q, want %s%s", c.b, got, release, c.want)
		}
	}
	if a, b := (build{}).version(none), (build{}).version(none); a == b {
		t.Errorf("two builds that know nothing of themselves are both %s", a)
	}
}

// TestPrintVersion: the first line is what records say.
func TestPrintVersion(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-dev)?$`).MatchString(release) {
		t.Errorf("VERSION says %q, want MAJOR.MINOR.PATCH, with -dev between releases", release)
	}
	var out strings.Builder
	printVersion(&out)
	lines := strings.Split(out.String(), "\n")
	if lines[0] != "psafe "+version() {
		t.Errorf("psafe version begins with %q, records say %q", lines[0], version())
	}
	for _, word := range []string{"commit", "go", "platform", "vector"} {
		if !strings.Contains(out.String(), "\n"+word+" ") {
			t.Errorf("psafe version does not say %s:\n%s", word, &out)
		}
	}
}
