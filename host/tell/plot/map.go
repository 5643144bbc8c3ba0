package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"psafe/host/record"
)

// Map holds boxes of inputs with verdicts, as two coordinates of them show them.
type Map struct {
	Title string
	// Axes hold what the two coordinates are.
	Axes  [2]string
	Cells []MapCell
	// Safe, Unsafe and Unknown say what the verdicts mean, in the legend; the number of cells is added.
	Safe, Unsafe, Unknown string
	// Note, if it is not empty, is one more line of the legend.
	Note string
}

// MapCell is the shadow of a box on the two axes: from Lo to Hi, of the length 0 or more.
type MapCell struct {
	Lo, Hi [2]float64
	// Verdict is safe, unsafe or unknown, as in a record, or empty without a record.
	Verdict string
}

// Verdicts of records, of which only the last has a name there.
const (
	verdictSafe   = "safe"
	verdictUnsafe = "unsafe"
)

// mapOrder is the order in which cells are drawn: where shadows of several cells lie on one another, the
// worst is seen.
var mapOrder = []string{verdictSafe, "", record.Unknown, verdictUnsafe}

// Colours of verdicts: far apart in grey, and for eyes that do not tell red from green.
var (
	safeInk   = color.RGBA{0xa6, 0xd9, 0xc0, 255}
	unsafeInk = color.RGBA{0x9c, 0x2a, 0x1a, 255}
)

const (
	// seam is how far a fill reaches into the next cell, as anti-aliasing leaves a light line between two.
	seam = 0.4
	// outlined is from which size on cells have an outline.
	outlined = 6
)

// mapCells draws the cells of a map.
type mapCells struct{ of *Map }

// Plot is plot.Plotter's.
func (m *mapCells) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for _, verdict := range mapOrder {
		for _, cell := range m.of.Cells {
			if cell.Verdict == verdict {
				r := vg.Rectangle{Min: vg.Point{X: trX(cell.Lo[0]), Y: trY(cell.Lo[1])}, Max: vg.Point{X: trX(cell.Hi[0]), Y: trY(cell.Hi[1])}}
				mapCell(&c, r, c.Rectangle, verdict)
			}
		}
	}
	frame(&c)
}

// mapCell draws one cell within all: green, dark red, hatched grey (unknown) or white with a cross (no record).
func mapCell(c *draw.Canvas, r, all vg.Rectangle, verdict string) {
	fill := map[string]color.Color{verdictSafe: safeInk, verdictUnsafe: unsafeInk, record.Unknown: faint, "": color.White}[verdict]
	c.SetColor(fill)
	c.Fill(vg.Rectangle{Min: r.Min, Max: vg.Point{X: min(r.Max.X+seam, all.Max.X), Y: min(r.Max.Y+seam, all.Max.Y)}}.Path())
	switch verdict {
	case record.Unknown:
		hatch(*c, r, pitch, hatchLine)
	case "":
		c.StrokeLine2(hatchLine, r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
		c.StrokeLine2(hatchLine, r.Min.X, r.Max.Y, r.Max.X, r.Min.Y)
	}
	if size := r.Size(); min(size.X, size.Y) >= outlined {
		c.SetLineStyle(draw.LineStyle{Color: color.Gray{0x60}, Width: vg.Points(0.25)})
		c.Stroke(r.Path())
	}
}

// mapKey shows a verdict in a legend.
type mapKey string

// Thumbnail is plot.Thumbnailer's.
func (k mapKey) Thumbnail(c *draw.Canvas) {
	mapCell(c, c.Rectangle, c.Rectangle, string(k))
	c.SetLineStyle(hatchLine)
	c.Stroke(c.Rectangle.Path())
}

// DrawMap draws a map. It needs at least one cell, which has an extent on both axes; a verdict that no record
// has is an error.
func DrawMap(m *Map) (*Figure, error) {
	p := newPlot(m.Title, m.Axes[0], m.Axes[1])
	ends := func(axis int) (lo, hi float64) {
		var all []float64
		for _, c := range m.Cells {
			all = append(all, c.Lo[axis], c.Hi[axis])
		}
		return slices.Min(all), slices.Max(all)
	}
	if len(m.Cells) == 0 {
		return nil, fmt.Errorf("a map of no cell: give results of cells")
	}
	count := map[string]int{}
	for _, c := range m.Cells {
		if !slices.Contains(mapOrder, c.Verdict) {
			return nil, fmt.Errorf("a map has no colour for the verdict %.40q", c.Verdict)
		}
		count[c.Verdict]++
	}
	p.X.Min, p.X.Max = ends(0)
	p.Y.Min, p.Y.Max = ends(1)
	for i, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = vg.Points(3)
		a.Tick.Marker = plot.TickerFunc(roundTicks)
		if !(a.Min < a.Max) {
			return nil, fmt.Errorf("all cells are the one value %v of %s: choose another coordinate", a.Min, m.Axes[i])
		}
	}
	p.Add(&mapCells{m})
	var keys []key
	for _, k := range []struct{ verdict, text string }{{verdictSafe, m.Safe}, {verdictUnsafe, m.Unsafe}, {record.Unknown, m.Unknown}, {"", "crossed: no record"}} {
		if n := count[k.verdict]; n > 0 {
			keys = append(keys, key{fmt.Sprintf("%s: %d of %d", k.text, n, len(m.Cells)), []plot.Thumbnailer{mapKey(k.verdict)}})
		}
	}
	if m.Note != "" {
		keys = append(keys, key{m.Note, nil})
	}
	return withLegend(p, heatWidth, heatHeight, keys), nil
}
