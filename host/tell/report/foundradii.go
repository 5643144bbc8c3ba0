package report

import (
	"fmt"
	"html/template"
	"math/big"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
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
	part.SVG = drawShares("Shares of the inputs by radius, "+part.Of+"; the table below it has the numbers", f, most)
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
	return drawHistogram(title, note, bins, map[int]string{0: "0", radiusBins / 2: edge(radiusBins / 2), radiusBins: edge(radiusBins)})
}

// drawShares draws the share of the inputs that are certified up to a radius, and dashed that of those
// that are not refuted there, as steps from 0 to the largest radius.
func drawShares(label string, f *record.FoundRadii, most *big.Rat) template.HTML {
	var d drawing
	d.begin(curveWidth, curveHeight, label)
	right, ground := curveWidth-curveRight, curveHeight-curveBottom
	end, _ := most.Float64()
	atX := func(eps string) float64 {
		if end == 0 {
			return curveLeft
		}
		return curveLeft + property.MustExact(eps).Approx()/end*(right-curveLeft)
	}
	atY := func(share float64) float64 { return ground - share*(ground-curveTop) }
	for i := range 6 {
		y := atY(float64(i) / 5)
		d.line("rule", curveLeft, y, right, y)
		d.text("ytick", curveLeft-6, y+3.5, fmt.Sprintf("%.1f", float64(i)/5))
	}
	steps := func(counts []record.RadiusCount, left, n int, class string) {
		var path strings.Builder
		fmt.Fprintf(&path, "M%s %s", num(curveLeft), num(atY(float64(left)/float64(max(1, n)))))
		for _, c := range counts {
			left -= c.Inputs
			fmt.Fprintf(&path, "H%sV%s", num(atX(c.Eps)), num(atY(float64(left)/float64(max(1, n)))))
		}
		fmt.Fprintf(&path, "H%s", num(right))
		fmt.Fprintf(&d, `<path class="curve s0 %s" d="%s"/>`, class, path.String())
	}
	if f.RefutedOf() > 0 {
		steps(f.RefutedAt(), f.RefutedOf(), f.RefutedOf(), "up")
	}
	steps(f.CertifiedAt(), f.Certified(), f.Inputs(), "down")
	for i, x := range []float64{curveLeft, (curveLeft + right) / 2, right} {
		text := strings.TrimSuffix(strings.TrimRight(new(big.Rat).Mul(most, big.NewRat(int64(i), 2)).FloatString(6), "0"), ".")
		d.line("axis", x, ground, x, ground+4)
		d.text([]string{"tick first", "tick", "tick last"}[i], x, ground+17, text)
	}
	d.text("label", (curveLeft+right)/2, curveHeight-4, "eps: radius of T")
	return d.end()
}
