package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panelGap is between the panels of a figure.
const panelGap = 12

// newPanel is a plot among several of a figure, with smaller texts.
func newPanel(title, x, y string) *plot.Plot {
	p := newPlot(title, x, y)
	p.Title.TextStyle, p.Title.Padding = sans(p.Title.TextStyle, 9.5), vg.Points(5)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle, a.Tick.Label = sans(a.Label.TextStyle, 9), sans(a.Tick.Label, 8)
		a.Tick.Length, a.Padding = vg.Points(4), vg.Points(3)
		a.Tick.Marker = plot.TickerFunc(roundTicks)
	}
	return p
}

// drawPanels draws rows of plots whose data areas are equally large and in line; a
// nil plot leaves its place empty. It returns the lowest and the highest place of
// the data areas.
func drawPanels(c draw.Canvas, rows [][]*plot.Plot) (low, high vg.Length) {
	low, high = c.Max.Y, c.Min.Y
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadX: panelGap, PadY: panelGap}
	for i, row := range plot.Align(rows, tiles, c) {
		for j, part := range row {
			if p := rows[i][j]; p != nil {
				p.Draw(part)
				data := p.DataCanvas(part)
				low, high = min(low, data.Min.Y), max(high, data.Max.Y)
			}
		}
	}
	return low, high
}

// drawBetween draws a plot whose data area is to reach from low to high.
func drawBetween(p *plot.Plot, c draw.Canvas, low, high vg.Length) {
	own := c
	// What stands below and above the data depends a little on the height.
	for range 4 {
		c = draw.Crop(c, 0, 0, low-own.Min.Y, high-own.Max.Y)
		own = p.DataCanvas(c)
	}
	p.Draw(c)
}

// framed is a rectangle in the units of the axes.
type framed struct {
	x, y    [2]float64
	fill    color.Color // nil for none
	outline draw.LineStyle
}

// Plot is plot.Plotter's.
func (f *framed) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	f.paint(&c, vg.Rectangle{Min: vg.Point{X: trX(f.x[0]), Y: trY(f.y[0])}, Max: vg.Point{X: trX(f.x[1]), Y: trY(f.y[1])}})
}

// Thumbnail is plot.Thumbnailer's.
func (f *framed) Thumbnail(c *draw.Canvas) {
	f.paint(c, vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: c.Min.Y + 1}, Max: vg.Point{X: c.Max.X, Y: c.Max.Y - 1}})
}

func (f *framed) paint(c *draw.Canvas, r vg.Rectangle) {
	if f.fill != nil {
		c.SetColor(f.fill)
		c.Fill(r.Path())
	}
	c.SetLineStyle(f.outline)
	c.Stroke(r.Path())
}

// stroke is a line through points, which are finite numbers.
func stroke(x, y []float64, style draw.LineStyle) *plotter.Line {
	l := &plotter.Line{LineStyle: style}
	for i := range x {
		l.XYs = append(l.XYs, plotter.XY{X: x[i], Y: y[i]})
	}
	return l
}

// allFinite reports whether all numbers are finite.
func allFinite(lists ...[]float64) bool {
	for _, list := range lists {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}

// rising reports whether numbers grow from one to the next.
func rising(x []float64) bool {
	for i := range x[1:] {
		if !(x[i] < x[i+1]) {
			return false
		}
	}
	return true
}

// padded is a range of an axis, larger by a part of itself at each end, and no point.
func padded(lo, hi, part float64) (float64, float64) {
	more := part * (hi - lo)
	if lo == hi {
		more = max(1, math.Abs(lo)) / 2
	}
	return lo - more, hi + more
}
