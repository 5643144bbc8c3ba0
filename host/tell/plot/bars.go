package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// blocks draws one bar a place: from lo to hi, filled, or hatched without a fill.
type blocks struct {
	x, lo, hi []float64
	shift     vg.Length
	fill      color.Color
	outline   draw.LineStyle
}

const (
	barWidth  = 15 // in points
	slotWidth = 26 // a bar and its interval
	groupGap  = 22
	mostBars  = 60
)

// Plot is plot.Plotter's.
func (b *blocks) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for i := range b.x {
		x := trX(b.x[i]) + b.shift
		b.block(&c, vg.Rectangle{Min: vg.Point{X: x, Y: trY(b.lo[i])}, Max: vg.Point{X: x + barWidth, Y: trY(b.hi[i])}})
	}
}

// Thumbnail is plot.Thumbnailer's.
func (b *blocks) Thumbnail(c *draw.Canvas) {
	b.block(c, vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: c.Min.Y}, Max: vg.Point{X: c.Max.X, Y: c.Max.Y}})
}

func (b *blocks) block(c *draw.Canvas, r vg.Rectangle) {
	if b.fill != nil {
		c.SetColor(b.fill)
		c.Fill(r.Path())
	} else {
		hatch(*c, r, 4, b.outline)
	}
	c.SetLineStyle(b.outline)
	c.Stroke(r.Path())
}

// DrawBars draws the bounds of each of BarGroups as a group of bars, one a method.
func DrawBars(groups []Group, methods, by []string) (*Figure, error) {
	if n := len(groups) * len(methods); n > mostBars {
		return nil, fmt.Errorf("%d bars are too many for a figure, which holds %d: give fewer files, or fewer words to --by", n, mostBars)
	}
	lo, hi := 0, 0
	for _, g := range groups {
		for _, m := range g.Bars {
			if m != nil {
				lo, hi = min(cmp.Or(lo, m.Inputs), m.Inputs), max(hi, m.Inputs)
			}
		}
	}
	x := strings.Join(butMethod(by), ", ")
	if strings.Contains("\n"+groups[0].Name, "\neps ") {
		x = strings.TrimPrefix(x+", and ", ", and ") + "eps: radius of T in each coordinate (unit of the inputs)"
	}
	p := newPlot("Bounds of P_safe, "+countWords(lo, hi), x, "probability, mean over inputs")
	probabilities(p)
	keys, err := addBars(p, groups, methods)
	if err != nil {
		return nil, err
	}
	needed := barsAxis(p, groups, len(methods))
	f := withLegend(p, max(epsWidth, needed), epsHeight, keys)
	f.least = max(f.least, needed)
	return f, nil
}

// barsAxis names the groups and returns the least width of a figure where bars and names
// have room.
func barsAxis(p *plot.Plot, groups []Group, methods int) vg.Length {
	each := vg.Length(methods)*slotWidth + groupGap
	var ticks []plot.Tick
	for i, g := range groups {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: g.Name})
		each = max(each, p.X.Tick.Label.Width(g.Name)+groupGap)
	}
	p.X.Tick.Marker, p.X.Tick.Length = plot.ConstantTicks(ticks), 0
	p.X.Min, p.X.Max = -0.5, float64(len(groups))-0.5
	return vg.Length(len(groups))*each + 90
}

// addBars draws the bars and returns their legend.
func addBars(p *plot.Plot, groups []Group, methods []string) ([]key, error) {
	thin := draw.LineStyle{Color: color.Black, Width: vg.Points(0.6)}
	fills, err := greys(len(methods))
	if err != nil {
		return nil, err
	}
	var keys []key
	certified := false
	var all intervals
	for k, method := range methods {
		claims := false
		shift := vg.Length(k)*slotWidth - vg.Length(len(methods))*slotWidth/2
		lower := &blocks{shift: shift, fill: fills[k], outline: thin}
		upper := &blocks{shift: shift, outline: thin}
		stat := &spans{shift: shift + barWidth + 2 + halfCap, style: draw.LineStyle{Color: color.Black, Width: vg.Points(0.9)}}
		for i, g := range groups {
			m := g.Bars[k]
			if m == nil {
				continue
			}
			x := float64(i)
			if !m.NoLower {
				claims = true
				lower.x, lower.lo, lower.hi = append(lower.x, x), append(lower.lo, 0), append(lower.hi, m.Lower)
			}
			if m.Upper < 1 {
				certified = true
				upper.x, upper.lo, upper.hi = append(upper.x, x), append(upper.lo, m.Upper), append(upper.hi, 1)
			}
			all.add(m)
			if m.Statistical {
				stat.x, stat.lo, stat.hi = append(stat.x, x), append(stat.lo, m.StatLower), append(stat.hi, m.StatUpper)
			}
		}
		p.Add(lower, upper, stat)
		if claims {
			keys = append(keys, key{"p_lower, certified: " + method, []plot.Thumbnailer{lower}})
		}
	}
	if certified {
		keys = append(keys, key{"hatched, from the top down to p_upper: 1 - p_upper, certified", []plot.Thumbnailer{&blocks{outline: thin}}})
	}
	return append(keys, all.keys(thin)...), nil
}

// greys are n fills whose lightness alone tells them apart.
func greys(n int) ([]color.Color, error) {
	scale := moreland.BlackBody()
	scale.SetMin(0)
	scale.SetMax(1)
	at := []float64{0.9}
	if n > 1 {
		at = floats.Span(make([]float64, n), 0.25, 0.95)
	}
	var fills []color.Color
	for _, v := range at {
		c, err := scale.At(v)
		if err != nil {
			return nil, err
		}
		fills = append(fills, c)
	}
	return fills, nil
}
