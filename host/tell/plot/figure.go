// Package plot draws figures: bounds against eps, bars, heatmaps, bands and the steps of a
// propagation, as SVG or PNG. It says what a figure needs to be read rightly (which numbers are
// certified, which are estimates, what is not known) and refuses what it cannot show. It proves
// nothing: no number of a record passes through it. It is the only package that knows
// gonum.org/v1/plot.
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a drawing of a size.
type Figure struct {
	width, height vg.Length
	paint         func(draw.Canvas)
}

// dotsPerInch is the resolution of PNG files.
const dotsPerInch = 144

// Write writes the figure as "svg" or "png". The same figure gives the same bytes.
func (f *Figure) Write(w io.Writer, format string) error {
	switch format {
	case "png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))}
		f.paint(draw.New(c))
		_, err := c.WriteTo(w)
		return err
	case "svg":
		c := vgsvg.New(f.width, f.height)
		page := draw.New(c)
		page.SetColor(color.White)
		page.Fill(page.Rectangle.Path())
		f.paint(page)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return err
		}
		// Where the font is absent, one with the same widths keeps texts in place.
		family := []byte("font-family:Liberation Sans;")
		_, err := w.Write(bytes.ReplaceAll(b.Bytes(), family, []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
		return err
	}
	return fmt.Errorf("format %q is neither svg nor png", format)
}

// sans is the style of every text of a figure.
func sans(style text.Style, size float64) text.Style {
	style.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Points(size))
	return style
}

// newPlot is an empty plot in the style of all figures.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle, p.Title.Padding = sans(p.Title.TextStyle, 11), vg.Points(8)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle, a.Label.Padding = sans(a.Label.TextStyle, 10), vg.Points(4)
		a.Tick.Label, a.Tick.Length = sans(a.Tick.Label, 9), vg.Points(5)
	}
	return p
}

// probabilities makes y the axis of a probability.
func probabilities(p *plot.Plot) {
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks(fifths())
}

func fifths() []plot.Tick {
	var ticks []plot.Tick
	for i := range 6 {
		ticks = append(ticks, plot.Tick{Value: float64(i) / 5, Label: fmt.Sprintf("0.%d", 2*i)})
	}
	ticks[5].Label = "1.0"
	return ticks
}

// key is one row of a legend.
type key struct {
	text   string
	thumbs []plot.Thumbnailer
}

const (
	margin    = 10 // around everything, in points
	keyHeight = 14 // of a row of a legend
	keyGap    = 8  // above a legend
)

// withLegend is a plot with its legend below, where it covers no data. The figure
// is as wide as the legend's texts need.
func withLegend(p *plot.Plot, width, height vg.Length, keys []key) *Figure {
	return legendBelow(width, height, keys, p.Draw)
}

// legendBelow returns what paint draws with a legend below it.
func legendBelow(width, height vg.Length, keys []key, paint func(draw.Canvas)) *Figure {
	l := plot.NewLegend()
	l.TextStyle = sans(l.TextStyle, 9)
	l.Top, l.Left, l.ThumbnailWidth = true, true, vg.Points(28)
	l.Padding = keyHeight - l.TextStyle.Rectangle("x").Max.Y
	below := vg.Length(len(keys)) * keyHeight
	if len(keys) > 0 {
		below += keyGap
	}
	for _, k := range keys {
		l.Add(k.text, k.thumbs...)
		width = max(width, l.ThumbnailWidth+l.TextStyle.Width(" "+k.text)+2*margin)
	}
	return &Figure{width, height + below, func(c draw.Canvas) {
		c = draw.Crop(c, margin, -margin, margin, -margin)
		paint(draw.Crop(c, 0, 0, below, 0))
		if len(keys) > 0 {
			l.Draw(draw.Crop(c, 0, 0, 0, -(c.Max.Y - c.Min.Y - below + keyGap)))
		}
	}}
}

// hatch draws rising lines across r, step apart, which go on in neighbours that
// are hatched too.
func hatch(c draw.Canvas, r vg.Rectangle, step vg.Length, style draw.LineStyle) {
	w, h := r.Max.X-r.Min.X, r.Max.Y-r.Min.Y
	corner := r.Min.X - r.Min.Y
	first := vg.Length(math.Ceil(float64((corner-h)/step)))*step - corner
	for d := first; d < w; d += step {
		// The line x - y = d from the corner, cut to the rectangle.
		if from, to := max(0, d), min(w, d+h); from < to {
			c.StrokeLine2(style, r.Min.X+from, r.Min.Y+from-d, r.Min.X+to, r.Min.Y+to-d)
		}
	}
}

// spans draws intervals as bars with caps, shifted sideways so that several at one
// place are seen.
type spans struct {
	x, lo, hi []float64
	shift     vg.Length
	style     draw.LineStyle
}

const halfCap = 2.5

// Plot is plot.Plotter's.
func (s *spans) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for i := range s.x {
		s.bar(&c, trX(s.x[i])+s.shift, trY(s.lo[i]), trY(s.hi[i]))
	}
}

// GlyphBoxes is plot.GlyphBoxer's: a plot leaves room for them.
func (s *spans) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var boxes []plot.GlyphBox
	for i := range s.x {
		boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(s.x[i]), Y: p.Y.Norm(s.lo[i]), Rectangle: vg.Rectangle{
			Min: vg.Point{X: s.shift - halfCap}, Max: vg.Point{X: s.shift + halfCap}}})
	}
	return boxes
}

// Thumbnail is plot.Thumbnailer's.
func (s *spans) Thumbnail(c *draw.Canvas) {
	s.bar(c, c.Center().X, c.Min.Y, c.Max.Y)
}

func (s *spans) bar(c *draw.Canvas, x, lo, hi vg.Length) {
	c.StrokeLine2(s.style, x, lo, x, hi)
	c.StrokeLine2(s.style, x-halfCap, lo, x+halfCap, lo)
	c.StrokeLine2(s.style, x-halfCap, hi, x+halfCap, hi)
}
