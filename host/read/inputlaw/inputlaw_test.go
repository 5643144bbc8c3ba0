package inputlaw

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRead: laws are what was written, numbers enclosed, masses from below; what is none is an error of one line.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cells := "cells:" + file("cells.json", `{"boxes": [[[0, 1], ["1/3", 2]], [[1, 2], [0, 0.1]]], "masses": [0.1, "2/3"]}`)
	for text, inputs := range map[string]int{
		"normal:0,1": 1, "normal:0.1,1/3; uniform:-2,2;truncated:0,1,-1,1;atoms:0=0.3,1=0.7": 4, cells: 2, "sample:" + file("s.csv", "0.1,2,3\n1,2,3\n"): 3,
	} {
		l, err := Read(text)
		if err != nil || l.Inputs() != inputs || (File(text) != "") != (l.SHA256 != "") {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
	}
	l, err := Read(cells)
	if err != nil || l.Items[0].Mass > 0.1 || l.Items[1].Mass*3 > 2 || !(l.Items[0].Box.Lo[1]*3 <= 1) || l.Items[0].Box.Hi[1] != 2 {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err = Read("atoms:0.1=0.3"); err != nil || !(l.Sides[0].Atoms[0].At.Lo < l.Sides[0].Atoms[0].At.Hi) {
		t.Errorf("%+v, %v", l, err)
	}
	for _, text := range []string{
		"", "normal", "normal:0", "normal:0,1,2", "normal:0,0", "normal:0,-1", "normal:nan,1", "normal:0,inf", "normal:0,1;", "normal:0,1e-400", "uniform:1,1", "uniform:2,1",
		"uniform:0.1,0.1", "truncated:0,1,1,-1", "truncated:0,0,-1,1", "atoms:", "atoms:0", "atoms:0=-0.1", "atoms:0=0.5,1=0.6", "atoms:0=nan", "gamma:1,1", "cells:", "sample:" + filepath.Join(dir, "absent.csv"),
		"cells:" + file("a.json", `{"boxes": [[[0, 1]]], "masses": [1, 0]}`), "cells:" + file("b.json", `{"boxes": [[[0, 1]]], "masses": [1.5]}`),
		"cells:" + file("c.json", `{"boxes": [[[1, 0]]], "masses": [1]}`), "cells:" + file("d.json", `{"boxes": [[[0, 1]]], "masses": [0.5], "masses": [0.5]}`),
		"cells:" + file("e.json", `{"boxes": [[[0, 1]], [[0, 1], [0, 1]]], "masses": [0.5, 0.5]}`), "cells:" + file("f.json", `[]`), "cells:" + file("g.json", `{"boxes": [], "masses": []}`),
	} {
		if l, err := Read(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}
