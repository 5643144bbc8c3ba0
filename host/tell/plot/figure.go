// Package plot draws figures: bounds against eps, bars, heatmaps, bands and the steps of a
// propagation, as SVG, PNG or PDF. It says what a figure needs to be read rightly (which numbers are
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
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a drawing of a size, with a legend below it.
type Figure struct {
	width, height vg.Length // of everything
	// least is the width at which texts and bars still have their places.
	least vg.Length
	title string
	keys  []key
	// paint draws all but title and legend.
	paint func(draw.Canvas)
}

// dotsPerInch is the resolution of PNG files.
const dotsPerInch = 144

// Formats are what Write writes.
var Formats = []string{"svg", "png", "pdf"}

func init() { // a PDF has no time of its own, and its parts a fixed order
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultCatalogSort(true)
}

// Write writes the figure in one of Formats. The same figure gives the same bytes.
func (f *Figure) Write(w io.Writer, format string) error {
	switch format {
	case "png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))}
		f.draw(draw.New(c))
		_, err := c.WriteTo(w)
		return err
	case "svg":
		c := vgsvg.New(f.width, f.height)
		page := draw.New(c)
		page.SetColor(color.White)
		page.Fill(page.Rectangle.Path())
		f.draw(page)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return err
		}
		// Where the font is absent, one with the same widths keeps texts in place.
		family := []byte("font-family:Liberation Sans;")
		_, err := w.Write(bytes.ReplaceAll(b.Bytes(), family, []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
		return err
	case "pdf":
		c := vgpdf.New(f.width, f.height)
		f.draw(draw.New(c))
		_, err := c.WriteTo(w)
		return err
	}
	return fmt.Errorf("format %q is none of %s", format, strings.Join(Formats, ", "))
}

// Entitle puts a heading above the figure, whose own title stays: it says what is shown.
func (f *Figure) Entitle(title string) {
	if f.title == "" && title != "" {
		f.height += titleHeight
	}
	if f.title = quoted(title, 200); f.title != "" {
		f.width = max(f.width, titleStyle().Width(f.title)+2*margin)
	}
}

// shortest is the least height of what is between title and legend.
const shortest = 190

// Resize makes the figure as many inches wide and high, at the same sizes of texts: a legend gets more
// lines where it is narrow. The error says how large it has to be at least.
func (f *Figure) Resize(width, height float64) error {
	w, h := vg.Length(width)*vg.Inch, vg.Length(height)*vg.Inch
	least := f.least
	if f.title != "" {
		least = max(least, titleStyle().Width(f.title)+2*margin)
	}
	if !(w >= least) {
		return fmt.Errorf("is too narrow: this figure has to be %.1f inches wide at least", math.Ceil(float64(10*least/vg.Inch))/10)
	}
	if need := f.above() + shortest + f.below(w-2*margin) + 2*margin; !(h >= need) {
		return fmt.Errorf("is too low: this figure has to be %.1f inches high at least", math.Ceil(float64(10*need/vg.Inch))/10)
	}
	f.width, f.height = w, h
	return nil
}

// draw draws the figure on all of a canvas.
func (f *Figure) draw(c draw.Canvas) {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	width := c.Max.X - c.Min.X
	if f.title != "" {
		style := titleStyle()
		style.XAlign, style.YAlign = draw.XCenter, draw.YTop
		c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y}, f.title)
	}
	c = draw.Crop(c, 0, 0, 0, -f.above())
	f.paint(draw.Crop(c, 0, 0, f.below(width), 0))
	if len(f.keys) > 0 {
		l := newLegend()
		for _, k := range f.rows(width) {
			l.Add(k.text, k.thumbs...)
		}
		l.Draw(draw.Crop(c, 0, 0, 0, -(c.Max.Y - c.Min.Y - f.below(width) + keyGap)))
	}
}

// above is the height of the title's row.
func (f *Figure) above() vg.Length {
	if f.title == "" {
		return 0
	}
	return titleHeight
}

// below is the height of the legend at a width.
func (f *Figure) below(width vg.Length) vg.Length {
	if len(f.keys) == 0 {
		return 0
	}
	return vg.Length(len(f.rows(width)))*keyHeight + keyGap
}

// rows are the lines of the legend at a width: what is too long for one goes on in the next.
func (f *Figure) rows(width vg.Length) (rows []key) {
	l := newLegend()
	for _, k := range f.keys {
		for i, line := range wrapped(k.text, l.TextStyle, width-l.ThumbnailWidth-l.TextStyle.Width(" ")) {
			row := key{text: line}
			if i == 0 {
				row.thumbs = k.thumbs
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// wrapped are the lines of a text that are at most as wide, if no word is wider.
func wrapped(words string, style text.Style, width vg.Length) (lines []string) {
	for word := range strings.SplitSeq(words, " ") {
		last := len(lines) - 1
		if last >= 0 && style.Width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func titleStyle() text.Style { return sans(plot.New().Title.TextStyle, 13) }

func newLegend() plot.Legend {
	l := plot.NewLegend()
	l.TextStyle = sans(l.TextStyle, 9)
	l.Top, l.Left, l.ThumbnailWidth = true, true, vg.Points(28)
	l.Padding = keyHeight - l.TextStyle.Rectangle("x").Max.Y
	return l
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
	margin      = 10 // around everything, in points
	titleHeight = 22
	keyHeight   = 14 // of a row of a legend
	keyGap      = 8  // above a legend
)

// narrowest is the least width of one plot.
const narrowest = 220

// withLegend is a plot with its legend below, where it covers no data. The figure
// is as wide as the legend's texts need.
func withLegend(p *plot.Plot, width, height vg.Length, keys []key) *Figure {
	title, label := p.Title.Text, p.X.Label.Text
	f := legendBelow(width, height, keys, func(c draw.Canvas) {
		width := c.Max.X - c.Min.X
		if ticks, ok := p.X.Tick.Marker.(*epsAxis); ok {
			ticks.length = min(axisWidth, width-(epsWidth-2*margin-axisWidth))
		}
		if width < epsWidth-2*margin {
			p.Title.Text = strings.Join(wrapped(title, p.Title.TextStyle, width), "\n")
			p.X.Label.Text = strings.Join(wrapped(label, p.X.Label.TextStyle, width-60), "\n")
		}
		p.Draw(c)
	})
	f.least = narrowest
	return f
}

// legendBelow returns what paint draws with a legend below it.
func legendBelow(width, height vg.Length, keys []key, paint func(draw.Canvas)) *Figure {
	f := &Figure{width: width, least: width, keys: keys, paint: paint}
	l := newLegend()
	for _, k := range keys {
		f.width = max(f.width, l.ThumbnailWidth+l.TextStyle.Width(" "+k.text)+2*margin)
	}
	f.height = height + f.below(f.width-2*margin)
	return f
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
