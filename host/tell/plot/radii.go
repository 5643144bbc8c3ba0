package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"psafe/host/read/property"
	"psafe/host/record"
)

// RadiiOf are the radii of the inputs of one series.
type RadiiOf struct {
	Name string
	Ends []record.RadiusEnds
}

// RadiiSeries sorts records into series by the words of by, and sums up what they say of each input.
func RadiiSeries(records []record.Placed, by []string) ([]RadiiOf, error) {
	labels, err := labelled(records, by)
	if err != nil {
		return nil, err
	}
	names, sorted := split(records, func(i int) string { return labels[i] })
	var list []RadiiOf
	for s, name := range names {
		var of record.Radii
		for _, r := range sorted[s] {
			if _, err := radius(&r); err != nil {
				return nil, err
			}
			of.Add(r.Record)
		}
		list = append(list, RadiiOf{name, of.List()})
	}
	return list, nil
}

// shareAbove is the curve of the share of n inputs that are above a radius, which falls at each of
// these: corners of steps from 0 to most.
func shareAbove(at []float64, n int, most float64) (x, y []float64) {
	at = slices.Sorted(slices.Values(at))
	left := n
	x, y = []float64{0}, []float64{1}
	for _, r := range at {
		x, y = append(x, r, r), append(y, float64(left)/float64(n), float64(left-1)/float64(n))
		left--
	}
	return append(x, most), append(y, float64(left)/float64(n))
}

// certifiedCurve falls where inputs lose their certificate; one without a certified radius has none
// from the start.
func (r *RadiiOf) certifiedCurve(most float64) (x, y []float64) {
	var at []float64
	for _, e := range r.Ends {
		if e.IsCertified {
			at = append(at, e.Certified)
		} else {
			at = append(at, 0)
		}
	}
	return shareAbove(at, len(r.Ends), most)
}

// refutedCurve falls where inputs are refuted.
func (r *RadiiOf) refutedCurve(most float64) (x, y []float64) {
	var at []float64
	for _, e := range r.Ends {
		if e.IsRefuted {
			at = append(at, e.Refuted)
		}
	}
	return shareAbove(at, len(r.Ends), most)
}

// shareCurves are the shares of the inputs of a series that are certified up to a radius, and not refuted
// below it: corners of steps, as x and y.
type shareCurves struct {
	name               string
	certified, refuted [2][]float64
}

// DrawRadii draws, for each series, the share of its inputs that are certified up to a radius as a line,
// and the share of those that are not refuted there, dashed.
func DrawRadii(list []RadiiOf) (*Figure, error) {
	if len(list) > mostSeries {
		return nil, fmt.Errorf("%d lines are too many for a figure, which holds %d: give fewer files, or fewer words to --by", len(list), mostSeries)
	}
	most, err := largestOf(list)
	if err != nil {
		return nil, err
	}
	var curves []shareCurves
	for _, r := range list {
		c := shareCurves{name: fmt.Sprintf("%s: %d inputs", r.Name, len(r.Ends))}
		c.certified[0], c.certified[1] = r.certifiedCurve(most * 1.05)
		c.refuted[0], c.refuted[1] = r.refutedCurve(most * 1.05)
		curves = append(curves, c)
	}
	return drawShares(curves, most*1.05), nil
}

// DrawFound is DrawRadii of radii that were looked for, up to most.
func DrawFound(name string, f *record.FoundRadii, most float64) *Figure {
	curve := func(counts []record.RadiusCount, left, of int) (xy [2][]float64) {
		at := func(x float64) {
			xy[0], xy[1] = append(xy[0], x), append(xy[1], float64(left)/float64(max(1, of)))
		}
		at(0)
		for _, c := range counts {
			x := property.MustExact(c.Eps).Approx()
			at(x)
			left -= c.Inputs
			at(x)
		}
		at(most)
		return xy
	}
	c := shareCurves{name: fmt.Sprintf("%s: %d inputs", name, f.Inputs()), certified: curve(f.CertifiedAt(), f.Certified(), f.Inputs())}
	if f.RefutedOf() > 0 {
		c.refuted = curve(f.RefutedAt(), f.RefutedOf(), f.RefutedOf())
	}
	return drawShares([]shareCurves{c}, most)
}

// drawShares draws curves from 0 to end.
func drawShares(list []shareCurves, end float64) *Figure {
	p := newPlot("Radii up to which inputs are certified, and from which on they are refuted", "eps: radius of T (unit of the inputs)", "share of the inputs")
	probabilities(p)
	p.X.Min, p.X.Max = 0, end
	var keys []key
	for i, r := range list {
		line := draw.LineStyle{Color: inks[i%len(inks)], Width: vg.Points(1.6)}
		dashed := line
		dashed.Width, dashed.Dashes = vg.Points(1), []vg.Length{vg.Points(4), vg.Points(2)}
		certified := stroke(r.certified[0], r.certified[1], line)
		p.Add(stroke(r.refuted[0], r.refuted[1], dashed), certified)
		keys = append(keys, key{r.name, []plot.Thumbnailer{certified}})
	}
	keys = append(keys, key{"lines: certified up to this radius; dashed: not refuted below it", nil})
	return withLegend(p, epsWidth, epsHeight, keys)
}

// largestOf is the largest radius of all.
func largestOf(list []RadiiOf) (float64, error) {
	most := 0.0
	for _, r := range list {
		for _, e := range r.Ends {
			most = max(most, e.Certified, e.Refuted)
		}
	}
	if !(most > 0 && most <= math.MaxFloat64) {
		return 0, fmt.Errorf("no record certifies or refutes anything at a radius above 0: give files of psafe radius, or of psafe certify with a list of radii")
	}
	return most, nil
}

// partsOf counts the certified and the refuted radii in each part of [0, most], and how many inputs have
// none. A radius on an edge, which is one but for rounding, belongs to the part above it.
func (r *RadiiOf) partsOf(most float64) (certified, refuted []float64, uncertified, unrefuted int) {
	certified, refuted = make([]float64, histogramBins), make([]float64, histogramBins)
	part := func(x float64) int { return min(int(x/most*histogramBins+1e-9), histogramBins-1) }
	for _, e := range r.Ends {
		if e.IsCertified {
			certified[part(e.Certified)]++
		} else {
			uncertified++
		}
		if e.IsRefuted {
			refuted[part(e.Refuted)]++
		} else {
			unrefuted++
		}
	}
	return certified, refuted, uncertified, unrefuted
}

// DrawRadiiHistogram draws how many inputs have which certified radius, filled, and which refuted one,
// hatched, in a panel for each series.
func DrawRadiiHistogram(list []RadiiOf) (*Figure, error) {
	if len(list) > mostHistograms {
		return nil, fmt.Errorf("%d histograms are too many for a figure, which holds %d: give fewer files, or fewer words to --by", len(list), mostHistograms)
	}
	end, err := largestOf(list)
	if err != nil {
		return nil, err
	}
	thin := draw.LineStyle{Color: color.Black, Width: vg.Points(0.6)}
	var parts [][2]*columnsOf
	var names []string
	high := 1.0
	for _, r := range list {
		certified, refuted, uncertified, unrefuted := r.partsOf(end)
		parts = append(parts, [2]*columnsOf{{counts: certified, most: end, left: 0.06, right: 0.5, fill: color.Gray{0x55}, outline: thin}, {counts: refuted, most: end, left: 0.5, right: 0.94, outline: thin}})
		names = append(names, fmt.Sprintf("%s: %d inputs, %d without a certified, %d without a refuted radius", r.Name, len(r.Ends), uncertified, unrefuted))
		high = max(high, slices.Max(certified), slices.Max(refuted))
	}
	keys := []key{{"filled: largest certified radius", []plot.Thumbnailer{&blocks{fill: color.Gray{0x55}, outline: thin}}},
		{"hatched: smallest refuted radius", []plot.Thumbnailer{&blocks{outline: thin}}}}
	panel := func(p *plot.Plot, i int) {
		p.X.Min, p.X.Max = 0, end
		p.Y.Min, p.Y.Max = 0, high*1.05
		p.Add(parts[i][0], parts[i][1])
	}
	const x, y = "eps: radius of T (unit of the inputs)", "inputs"
	if len(names) == 1 {
		p := newPlot(names[0], x, y)
		panel(p, 0)
		return withLegend(p, epsWidth, epsHeight, keys), nil
	}
	return histogramPanels(names, x, y, keys, panel), nil
}
