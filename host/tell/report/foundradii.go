package report

import (
	"fmt"
	"html/template"
	"math"
	"math/big"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/plot"
	"psafe/host/tell/summary"
)

// radiiPart is about the radii that were looked for of one question: curves of the shares of the inputs
// that are certified up to a radius and not refuted there, and histograms of both radii.
type radiiPart struct {
	Of         string
	SVG        template.HTML
	Rows       []radiusRow
	Histograms []histogram
}

// radiusRow is a line of the table that says what the curves do.
type radiusRow struct{ Eps, Lower, Upper string }

// mostRadiusRows is the greatest number of lines of that table.
const mostRadiusRows = 64

// radiiParts has one for each group of radii.
func radiiParts(groups []summary.RadiiGroup) (list []radiiPart) {
	for i := range groups {
		if g := &groups[i]; len(list) < mostCharts && g.Certified+g.Refuted > 0 {
			list = append(list, radiiPartOf(g))
		}
	}
	return list
}

func radiiPartOf(g *summary.RadiiGroup) radiiPart {
	f := g.Found
	part := radiiPart{Of: shown(fmt.Sprintf("%s, %s, %s, %s", g.PosteriorNamed(), g.Property, g.Wanted, record.MethodToday(g.Method)))}
	certified, refuted := f.CertifiedAt(), f.RefutedAt()
	all := append(append([]record.RadiusCount(nil), certified...), refuted...)
	most := new(big.Rat)
	for _, r := range all {
		if x := property.MustExact(r.Eps).Rat(); x.Cmp(most) > 0 {
			most = x
		}
	}
	end, _ := most.Float64()
	part.SVG = picture(plot.DrawFound(fitting(part.Of), f, max(end, math.SmallestNonzeroFloat64)), "Shares of the inputs by radius, "+part.Of+"; the table below it has the numbers")
	for _, eps := range rowsOf(all) {
		lower, upper := f.ShareAt(property.MustExact(eps))
		part.Rows = append(part.Rows, radiusRow{shown(eps), record.DecimalDown(lower, 4), record.DecimalUp(upper, 4)})
	}
	part.Histograms = append(part.Histograms, radiusHistogram("certified radii", fmt.Sprintf("%s of %s inputs have none", grouped(f.Inputs()-f.Certified()), grouped(f.Inputs())), certified, most))
	if f.RefutedOf() > 0 {
		part.Histograms = append(part.Histograms, radiusHistogram("refuted radii", fmt.Sprintf("%s of %s inputs have none", grouped(f.RefutedOf()-f.Refuted()), grouped(f.RefutedOf())), refuted, most))
	}
	return part
}

// rowsOf are radii for a table, each once and in ascending order, evenly chosen where they are many.
func rowsOf(all []record.RadiusCount) (rows []string) {
	var f record.FoundRadii
	for _, r := range all {
		f.Add(&record.Record{RadiusEnd: record.RadiusEndWords[0], Eps: r.Eps, Verdict: "safe"})
	}
	list := f.CertifiedAt()
	step := (len(list) + mostRadiusRows - 1) / mostRadiusRows
	for i := len(list) - 1; i >= 0; i -= step { // the largest is among them
		rows = append([]string{list[i].Eps}, rows...)
	}
	return rows
}

// radiusBins is the number of parts of a histogram of radii, from 0 to the largest one.
const radiusBins = 20

func radiusHistogram(title, note string, counts []record.RadiusCount, most *big.Rat) histogram {
	bins := make([]bin, radiusBins)
	width := new(big.Rat).Quo(most, big.NewRat(radiusBins, 1))
	edge := func(i int) string {
		return strings.TrimSuffix(strings.TrimRight(new(big.Rat).Mul(width, big.NewRat(int64(i), 1)).FloatString(6), "0"), ".")
	}
	for i := range bins {
		bins[i].Words = fmt.Sprintf("%s to below %s", edge(i), edge(i+1))
	}
	bins[radiusBins-1].Words = fmt.Sprintf("%s to %s", edge(radiusBins-1), edge(radiusBins))
	for _, c := range counts {
		i := 0
		if width.Sign() > 0 {
			q := new(big.Rat).Quo(property.MustExact(c.Eps).Rat(), width)
			i = int(new(big.Int).Quo(q.Num(), q.Denom()).Int64())
		}
		bins[min(i, radiusBins-1)].Count += c.Inputs
	}
	return drawHistogram(title, note, "inputs", bins, map[int]string{0: "0", radiusBins / 2: edge(radiusBins / 2), radiusBins: edge(radiusBins)})
}
