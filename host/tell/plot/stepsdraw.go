package plot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	blue     = color.RGBA{0, 0x72, 0xb2, 255}
	thinGrey = draw.LineStyle{Color: color.Gray{0x80}, Width: vg.Points(0.5)}
	reluGrey = draw.LineStyle{Color: color.Gray{0xa8}, Width: vg.Points(3)}
	zeroGrey = draw.LineStyle{Color: color.Gray{0xb0}, Width: vg.Points(0.5), Dashes: []vg.Length{vg.Points(1), vg.Points(2)}}
	lbpLine  = draw.LineStyle{Color: blue, Width: vg.Points(1.6)}

	ibpFrame = draw.LineStyle{Color: color.Black, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}
	lbpFrame = draw.LineStyle{Color: blue, Width: vg.Points(0.6)}
	lbpFill  = color.RGBA{0xd9, 0xe9, 0xf5, 255}
)

const (
	// stepsHigh is how high a panel of a neuron is, stepsWide how wide at least.
	stepsHigh, stepsWide = 185, 190
	// stepsRoom is beside a title, for the texts of the axis of its panel.
	stepsRoom = 55
	// mostNeurons is how many rows of panels the figure holds.
	mostNeurons = 3
)

// DrawSteps draws, from left to right, the pre-activations of the hidden neurons,
// their relaxations, and the output with its bounds.
func DrawSteps(s *Steps) (*Figure, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var rows [][]*plot.Plot
	var pre, relu, out vg.Length = stepsWide, stepsWide, 1.3 * stepsWide
	room := func(width vg.Length, p *plot.Plot) vg.Length {
		return max(width, p.Title.TextStyle.Width(p.Title.Text)+stepsRoom)
	}
	for i, n := range s.Hidden {
		row := []*plot.Plot{s.plotPre(i+1, n), s.plotReLU(i+1, n)}
		pre, relu = room(pre, row[0]), room(relu, row[1])
		rows = append(rows, row)
	}
	y := s.plotOutput()
	out = room(out, y)
	left := 2*max(pre, relu) + panelGap
	title := sans(y.Title.TextStyle, 11)
	return legendBelow(left+panelGap+out+2*margin, vg.Length(len(rows))*stepsHigh+2*margin+stepsHead, s.keys(), func(c draw.Canvas) {
		c.FillText(title, vg.Point{X: c.Center().X, Y: c.Max.Y}, s.title())
		c = draw.Crop(c, 0, 0, 0, -stepsHead)
		low, high := drawPanels(draw.Crop(c, 0, left-(c.Max.X-c.Min.X), 0, 0), rows)
		drawBetween(y, draw.Crop(c, left+panelGap, 0, 0, 0), low, high)
	}), nil
}

// stepsHead is the height of the title of the figure.
const stepsHead = 24

func (s *Steps) title() string {
	return fmt.Sprintf("T = [%v, %v], every weight within gamma = %s standard deviations of its mean", s.T[0], s.T[1], quoted(s.Gamma, 20))
}

// newStep is a panel whose axes hold the ranges.
func newStep(title, x, y string, xs, ys [2]float64) *plot.Plot {
	p := newPanel(title, x, y)
	p.X.Min, p.X.Max = padded(xs[0], xs[1], 0.05)
	p.Y.Min, p.Y.Max = padded(ys[0], ys[1], 0.07)
	return p
}

// level is a faint line at y = 0.
func level(p *plot.Plot) {
	p.Add(stroke([]float64{p.X.Min, p.X.Max}, []float64{0, 0}, zeroGrey))
}

// plotPre is the pre-activation of hidden neuron number i over T.
func (s *Steps) plotPre(i int, n StepsNeuron) *plot.Plot {
	p := newStep(fmt.Sprintf("1. ζ%d = %s", i, n.Formula), "input x", fmt.Sprintf("pre-activation ζ%d", i), s.T, n.Pre)
	if p.Y.Min < 0 && p.Y.Max > 0 {
		level(p)
	}
	for _, y := range n.PreApprox {
		p.Add(stroke(s.XApprox, y, thinGrey))
	}
	p.Add(&framed{x: s.T, y: n.Pre, outline: ibpFrame})
	return p
}

// plotReLU is the activation over the interval of the pre-activation.
func (s *Steps) plotReLU(i int, n StepsNeuron) *plot.Plot {
	ends := n.Pre[:]
	lower, upper := n.Lower.least(ends), n.Upper.least(ends)
	ys := [2]float64{min(n.Z[0], lower[0], lower[1]), max(n.Z[1], upper[0], upper[1])}
	p := newStep(fmt.Sprintf("2. z%d = ReLU(ζ%d)", i, i), fmt.Sprintf("pre-activation ζ%d", i), fmt.Sprintf("z%d", i), n.Pre, ys)
	bend := []float64{n.Pre[0], max(n.Pre[0], min(0, n.Pre[1])), n.Pre[1]}
	p.Add(stroke(bend, []float64{max(bend[0], 0), max(bend[1], 0), max(bend[2], 0)}, reluGrey))
	p.Add(stroke(ends, lower, lbpLine), stroke(ends, upper, lbpLine))
	p.Add(&framed{x: n.Pre, y: n.Z, outline: ibpFrame})
	return p
}

// plotOutput is y over T.
func (s *Steps) plotOutput() *plot.Plot {
	o := s.Output
	// A bound of coefficients of both signs bends where x is 0.
	x := []float64{s.T[0], s.T[1]}
	if s.T[0] < 0 && s.T[1] > 0 {
		x = []float64{s.T[0], 0, s.T[1]}
	}
	lower, upper := o.Lower.least(x), o.Negated.least(x)
	floats.Scale(-1, upper)
	ys := [2]float64{min(o.IBP[0], o.LBP[0]), max(o.IBP[1], o.LBP[1])}
	p := newStep("3. y = "+o.Formula, "input x", "output y", s.T, ys)
	p.Add(&framed{x: s.T, y: o.LBP, fill: lbpFill, outline: lbpFrame})
	for _, y := range o.YApprox {
		p.Add(stroke(s.XApprox, y, thinGrey))
	}
	p.Add(stroke(x, lower, lbpLine), stroke(x, upper, lbpLine))
	p.Add(&framed{x: s.T, y: o.IBP, outline: ibpFrame})
	return p
}

// keys explains what is drawn.
func (s *Steps) keys() []key {
	line := func(style draw.LineStyle) []plot.Thumbnailer { return []plot.Thumbnailer{stroke(nil, nil, style)} }
	o := s.Output
	return []key{
		{fmt.Sprintf("thin: %d networks of the weight box, drawn from the posterior (an estimate, not certified)", s.Networks), line(thinGrey)},
		{"thick: ReLU", line(reluGrey)},
		{"solid: linear bounds (LBP): of ReLU, and of y once they are taken back to x", line(lbpLine)},
		{"dashed: intervals by interval arithmetic (IBP); y lies in " + outward(o.IBP), []plot.Thumbnailer{&framed{outline: ibpFrame}}},
		{"filled: the interval of y by its linear bounds (LBP): y lies in " + outward(o.LBP), []plot.Thumbnailer{&framed{fill: lbpFill, outline: lbpFrame}}},
	}
}
