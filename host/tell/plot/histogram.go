package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"psafe/host/record"
)

// histogramBins is the number of parts of [0, 1] in a histogram.
const histogramBins = 20

// bins returns how many numbers lie in each part; the last has 1 too.
func bins(values []float64) []float64 {
	counts := make([]float64, histogramBins)
	for _, v := range values {
		counts[min(int(v*histogramBins), histogramBins-1)]++
	}
	return counts
}

// columnsOf draws counts as columns from edge to edge of each part of [0, most], or of half of it.
type columnsOf struct {
	counts      []float64
	most        float64
	left, right float64 // within a part, from 0 to 1
	fill        color.Color
	outline     draw.LineStyle
}

// Plot is plot.Plotter's.
func (b *columnsOf) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	of := blocks{fill: b.fill, outline: b.outline}
	for i, n := range b.counts {
		if n == 0 {
			continue
		}
		parts := float64(len(b.counts))
		lo, hi := b.most*(float64(i)+b.left)/parts, b.most*(float64(i)+b.right)/parts
		of.block(&c, vg.Rectangle{Min: vg.Point{X: trX(lo), Y: trY(0)}, Max: vg.Point{X: trX(hi), Y: trY(n)}})
	}
}

// DrawCounts draws counts of what as columns from left to right. Texts stand at the edges of columns, of
// which there is one more than columns.
func DrawCounts(title, x, what string, counts []int, edges map[int]string) *Figure {
	of := &columnsOf{most: float64(len(counts)), left: 0.06, right: 0.94, fill: color.Gray{0x55}, outline: draw.LineStyle{Color: color.Black, Width: vg.Points(0.6)}}
	for _, n := range counts {
		of.counts = append(of.counts, float64(n))
	}
	var ticks []plot.Tick
	for i := range len(counts) + 1 {
		if text, there := edges[i]; there {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: text})
		}
	}
	p := newPlot(title, x, what)
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, of.most, plot.ConstantTicks(ticks)
	p.Y.Min, p.Y.Max = 0, max(1, slices.Max(of.counts))*1.05
	p.Y.Tick.Marker = plot.TickerFunc(roundTicks)
	p.Add(of)
	return withLegend(p, 340, 200, nil)
}

// mostHistograms is the greatest number of panels of a figure of histograms.
const mostHistograms = 12

// DrawHistogram draws how many records have which p_lower, filled, and which p_upper, hatched: in a
// panel for each group by the words of by, and for each property if there are several. Records of
// method statistical claim no p_lower.
func DrawHistogram(records []record.Placed, by []string) (*Figure, error) {
	labels, err := labelled(records, by)
	if err != nil {
		return nil, err
	}
	names, sorted := split(records, func(i int) string { return labels[i] })
	if n := len(names); n > mostHistograms {
		return nil, fmt.Errorf("%d histograms are too many for a figure, which holds %d: give fewer files, or fewer words to --by", n, mostHistograms)
	}
	thin := draw.LineStyle{Color: color.Black, Width: vg.Points(0.6)}
	var all intervals
	var parts [][2]*columnsOf
	most := 1.0
	for _, of := range sorted {
		low, up := histogramOf(of, &all, thin)
		parts = append(parts, [2]*columnsOf{low, up})
		most = max(most, slices.Max(low.counts), slices.Max(up.counts))
	}
	keys := []key{{"filled: p_lower, certified", []plot.Thumbnailer{&blocks{fill: color.Gray{0x55}, outline: thin}}},
		{"hatched: p_upper, certified (1 says nothing)", []plot.Thumbnailer{&blocks{outline: thin}}}}
	keys = append(keys, all.keys(thin)...)
	panel := func(p *plot.Plot, i int) {
		p.X.Min, p.X.Max = 0, 1
		p.X.Tick.Marker = plot.ConstantTicks(fifths())
		p.Y.Min, p.Y.Max = 0, most*1.05
		p.Add(parts[i][0], parts[i][1])
	}
	if len(names) == 1 {
		p := newPlot(fmt.Sprintf("Distribution of the bounds of P_safe, %d records", len(records)), "bound of P_safe", "records")
		panel(p, 0)
		return withLegend(p, epsWidth, epsHeight, keys), nil
	}
	for i := range names {
		names[i] = fmt.Sprintf("%s: %d records", names[i], len(sorted[i]))
	}
	return histogramPanels(names, "bound of P_safe", "records", keys, panel), nil
}

// histogramPanels are several histograms in one figure, each filled in by panel.
func histogramPanels(names []string, x, y string, keys []key, panel func(p *plot.Plot, i int)) *Figure {
	cols := min(len(names), 3)
	if len(names) == 4 {
		cols = 2
	}
	rows := make([][]*plot.Plot, (len(names)+cols-1)/cols)
	for i, name := range names {
		if i%cols == 0 {
			rows[i/cols] = make([]*plot.Plot, cols)
		}
		atX, atY := "", ""
		if i+cols >= len(names) {
			atX = x
		}
		if i%cols == 0 {
			atY = y
		}
		p := newPanel(name, atX, atY)
		panel(p, i)
		rows[i/cols][i%cols] = p
	}
	width := vg.Length(cols) * 270
	for i := range names {
		t := rows[i/cols][i%cols].Title
		width = max(width, vg.Length(cols)*(t.TextStyle.Width(t.Text)+panelGap))
	}
	return legendBelow(width, vg.Length(len(rows))*190, keys, func(c draw.Canvas) { drawPanels(c, rows) })
}

// histogramOf are the columns of p_lower and of p_upper of records; their intervals go to all.
func histogramOf(records []record.Placed, all *intervals, thin draw.LineStyle) (low, up *columnsOf) {
	var lower, upper []float64
	for i := range records {
		r := records[i].Record
		m := record.Mean{}
		m.Sets.Add(r)
		all.add(&m)
		if r.Method != "statistical" {
			lower = append(lower, float64(r.PLower))
		}
		upper = append(upper, float64(r.PUpper))
	}
	return &columnsOf{counts: bins(lower), most: 1, left: 0.06, right: 0.5, fill: color.Gray{0x55}, outline: thin},
		&columnsOf{counts: bins(upper), most: 1, left: 0.5, right: 0.94, outline: thin}
}

// Spread is a line of DrawQuantiles: at each radius, in ascending order, quantiles of p_lower.
type Spread struct {
	Name   string
	Points []SpreadPoint
}

// SpreadPoint is one radius: the tenth, the half and nine tenths of p_lower lie at or below these,
// which are numbers of records. Inputs is how many there are.
type SpreadPoint struct {
	Eps               string
	X                 float64
	Tenth, Half, Nine float64
	Inputs            int
}

// Spreads sorts records into lines as EpsSeries does; records that claim no p_lower are in none.
func Spreads(records []record.Placed, by []string) ([]Spread, error) {
	records = slices.DeleteFunc(slices.Clone(records), func(r record.Placed) bool { return r.Method == "statistical" })
	if len(records) == 0 {
		return nil, fmt.Errorf("no record claims a p_lower: all are of method statistical: draw psafe plot eps")
	}
	labels, err := labelled(records, by)
	if err != nil {
		return nil, err
	}
	names, sorted := split(records, func(i int) string { return labels[i] })
	var list []Spread
	for s, name := range names {
		of := Spread{Name: name}
		byEps := map[float64][]float64{}
		for _, r := range sorted[s] {
			x, err := radius(&r)
			if err != nil {
				return nil, err
			}
			if byEps[x] == nil {
				of.Points = append(of.Points, SpreadPoint{Eps: r.Eps, X: x})
			}
			byEps[x] = append(byEps[x], float64(r.PLower))
		}
		slices.SortFunc(of.Points, func(a, b SpreadPoint) int {
			if a.X < b.X {
				return -1
			}
			return 1
		})
		for i := range of.Points {
			q := &of.Points[i]
			p := byEps[q.X]
			slices.Sort(p)
			at := func(tenths int) float64 { return p[(len(p)-1)*tenths/10] } // the lower of two
			q.Tenth, q.Half, q.Nine, q.Inputs = at(1), at(5), at(9), len(p)
		}
		list = append(list, of)
	}
	return list, nil
}

// DrawQuantiles draws how p_lower is distributed at each radius: the median as a line, and a bar from
// the first tenth to the last.
func DrawQuantiles(spreads []Spread) (*Figure, error) {
	if len(spreads) > mostSeries {
		return nil, fmt.Errorf("%d lines are too many for a figure, which holds %d: give fewer files, or fewer words to --by", len(spreads), mostSeries)
	}
	p := newPlot("Distribution of p_lower against eps", "eps: radius of T in each coordinate (unit of the inputs)", "p_lower, certified")
	probabilities(p)
	var keys []key
	var series []Series
	for i, s := range spreads {
		ink, mark := inks[i%len(inks)], filled[i%len(filled)]
		var half plotter.XYs
		bar := &spans{shift: vg.Points(3 * float64(i)), style: draw.LineStyle{Color: ink, Width: vg.Points(0.9)}}
		eps := Series{Name: s.Name}
		for _, q := range s.Points {
			half = append(half, plotter.XY{X: q.X, Y: q.Half})
			bar.x, bar.lo, bar.hi = append(bar.x, q.X), append(bar.lo, q.Tenth), append(bar.hi, q.Nine)
			eps.Points = append(eps.Points, EpsPoint{Eps: q.Eps, X: q.X})
		}
		series = append(series, eps)
		line, points, err := plotter.NewLinePoints(half)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: ink, Width: vg.Points(1.2), Dashes: dashesOf(i)}
		points.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(3.2), Shape: mark}
		p.Add(line, points, bar)
		keys = append(keys, key{s.Name, []plot.Thumbnailer{line, points}})
	}
	keys = append(keys, key{"lines: half of the records have at most this p_lower", nil},
		key{"bars: from the lowest tenth of the records to the highest", []plot.Thumbnailer{&spans{style: draw.LineStyle{Color: color.Gray{0x70}, Width: vg.Points(0.9)}}}})
	epsTicks(p, series)
	return withLegend(p, epsWidth, epsHeight, keys), nil
}

// dashesOf returns the dashes of line i, so that lines differ where colours do not: whole ones first.
func dashesOf(i int) []vg.Length {
	return [][]vg.Length{nil, {vg.Points(7), vg.Points(2)}, {vg.Points(1.5), vg.Points(2)}, {vg.Points(8), vg.Points(2), vg.Points(1.5), vg.Points(2)}}[i%4]
}
