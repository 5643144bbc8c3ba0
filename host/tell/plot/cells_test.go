package plot_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/plot"
)

// cellLine is a record of a property of a file whose digest is "ab".
func cellLine(index int, lower, upper float64, verdict string) string {
	return resealed(line("p", "clbp", "", index, lower, upper, fmt.Sprintf(`"require":0.9,"verdict":%q,`, verdict)), `"eps":"",`, "")
}

// cellsTest cuts [0, n] x [0, 2] into n cells, behind which is the whole box.
func cellsTest(n int) *property.Boxes {
	b := &property.Boxes{Columns: []string{"speed", "angle"}, SHA256: "ab"}
	for i := range n {
		b.Of = append(b.Of, []property.Box{{Lo: []float64{float64(i), 0}, Hi: []float64{float64(i + 1), 2}}})
	}
	b.Of = append(b.Of, []property.Box{{Lo: []float64{0, 0}, Hi: []float64{float64(n), 2}}})
	return b
}

// TestCells: areas are exact and rounded so that nothing is certified that is not, cells without a record are open,
// and the box that contains all others is no cell.
func TestCells(t *testing.T) {
	records := read(t, cellLine(1, 0.96875, 1, "safe"), cellLine(0, 0.9375, 1, "safe"), cellLine(3, 0, 0.5, "unsafe"), cellLine(4, 0.5, 1, "unknown"), cellLine(6, 0.25, 1, "unknown"))
	c, err := plot.CellsOf(records, cellsTest(6))
	if err != nil {
		t.Fatal(err)
	}
	want := "certified: 2 of 6 cells, 33.333 % of the area; refuted: 1, 16.666 %; open: 3, 50.000 %; safe on all certified cells together: with probability at least 0.906250; safe on the whole box: with probability at least 0.25"
	if got := c.Words(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	m := c.Map([2]int{1, 0})
	if m.Axes != [2]string{"angle", "speed"} || len(m.Cells) != 6 || m.Cells[2].Verdict != "" || m.Cells[3].Verdict != "unsafe" || m.Cells[3].Hi != [2]float64{2, 4} || m.Note != "" {
		t.Errorf("%+v", m)
	}
	two := cellsTest(6)
	two.Of[0] = append(two.Of[0], two.Of[1]...)
	for what, of := range map[string]struct {
		lines []string
		boxes *property.Boxes
	}{
		"another file": {[]string{cellLine(0, 1, 1, "safe")}, &property.Boxes{Of: cellsTest(6).Of, SHA256: "cd"}}, "two of one": {[]string{cellLine(0, 1, 1, "safe"), cellLine(0, 1, 1, "safe")}, cellsTest(6)},
		"no such": {[]string{cellLine(7, 1, 1, "safe")}, cellsTest(6)}, "two boxes": {[]string{cellLine(2, 1, 1, "safe")}, two},
		"another posterior": {[]string{cellLine(0, 1, 1, "safe"), resealed(cellLine(1, 1, 1, "safe"), `"p00000000"`, `"q00000000"`)}, cellsTest(6)},
	} {
		if _, err := plot.CellsOf(read(t, of.lines...), of.boxes); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOverlaps: of boxes that overlap no part of an area is said, of others the parts are.
func TestOverlaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 47))
	said := map[bool]int{}
	for range 100 {
		b := &property.Boxes{SHA256: "ab"}
		for range 2 + rng.IntN(3) {
			x, y, point := float64(rng.IntN(5)), float64(rng.IntN(5)), 0.5*float64(rng.IntN(4))
			b.Of = append(b.Of, []property.Box{{Lo: []float64{x, y, 7}, Hi: []float64{x + point, y + 1, 7}}})
		}
		c, err := plot.CellsOf(read(t, cellLine(0, 1, 1, "safe")), b)
		if err != nil {
			t.Fatal(err)
		}
		if c.Whole != nil || c.N() < len(b.Of) {
			continue
		}
		overlap := false // of quarters of units, by their middles
		for x := 0.125; x < 8; x += 0.25 {
			for y := 0.125; y < 8; y += 0.25 {
				in := 0
				for _, of := range b.Of {
					if of[0].Lo[0] < x && x < of[0].Hi[0] && of[0].Lo[1] < y && y < of[0].Hi[1] {
						in++
					}
				}
				overlap = overlap || in > 1
			}
		}
		if area := strings.Contains(c.Words(), "of the area"); area && overlap {
			t.Fatalf("%v: %s", b.Of, c.Words())
		} else {
			said[area]++
		}
	}
	if said[true] < 7 || said[false] < 7 {
		t.Error(said)
	}
}

// TestSafeTogether: networks of a set that leave S on one cell each are not in the bound, whatever their number.
func TestSafeTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 46))
	for range 100 {
		const networks = 1000
		unsafe := map[int]bool{}
		var lines []string
		for i := range 4 {
			fails := rng.IntN(100)
			for range fails {
				unsafe[rng.IntN(networks)] = true
			}
			lines = append(lines, cellLine(i, float64(networks-fails)/networks, 1, "safe"))
		}
		c, err := plot.CellsOf(read(t, lines...), cellsTest(6))
		if err != nil {
			t.Fatal(err)
		}
		if lower, n := c.SafeTogether(); n != 4 || lower.Cmp(big.NewRat(int64(networks-len(unsafe)), networks)) > 0 || lower.Sign() == 0 {
			t.Fatalf("%v of %d cells, and %d networks are unsafe", record.DecimalDown(lower, 6), n, len(unsafe))
		}
	}
}
