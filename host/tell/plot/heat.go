package plot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	heatWidth, heatHeight = 460, 400
	barSpace              = 75 // for the colour bar
	// pitch is how far apart hatching lines are.
	pitch = 5
	// lightest is the value that would be white: 1 is darker than the paper.
	lightest = 1.09
)

// heatCells draws the cells of a grid. Cells without a value are hatched: what is
// not known must not look like any value, also in grey.
type heatCells struct {
	grid  *Grid
	scale palette.ColorMap
}

var (
	faint     = color.Gray{0xdd}
	hatchLine = draw.LineStyle{Color: color.Gray{0x50}, Width: vg.Points(0.5)}
)

// Plot is plot.Plotter's.
func (h *heatCells) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	g := h.grid
	dx, dy := step(g.X)/2, step(g.Y)/2
	for i, x := range g.X {
		for j, y := range g.Y {
			r := vg.Rectangle{Min: vg.Point{X: trX(x - dx), Y: trY(y - dy)}, Max: vg.Point{X: trX(x + dx), Y: trY(y + dy)}}
			h.cell(&c, r, c.Rectangle, g.Cells[i][j])
		}
	}
	frame(&c)
}

func frame(c *draw.Canvas) {
	c.SetLineStyle(draw.LineStyle{Color: color.Black, Width: vg.Points(0.5)})
	c.Stroke(c.Rectangle.Path())
}

// colourBar draws the colours of the values from 0 to 1.
type colourBar struct{ cells *heatCells }

// Plot is plot.Plotter's.
func (b colourBar) Plot(c draw.Canvas, p *plot.Plot) {
	const n = 200
	_, trY := p.Transforms(&c)
	for i := range n {
		r := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: trY(float64(i) / n)}, Max: vg.Point{X: c.Max.X, Y: trY(float64(i+1) / n)}}
		b.cells.cell(&c, r, c.Rectangle, Cell{Proved, float64(i) / (n - 1)})
	}
	frame(&c)
}

// heatScale gives the colours of probabilities. Lightness grows with the value, so
// a figure is readable in grey.
func heatScale() palette.ColorMap {
	scale := moreland.BlackBody()
	scale.SetMin(0)
	scale.SetMax(lightest)
	return scale
}

// newBar is the colour bar of cells, as a plot with an axis of its own.
func newBar(cells *heatCells, label string) *plot.Plot {
	bar := newPlot("", "", label)
	bar.Add(colourBar{cells})
	bar.HideX()
	bar.X.Padding, bar.Y.Padding = vg.Points(0), vg.Points(0)
	probabilities(bar)
	return bar
}

// cell draws one cell: a colour, hatched grey (nothing proved) or a white cell with
// a cross (no record). The fill reaches a little into the next cells, right and up
// within all, which are drawn over it: else anti-aliasing leaves seams.
func (h *heatCells) cell(c *draw.Canvas, r, all vg.Rectangle, cell Cell) {
	var fill color.Color = color.White
	switch cell.State {
	case Proved:
		var err error
		if fill, err = h.scale.At(cell.Value); err != nil {
			panic(err) // values are probabilities: record.ParseRecord saw to it
		}
	case Nothing:
		fill = faint
	}
	c.SetColor(fill)
	c.Fill(vg.Rectangle{Min: r.Min, Max: vg.Point{X: min(r.Max.X+1, all.Max.X), Y: min(r.Max.Y+1, all.Max.Y)}}.Path())
	switch cell.State {
	case Nothing:
		hatch(*c, r, pitch, hatchLine)
	case NoRecord:
		c.StrokeLine2(hatchLine, r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
		c.StrokeLine2(hatchLine, r.Min.X, r.Max.Y, r.Max.X, r.Min.Y)
	}
}

// cellKey shows a state of cells in a legend.
type cellKey struct {
	cells *heatCells
	state State
}

// Thumbnail is plot.Thumbnailer's.
func (k cellKey) Thumbnail(c *draw.Canvas) {
	k.cells.cell(c, c.Rectangle, c.Rectangle, Cell{State: k.state})
	c.SetLineStyle(hatchLine)
	c.Stroke(c.Rectangle.Path())
}

func step(x []float64) float64 { return (x[len(x)-1] - x[0]) / float64(len(x)-1) }

// DrawHeat draws a grid with a colour bar; columns are the numbers of the input
// coordinates on the axes.
func DrawHeat(g *Grid, columns [2]int) *Figure {
	cells := &heatCells{grid: g, scale: heatScale()}
	title := "Certified " + g.Field + " of P_safe"
	if g.Eps != "" {
		title += ", eps " + quoted(g.Eps, 20)
	}
	p := newPlot(title, coordinate(columns[0]), coordinate(columns[1]))
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = vg.Points(3)
	}
	p.X.Min, p.X.Max = g.X[0]-step(g.X)/2, g.X[len(g.X)-1]+step(g.X)/2
	p.Y.Min, p.Y.Max = g.Y[0]-step(g.Y)/2, g.Y[len(g.Y)-1]+step(g.Y)/2
	p.Add(cells)

	bar := newBar(cells, g.Field+" (probability)")
	keys := heatKeys(cells)
	f := withLegend(p, heatWidth, heatHeight, keys)
	f.width, f.least = f.width+barSpace, f.least+barSpace
	f.paint = func(c draw.Canvas) {
		main := draw.Crop(c, 0, -barSpace, 0, 0)
		p.Draw(main)
		// As high as the cells: the same title above and axis below.
		data := p.DataCanvas(main)
		drawBetween(bar, draw.Crop(c, c.Max.X-c.Min.X-barSpace+margin, 0, 0, 0), data.Min.Y, data.Max.Y)
	}
	return f
}

func coordinate(column int) string {
	return fmt.Sprintf("input coordinate %d (unit of the inputs)", column)
}

// heatKeys explains the kinds of cells that have no colour, those there are.
func heatKeys(h *heatCells) []key {
	there := map[State]bool{}
	for _, column := range h.grid.Cells {
		for _, cell := range column {
			there[cell.State] = true
		}
	}
	var keys []key
	if there[Nothing] {
		keys = append(keys, nothingKey(h))
	}
	if there[NoRecord] {
		keys = append(keys, key{"crossed: no record", []plot.Thumbnailer{cellKey{h, NoRecord}}})
	}
	return keys
}

// nothingKey explains hatching.
func nothingKey(h *heatCells) key {
	return key{"hatched: unknown, nothing proved (p_lower 0 and p_upper 1)", []plot.Thumbnailer{cellKey{h, Nothing}}}
}
