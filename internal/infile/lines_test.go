package infile

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLines: lines come with their ends, whatever a read gives at a time, also those longer than the
// buffer; the last may have none; a line that is too long is an error, and so is one of reading.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100000)
	for _, c := range []struct {
		text string
		most int
		want []string
		err  string
	}{
		{"", 10, nil, "EOF"},
		{"a\n\nbc\r\n", 10, []string{"a\n", "\n", "bc\r\n"}, "EOF"},
		{"a\nb", 10, []string{"a\n", "b"}, "EOF"},
		{long + "\n" + long, 100001, []string{long + "\n", long}, "EOF"},
		{"a\n" + long + "\n", 100000, []string{"a\n"}, "a line has more than 100000 bytes"},
		{"a\n" + long, 99999, []string{"a\n"}, "a line has more than 99999 bytes"},
		{strings.Repeat("x", 20) + "\n", 20, nil, "a line has more than 20 bytes"},
		{strings.Repeat("x", 20), 20, []string{strings.Repeat("x", 20)}, "EOF"},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			lines := NewLines(r, c.most)
			for i := 0; ; i++ {
				line, whole, err := lines.Next()
				if err != nil {
					if i != len(c.want) || err.Error() != c.err {
						t.Errorf("%.30q: %v after %d lines, want %q after %d", c.text, err, i, c.err, len(c.want))
					}
					break
				}
				if i >= len(c.want) || string(line) != c.want[i] || whole != strings.HasSuffix(c.want[i], "\n") {
					t.Fatalf("%.30q: line %d is %.30q, whole %v", c.text, i, line, whole)
				}
			}
		}
	}
	broken := errors.New("broken")
	lines := NewLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	if line, _, err := lines.Next(); err != nil || string(line) != "a\n" {
		t.Errorf("%q, %v", line, err)
	}
	if _, _, err := lines.Next(); err != broken {
		t.Errorf("a file that cannot be read: %v", err)
	}
}
