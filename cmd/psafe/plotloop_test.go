package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/job/loop"
	"psafe/host/read/plant"
)

// TestLoopMap: of three coordinates the map has the slice at the middle of the start set, says so, and takes columns in
// their order.
func TestLoopMap(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plant.yaml")
	text := `state: {x: {range: [0, 1], cells: 2}, y: {range: [0, 1], cells: 3}, z: {range: [0, 4], cells: 4}}
network: {inputs: [x], outputs: [u]}
next: {x: u, y: y, z: z}
start: [0 <= x <= 1, 0 <= y <= 1, 0 <= z <= 1]
safe: [0 <= x <= 1]
semantics: once
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := plant.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	picture := &loop.Picture{Result: &loop.Result{PLower: 0.875}, Plant: p, Values: make([]float64, p.Cells()), Middle: []int{0, 1, 3}}
	picture.Values[p.Number([]int{1, 2, 3})] = 1
	picture.Values[p.Number([]int{0, 0, 2})] = 1
	m := loopMap(picture, [2]int{1, 0})
	if len(m.Cells) != 6 || m.Axes != [2]string{"y", "x"} || m.Note != "a slice, at the middle of the start set: z in [3, 4]" || !strings.Contains(m.Title, "once: probability at least 0.875") {
		t.Errorf("%+v", m)
	}
	for _, c := range m.Cells {
		if safe := c.Lo[0] > 0.6 && c.Lo[1] == 0.5; safe != (c.Verdict == "safe") {
			t.Errorf("%+v", c)
		}
	}
	picture.Plant.Fresh, picture.Values[p.Number([]int{1, 2, 3})] = true, 0.87
	for _, c := range loopMap(picture, [2]int{0, 1}).Cells {
		if c.Verdict == "safe" {
			t.Errorf("a cell of .87 is shown as one of .875: %+v", c)
		}
	}
}
