package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"psafe/host/record"
)

// Colours that people with any colour vision tell apart and that differ in lightness, so that they do
// so in grey too (TestInksInGrey), and marks, filled for lower and open for upper bounds. There are no
// common factors of how many there are of each: line i of 20 has a colour and a mark of its own.
var (
	inks = []color.RGBA{{0, 0, 0, 255}, {0, 0x46, 0x8b, 255}, {0xb3, 0x46, 0x0e, 255}, {0x3f, 0xae, 0x7c, 255}, {0xe6, 0xa1, 0x2c, 255}}

	filled = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, diamond{filled: true}}
	open   = []draw.GlyphDrawer{draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, diamond{}}
)

// mostSeries is the greatest number of lines of one figure: each has a colour and mark of its own.
const mostSeries = 20

const (
	epsWidth, epsHeight = 500, 330
	// axisWidth is about how long the eps axis is, to see which labels fit.
	axisWidth = 425
)

// DrawEps draws bounds of P_safe against eps.
func DrawEps(series []Series) (*Figure, error) { return quantities[0].DrawEps(series) }

// DrawEps draws bounds of the quantity against eps, of series of what Of gives.
func (q *Quantity) DrawEps(series []Series) (*Figure, error) {
	if len(series) > mostSeries {
		return nil, fmt.Errorf("%d lines are too many for a figure, which holds %d: give fewer files, or fewer words to --by", len(series), mostSeries)
	}
	p := newPlot(q.title+", "+inputsWords(series), "eps: radius of T in each coordinate (unit of the inputs)", "probability, mean over inputs")
	probabilities(p)
	keys, err := addSeries(p, series, q)
	if err != nil {
		return nil, err
	}
	epsTicks(p, series)
	return withLegend(p, epsWidth, epsHeight, keys), nil
}

// addSeries draws all series and returns their legend.
func addSeries(p *plot.Plot, series []Series, of *Quantity) ([]key, error) {
	var keys []key
	var bars []*spans
	covering := covered(series)
	for i, s := range series {
		more := vg.Points(min(0.7*float64(covering[i]), 2.1))
		ink := inks[i%len(inks)]
		var lower, upper plotter.XYs
		stat := &spans{style: draw.LineStyle{Color: ink, Width: vg.Points(0.8)}}
		for _, q := range s.Points {
			upper = append(upper, plotter.XY{X: q.X, Y: q.Upper})
			if !q.NoLower {
				lower = append(lower, plotter.XY{X: q.X, Y: q.Lower})
			}
			if q.Statistical {
				stat.x, stat.lo, stat.hi = append(stat.x, q.X), append(stat.lo, q.StatLower), append(stat.hi, q.StatUpper)
			}
		}
		if len(stat.x) > 0 {
			bars = append(bars, stat)
		}
		mark := i
		var thumbs []plot.Thumbnailer
		for _, bound := range []struct {
			xy     plotter.XYs
			glyph  draw.GlyphDrawer
			dashes []vg.Length
		}{{upper, open[mark%len(open)], dashes}, {lower, filled[mark%len(filled)], nil}} {
			if len(bound.xy) == 0 {
				continue // no p_lower is claimed
			}
			line, points, err := plotter.NewLinePoints(bound.xy)
			if err != nil {
				return nil, err
			}
			// Upper bounds of several methods are often equal: shifted dashes show it.
			line.LineStyle = draw.LineStyle{Color: ink, Width: vg.Points(1.2) + more, Dashes: bound.dashes, DashOffs: vg.Points(4 * float64(i))}
			points.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(3.2) + more, Shape: bound.glyph}
			p.Add(line, points)
			thumbs = []plot.Thumbnailer{line, points}
		}
		keys = append(keys, key{s.Name, thumbs})
	}
	// Of several intervals at one eps each has its place right of the point.
	for k, stat := range bars {
		stat.shift = vg.Points(min(4, 24/float64(len(bars))) * float64(k+1))
		p.Add(stat)
	}
	return append(keys, epsKeys(series, of)...), nil
}

// covered counts for each line how many later ones have a point in the place of one of its own: as
// much broader it is, and seen around them.
func covered(series []Series) []int {
	const near = 0.01 // of the height, about a line's width
	counts := make([]int, len(series))
	meets := func(a, b *Series) bool {
		for _, q := range a.Points {
			for _, r := range b.Points {
				if q.X == r.X && (max(q.Upper-r.Upper, r.Upper-q.Upper) < near || !q.NoLower && !r.NoLower && max(q.Lower-r.Lower, r.Lower-q.Lower) < near) {
					return true
				}
			}
		}
		return false
	}
	for i := range series {
		for k := i + 1; k < len(series); k++ {
			if meets(&series[i], &series[k]) {
				counts[i]++
			}
		}
	}
	return counts
}

// diamond is a mark on its tip.
type diamond struct{ filled bool }

// DrawGlyph is draw.GlyphDrawer's.
func (d diamond) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 1.25 // as much ink as the others
	var p vg.Path
	p.Move(vg.Point{X: at.X, Y: at.Y + r})
	for _, corner := range []vg.Point{{X: r}, {Y: -r}, {X: -r}} {
		p.Line(at.Add(corner))
	}
	p.Close()
	c.SetColor(style.Color)
	if d.filled {
		c.Fill(p)
		return
	}
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: vg.Points(0.5)})
	c.Stroke(p)
}

// dashes are the dashes of upper bounds.
var dashes = []vg.Length{vg.Points(4), vg.Points(4)}

// epsKeys explains the kinds of lines and bars, in grey.
func epsKeys(series []Series, of *Quantity) []key {
	grey := color.Gray{0x70}
	line := func(g draw.GlyphDrawer, dashes []vg.Length) []plot.Thumbnailer {
		return []plot.Thumbnailer{
			&plotter.Line{LineStyle: draw.LineStyle{Color: grey, Width: vg.Points(1.2), Dashes: dashes}},
			&plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: grey, Radius: vg.Points(3.2), Shape: g}},
		}
	}
	keys := []key{
		{"solid, filled marks: " + of.lower, line(filled[0], nil)},
		{"dashed, open marks: " + of.upper, line(open[0], dashes)},
	}
	var all intervals
	for _, s := range series {
		for _, q := range s.Points {
			all.add(&q.Mean)
		}
	}
	return append(keys, all.keys(draw.LineStyle{Color: grey, Width: vg.Points(0.8)})...)
}

// intervals are the statistical intervals of a figure, and what probabilities are a share of.
type intervals struct {
	confidence float64 // the least
	n, parents int
	sets       record.Sets
}

func (i *intervals) add(m *record.Mean) {
	i.sets.Join(&m.Sets)
	if !m.Statistical {
		return
	}
	if i.n++; i.n == 1 {
		i.confidence = m.Confidence
	}
	i.confidence = min(i.confidence, m.Confidence)
	if m.OfParent {
		i.parents++
	}
}

// keys tells what a bar of an interval is, and that P_safe is a share of finitely many networks.
func (i *intervals) keys(style draw.LineStyle) (keys []key) {
	if i.n > 0 {
		of := ""
		switch i.parents {
		case 0:
		case i.n:
			of = " for the posterior that the networks were drawn from"
		default:
			of = ", some for the posterior that the networks were drawn from"
		}
		words := fmt.Sprintf("beside them: statistical interval%s, mean of the ends, each of confidence >= %v, not certified", of, i.confidence)
		keys = append(keys, key{words, []plot.Thumbnailer{&spans{style: style}}})
	}
	if of := i.sets.Words(); of != "" {
		keys = append(keys, key{"P_safe is a share of " + of + " and speaks of no others", nil})
	}
	if of := i.sets.Features(); of != "" {
		keys = append(keys, key{of, nil})
	}
	return keys
}

// inputsWords tells how many inputs the means are over.
func inputsWords(series []Series) string {
	lo, hi := series[0].Points[0].Inputs, 0
	for _, s := range series {
		for _, q := range s.Points {
			lo, hi = min(lo, q.Inputs), max(hi, q.Inputs)
		}
	}
	return countWords(lo, hi)
}

func countWords(lo, hi int) string {
	switch {
	case lo != hi:
		return fmt.Sprintf("mean over %d to %d inputs", lo, hi)
	case lo == 1:
		return "mean over 1 input"
	}
	return fmt.Sprintf("mean over %d inputs", lo)
}

// epsTicks puts a tick at every eps, with its decimal as typed where there is room
// for it.
func epsTicks(p *plot.Plot, series []Series) {
	texts := map[float64]string{}
	var all []float64
	for _, s := range series {
		for _, q := range s.Points {
			if _, known := texts[q.X]; !known {
				all = append(all, q.X)
				texts[q.X] = quoted(q.Eps, 14)
			}
		}
	}
	lo, hi := slices.Min(all), slices.Max(all)
	if lo == hi {
		lo, hi = lo-max(lo, 1)/2, hi+max(hi, 1)/2
	}
	p.X.Min, p.X.Max = lo, hi
	p.X.Tick.Marker = &epsAxis{all, texts, axisWidth, p.X.Tick.Label}
}

// epsAxis has ticks at radii, for an axis of about that length.
type epsAxis struct {
	at     []float64
	texts  map[float64]string
	length vg.Length
	style  text.Style
}

// Ticks is plot.Ticker's.
func (a *epsAxis) Ticks(lo, hi float64) []plot.Tick {
	return roomy(a.at, a.texts, func(text string) float64 {
		return float64(a.style.Width(text)+10) * (hi - lo) / float64(a.length)
	})
}
