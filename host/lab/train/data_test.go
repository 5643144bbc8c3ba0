package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadFile(t *testing.T) {
	csv := write(t, "a.csv", "x,y,t\n1,2,0\n0.5,-1,2\n")
	images := write(t, "images", "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\xff\xff\x00")
	labels := write(t, "labels", "\x00\x00\x08\x01\x00\x00\x00\x02\x00\x00")
	tests := []struct {
		path, labels string
		task         Task
		want         string
	}{
		{csv, "", Regression, "&{regression 2 1 [1 2 0.5 -1] [0 2] []}"},
		{csv, "", Classification, "&{classification 2 3 [1 2 0.5 -1] [] [0 2]}"},
		// Two classes at least: a network of one output would classify nothing.
		{images, labels, Classification, "&{classification 2 2 [0 1 1 0] [] [0 0]}"},
	}
	for _, test := range tests {
		d, err := ReadFile(test.path, test.labels, test.task)
		if err != nil {
			t.Fatal(err)
		}
		d.check()
		if got := fmt.Sprint(d); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestReadFileErrors(t *testing.T) {
	csv := write(t, "a.csv", "1,2,0\n0.5,-1,2\n")
	column := write(t, "b.csv", "1\n2\n")
	big := write(t, "c.csv", "1,10000\n")
	fraction := write(t, "d.csv", "1,0\n1,0.5\n")
	labels := write(t, "labels", "\x00\x00\x08\x01\x00\x00\x00\x01\x00")
	tests := []struct {
		path, labels string
		task         Task
		file, want   string
	}{
		{"absent.csv", "", Regression, "absent.csv", "no such file"},
		{column, "", Regression, column, "one column"},
		{csv, labels, Classification, labels, "1 labels but"},
		{csv, csv, Classification, csv, "neither an IDX nor a NumPy file of labels"},
		{big, "", Classification, big, "label 10000 of point 0"},
		{fraction, "", Classification, fraction, "line 2: column 2"},
		{labels, "", Classification, labels, "no label column"},
	}
	for _, test := range tests {
		_, err := ReadFile(test.path, test.labels, test.task)
		if err == nil {
			t.Errorf("%s: no error", test.want)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, test.file+": ") || !strings.Contains(text, test.want) || strings.Contains(text, "\n") {
			t.Errorf("error %q, want one line that begins with the file and has %q", text, test.want)
		}
	}
}
