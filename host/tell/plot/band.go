package plot

import (
	"errors"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Band is the posterior predictive of a network of one input and one output: the
// mean and the standard deviation of y at each x, from drawn networks. Both are
// estimates.
type Band struct {
	// X are at least two inputs, from the least to the greatest.
	X, MeanApprox, SDApprox []float64
	// Networks is how many were drawn.
	Networks int
}

// BandBox is a property and what was proved of it: T = [XLo, XHi], S = [YLo, YHi],
// and certified bounds of P_safe(T, S).
type BandBox struct{ XLo, XHi, YLo, YHi, PLower, PUpper float64 }

// BandPanel is the properties of one eps (half the width of T) and one delta (half
// the width of S), both as typed.
type BandPanel struct {
	Eps, Delta string
	Boxes      []BandBox
}

// mostPanels is the greatest number of panels of a figure.
const mostPanels = 6

// DrawBand draws the band once for each panel, with the panel's boxes on it, each
// in the colour of its certified lower bound.
func DrawBand(band Band, panels []BandPanel) (*Figure, error) {
	if err := band.check(); err != nil {
		return nil, err
	}
	if len(panels) < 1 || len(panels) > mostPanels {
		return nil, fmt.Errorf("%d panels: a figure of a band holds 1 to %d", len(panels), mostPanels)
	}
	for _, p := range panels {
		for i, b := range p.Boxes {
			if err := b.check(); err != nil {
				return nil, fmt.Errorf("eps %s, delta %s: box %d: %w", quoted(p.Eps, 20), quoted(p.Delta, 20), i, err)
			}
		}
	}
	if x, y := bandAxes(band, panels); !allFinite([]float64{x[1] - x[0], y[1] - y[0]}) {
		return nil, errors.New("the band and the boxes reach further than a figure can show")
	}
	cells := &heatCells{scale: heatScale()}
	rows, width, height := bandRows(band, panels, cells)
	return legendBelow(width, height, bandKeys(band, panels, cells), func(c draw.Canvas) {
		low, high := drawPanels(draw.Crop(c, 0, -barSpace, 0, 0), rows)
		drawBetween(newBar(cells, "p_lower (certified)"), draw.Crop(c, c.Max.X-c.Min.X-barSpace+panelGap, 0, 0, 0), low, high)
	}), nil
}

// check returns what makes a band no band.
func (b *Band) check() error {
	switch {
	case len(b.X) < 2 || len(b.MeanApprox) != len(b.X) || len(b.SDApprox) != len(b.X):
		return fmt.Errorf("a band of %d inputs, %d means and %d standard deviations: give equally many of each, two or more", len(b.X), len(b.MeanApprox), len(b.SDApprox))
	case !allFinite(b.X, b.MeanApprox, b.SDApprox):
		return errors.New("the band has a number that is not finite")
	case !rising(b.X):
		return errors.New("the inputs of the band do not rise")
	case slices.Min(b.SDApprox) < 0:
		return errors.New("the band has a standard deviation below 0")
	case b.Networks < 1:
		return fmt.Errorf("the band is of %d networks", b.Networks)
	}
	return nil
}

// check returns what makes a box no property with bounds.
func (b *BandBox) check() error {
	switch {
	case !allFinite([]float64{b.XLo, b.XHi, b.YLo, b.YHi}):
		return errors.New("an end is not finite")
	case b.XLo > b.XHi || b.YLo > b.YHi:
		return fmt.Errorf("[%v, %v] x [%v, %v] is empty", b.XLo, b.XHi, b.YLo, b.YHi)
	case !(0 <= b.PLower && b.PLower <= b.PUpper && b.PUpper <= 1):
		return fmt.Errorf("p_lower %v and p_upper %v are no bounds of a probability", b.PLower, b.PUpper)
	}
	return nil
}

// cell returns what is known of the box.
func (b *BandBox) cell() Cell {
	if b.PLower == 0 && b.PUpper == 1 {
		return Cell{State: Nothing}
	}
	return Cell{Proved, b.PLower}
}

// edges are the lines at mean - 2 sd and mean + 2 sd.
func (b *Band) edges() (lo, hi []float64) {
	lo, hi = make([]float64, len(b.X)), make([]float64, len(b.X))
	return floats.AddScaledTo(lo, b.MeanApprox, -2, b.SDApprox), floats.AddScaledTo(hi, b.MeanApprox, 2, b.SDApprox)
}

// bandRows makes the panels, all with the same axes, and says how large their
// figure is to be.
func bandRows(band Band, panels []BandPanel, cells *heatCells) (rows [][]*plot.Plot, width, height vg.Length) {
	cols := len(panels)
	if cols > 3 {
		cols = (cols + 1) / 2
	}
	x, y := bandAxes(band, panels)
	for i, panel := range panels {
		p := newPanel(fmt.Sprintf("eps %s, delta %s", quoted(panel.Eps, 14), quoted(panel.Delta, 14)), "", "")
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x[0], x[1], y[0], y[1]
		if i%cols == 0 {
			rows = append(rows, make([]*plot.Plot, cols))
			p.Y.Label.Text = "output y (unit of the data)"
		}
		if i+cols >= len(panels) {
			p.X.Label.Text = "input x (unit of the data)"
		}
		p.Add(band.ribbon(), &bandBoxes{panel.Boxes, cells}, band.mean())
		rows[i/cols][i%cols] = p
	}
	width = []vg.Length{430, 285, 225}[cols-1]*vg.Length(cols) + barSpace
	return rows, width, []vg.Length{330, 240}[len(rows)-1] * vg.Length(len(rows))
}

// bandAxes are the ranges that hold the band and every box.
func bandAxes(band Band, panels []BandPanel) (x, y [2]float64) {
	lo, hi := band.edges()
	xs, ys := slices.Clone(band.X), append(lo, hi...)
	for _, p := range panels {
		for _, b := range p.Boxes {
			xs, ys = append(xs, b.XLo, b.XHi), append(ys, b.YLo, b.YHi)
		}
	}
	x[0], x[1] = slices.Min(xs), slices.Max(xs)
	y[0], y[1] = padded(slices.Min(ys), slices.Max(ys), 0.03)
	return x, y
}

// ribbon draws the band of two standard deviations.
type ribbon struct {
	fill   *plotter.Polygon
	lo, hi *plotter.Line
}

func (b *Band) ribbon() *ribbon {
	lo, hi := b.edges()
	edge := draw.LineStyle{Color: color.Gray{0x90}, Width: vg.Points(0.5)}
	r := &ribbon{lo: stroke(b.X, lo, edge), hi: stroke(b.X, hi, edge)}
	around := slices.Clone(r.hi.XYs)
	slices.Reverse(around)
	r.fill = &plotter.Polygon{XYs: []plotter.XYs{append(around, r.lo.XYs...)}, Color: color.Gray{0xf5}} // lighter than any box
	return r
}

// Plot is plot.Plotter's.
func (r *ribbon) Plot(c draw.Canvas, p *plot.Plot) {
	r.fill.Plot(c, p)
	r.lo.Plot(c, p)
	r.hi.Plot(c, p)
}

// Thumbnail is plot.Thumbnailer's.
func (r *ribbon) Thumbnail(c *draw.Canvas) {
	c.SetColor(r.fill.Color)
	c.Fill(c.Rectangle.Path())
	c.StrokeLine2(r.lo.LineStyle, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	c.StrokeLine2(r.lo.LineStyle, c.Min.X, c.Max.Y, c.Max.X, c.Max.Y)
}

// mean is the line of the mean, seen on light and on dark boxes.
func (b *Band) mean() *cased {
	return &cased{stroke(b.X, b.MeanApprox, draw.LineStyle{Color: color.Black, Width: vg.Points(0.7)})}
}

// cased is a line with a white casing.
type cased struct{ line *plotter.Line }

func (l *cased) each(f func(*plotter.Line)) {
	casing := *l.line
	casing.Color, casing.Width = color.White, casing.Width+vg.Points(0.7)
	f(&casing)
	f(l.line)
}

// Plot is plot.Plotter's.
func (l *cased) Plot(c draw.Canvas, p *plot.Plot) {
	l.each(func(one *plotter.Line) { one.Plot(c, p) })
}

// Thumbnail is plot.Thumbnailer's.
func (l *cased) Thumbnail(c *draw.Canvas) {
	l.each(func(one *plotter.Line) { one.Thumbnail(c) })
}

// boxOutline is thin: boxes may stand side by side.
var boxOutline = draw.LineStyle{Color: color.Gray{0x40}, Width: vg.Points(0.35)}

// bandBoxes draws the boxes of a panel.
type bandBoxes struct {
	boxes []BandBox
	cells *heatCells
}

// Plot is plot.Plotter's.
func (b *bandBoxes) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for _, box := range b.boxes {
		r := vg.Rectangle{Min: vg.Point{X: trX(box.XLo), Y: trY(box.YLo)}, Max: vg.Point{X: trX(box.XHi), Y: trY(box.YHi)}}
		b.cells.cell(&c, r, r, box.cell())
		c.SetLineStyle(boxOutline)
		c.Stroke(r.Path())
	}
}

// Thumbnail is plot.Thumbnailer's: a box in each of three colours.
func (b *bandBoxes) Thumbnail(c *draw.Canvas) {
	w := (c.Max.X - c.Min.X) / 3
	for i := range 3 {
		r := vg.Rectangle{Min: vg.Point{X: c.Min.X + vg.Length(i)*w, Y: c.Min.Y}, Max: vg.Point{X: c.Min.X + vg.Length(i+1)*w, Y: c.Max.Y}}
		b.cells.cell(c, r, r, Cell{Proved, float64(i+1) / 3})
		c.SetLineStyle(boxOutline)
		c.Stroke(r.Path())
	}
}

// bandKeys explains lines, band and boxes.
func bandKeys(band Band, panels []BandPanel, cells *heatCells) []key {
	drawn := fmt.Sprintf("%d drawn networks: an estimate, not certified", band.Networks)
	if band.Networks == 1 {
		drawn = "1 drawn network: an estimate, not certified"
	}
	keys := []key{
		{"line: mean of y over " + drawn, []plot.Thumbnailer{band.mean()}},
		{"grey band: mean ± 2 standard deviations over " + drawn, []plot.Thumbnailer{band.ribbon()}},
	}
	any, nothing := false, false
	for _, p := range panels {
		for _, b := range p.Boxes {
			any, nothing = true, nothing || b.cell().State == Nothing
		}
	}
	if any {
		keys = append(keys, key{"box: as wide as T (2 eps), as high as S (2 delta); its colour is p_lower of P_safe(T, S), certified", []plot.Thumbnailer{&bandBoxes{nil, cells}}})
	}
	if nothing {
		keys = append(keys, nothingKey(cells))
	}
	return keys
}
