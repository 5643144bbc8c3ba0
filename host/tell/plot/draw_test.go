package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"

	"psafe/host/tell/plot"
)

// checkBytes: again is the same figure, other that of other data; SVG is XML.
func checkBytes(t *testing.T, kind string, f, again, other *plot.Figure) {
	t.Helper()
	for _, format := range plot.Formats {
		b := write(t, f, format)
		if format == "pdf" && !bytes.HasPrefix(b, []byte("%PDF-1.")) {
			t.Errorf("%s as pdf begins with %.9q", kind, b)
		}
		if format == "svg" {
			checkXML(t, kind, b)
		}
		if !bytes.Equal(b, write(t, f, format)) || !bytes.Equal(b, write(t, again, format)) {
			t.Errorf("%s as %s: two drawings differ", kind, format)
		}
		if bytes.Equal(b, write(t, other, format)) {
			t.Errorf("%s as %s: other data, the same drawing", kind, format)
		}
	}
}

func checkXML(t *testing.T, kind string, b []byte) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader(b)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
}

// TestPlotBytes: the same records give the same bytes, others give others, and both
// formats are what they claim to be.
func TestPlotBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("drawing is slow under the race detector, and nothing of it runs at the same time: not with -short")
	}
	again, other := figures(t, 0.5), figures(t, 0.75)
	for kind, f := range figures(t, 0.5) {
		checkBytes(t, kind, f, again[kind], other[kind])
		img := decode(t, f)
		if size := img.Bounds().Size(); size.X < 900 || size.X > 1200 || size.Y < 600 || size.Y > 1100 {
			t.Errorf("%s: %v pixels", kind, size)
		}
		if n := inked(img, img.Bounds()); n < 3000 {
			t.Errorf("%s: only %d pixels are not white", kind, n)
		}
		edge := img.Bounds()
		edge.Max.X = 8
		if n := inked(img, edge); n > 0 {
			t.Errorf("%s: %d pixels at the edge: something is cut off", kind, n)
		}
		edge = img.Bounds()
		edge.Min.X = edge.Max.X - 8
		if n := inked(img, edge); n > 0 {
			t.Errorf("%s: %d pixels at the right edge: something is cut off", kind, n)
		}
	}
	if err := again["eps"].Write(io.Discard, "gif"); err == nil {
		t.Error("written as gif")
	}
}

func decode(t *testing.T, f *plot.Figure) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(write(t, f, "png")))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// inked counts the pixels of r that are not white.
func inked(img image.Image, r image.Rectangle) int {
	n := 0
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y < 250 {
				n++
			}
		}
	}
	return n
}

// TestHeatGrey: printed in grey, more is lighter, from 0 to 1, and 1 is darker than
// the paper. The cells of a strip of 40 are found by their places in the picture.
func TestHeatGrey(t *testing.T) {
	const n = 40
	var lines []string
	var points [][2]float64
	for i := range n {
		p := float64(i) / (n - 1)
		lines = append(lines, line("p", "lbp", "0", i, p, max(p, 0.5), ""))
		points = append(points, [2]float64{float64(i), 0}, [2]float64{float64(i), 1})
	}
	records := read(t, lines...)
	for i := range records {
		records[i].Index = 2 * i
	}
	grid, err := plot.HeatGrid(records, "x.csv", points, "p_lower")
	if err != nil {
		t.Fatal(err)
	}
	img := decode(t, plot.DrawHeat(grid, [2]int{0, 1}))
	// The lower row of cells: from the left side of the frame to the right one.
	const y, left, right = 600, 108, 900
	last := -1
	for i := range n {
		x := left + (right-left)*(2*i+1)/(2*n)
		grey := int(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
		if grey <= last || grey > 240 {
			t.Fatalf("cell %d has grey %d, the one before %d", i, grey, last)
		}
		last = grey
	}
}

// TestPlotLimits: more than a figure holds is an error, not an unreadable figure.
func TestPlotLimits(t *testing.T) {
	var lines []string
	for i := range 61 {
		lines = append(lines, line(fmt.Sprintf("p%d", i), "lbp", "0.1", 0, 0.5, 1, ""))
	}
	records := read(t, lines...)
	series, _, err := plot.EpsSeries(records, plot.ByWords[:2])
	if err != nil || len(series) != 61 {
		t.Fatal(len(series), err)
	}
	if _, err := plot.DrawEps(series[:21]); err == nil || !strings.Contains(err.Error(), "21 lines are too many") {
		t.Error(err)
	}
	if f, err := plot.DrawEps(series[:20]); err != nil || len(write(t, f, "png")) == 0 {
		t.Error(err)
	}
	groups, methods, _, err := plot.BarGroups(records, plot.ByWords[:2])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plot.DrawBars(groups, methods, plot.ByWords[:2]); err == nil || !strings.Contains(err.Error(), "61 bars are too many") {
		t.Error(err)
	}
}

// TestEpsTexts: eps stands at its tick as typed, where there is room, and texts are
// complete.
func TestEpsTexts(t *testing.T) {
	var lines []string
	for _, eps := range []string{"0.10", "0", "1e-4", "0.05"} {
		lines = append(lines, line("p", "lbp", eps, 0, 0.5, 1, ""))
	}
	series, _, err := plot.EpsSeries(read(t, lines...), plot.ByWords)
	if err != nil {
		t.Fatal(err)
	}
	f, err := plot.DrawEps(series)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(write(t, f, "svg"))
	for text, want := range map[string]bool{"0": true, "1e-4": false, "0.05": true, "0.10": true, "p.npz, lbp, argmax_is:1, , x.csv, r.jsonl": true,
		"Bounds of P_safe against eps, mean over 1 input": true, "solid, filled marks: p_lower, certified": true} {
		if strings.Contains(svg, ">"+text+"<") != want {
			t.Errorf("text %q: want %v", text, want)
		}
	}
}

// TestStatisticalClaimsNothing: records of --method statistical have no bar and no line
// of a certified p_lower, which their 0 is not.
func TestStatisticalClaimsNothing(t *testing.T) {
	records := read(t, line("p", "lbp", "0.1", 0, 0.5, 1, ""), line("p", "statistical", "0.1", 0, 0, 1, `"statistical":{"samples":9,"safe":9,"lower":0.5,"upper":1,"confidence":0.99},`))
	groups, methods, _, err := plot.BarGroups(records, []string{"posterior", "method"})
	if err != nil {
		t.Fatal(err)
	}
	bars, err := plot.DrawBars(groups, methods, plot.ByWords[:2])
	if err != nil {
		t.Fatal(err)
	}
	series, _, err := plot.EpsSeries(records, []string{"posterior", "method"})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := plot.DrawEps(series)
	if err != nil {
		t.Fatal(err)
	}
	if svg := string(write(t, bars, "svg")); strings.Contains(svg, "certified: statistical") || !strings.Contains(svg, ">p_lower, certified: lbp<") {
		t.Error("bars: the legend claims a p_lower of drawn networks, or none of lbp")
	}
	// Every series has its p_upper.
	if dashed := strings.Count(string(write(t, lines, "svg")), "stroke-dasharray"); dashed < len(series) {
		t.Errorf("%d dashed lines for %d series", dashed, len(series))
	}
	if len(series) != 2 || !series[1].Points[0].NoLower || series[0].Points[0].NoLower {
		t.Errorf("series %+v", series)
	}
}
