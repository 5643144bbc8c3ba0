package plot_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"psafe/host/record"
	"psafe/host/tell/plot"
)

// line is a result record with what figures need.
func line(posterior, method, eps string, index int, lower, upper float64, more string) string {
	return string(record.Seal(fmt.Appendf(nil, `{"index":%d,"property":"argmax_is:1","eps":%q,"method":%q,"p_lower":%v,"p_upper":%v,%s"guarantee":%q,"posterior":"dir/%s.npz","posterior_sha256":"%s00000000","posterior_scale":"sd","activations":["relu"],"inputs":"x.csv","inputs_sha256":"ab","numerics":1,"id":"0123456789abcdef0123456789abcdef","task":0,"tasks":9,"run":"ab"}`,
		index, eps, method, lower, upper, more, record.Guarantee, posterior, posterior)))
}

const interval = `"statistical":{"samples":9,"safe":9,"unsafe":0,"confidence":0.95,"lower":%v,"upper":%v},`

// resealed is a line with a change whose checksum matches.
func resealed(line, from, to string) string {
	object := line[:strings.LastIndex(line, `,"checksum"`)] + "}"
	return string(record.Seal([]byte(strings.Replace(object, from, to, 1))))
}

func read(t *testing.T, lines ...string) []record.Placed {
	t.Helper()
	records, err := record.ReadRecords("r.jsonl", strings.NewReader(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestEpsSeries: means are over the inputs of one series and eps, whatever the order
// of records and the spelling of eps, lower ends rounded down and upper ends up.
func TestEpsSeries(t *testing.T) {
	records := read(t,
		line("p", "lbp", "0.02", 0, 0.25, 1, ""),
		line("p", "lbp", "0.01", 0, 0.5, 0.75, fmt.Sprintf(interval, 0.5, 1)),
		line("p", "lbp", "1e-2", 1, 1, 1, fmt.Sprintf(interval, 0.75, 1)),
		line("p", "lbp", "0.02", 1, 0, 0.5, fmt.Sprintf(interval, 0, 1)),
		line("p", "clbp", "0.01", 0, 0.5, 1, ""),
	)
	series, notes, err := plot.EpsSeries(records, []string{"posterior", "method"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range series {
		for i := range s.Points {
			s.Points[i].Sets = record.Sets{} // package record has TestSets
		}
	}
	want := []plot.Series{
		{Name: "p.npz, lbp", Points: []plot.EpsPoint{
			{Eps: "0.01", X: 0.01, Mean: record.Mean{Inputs: 2, Lower: 0.75, Upper: 0.875, Statistical: true, StatLower: 0.625, StatUpper: 1, Confidence: 0.95}},
			{Eps: "0.02", X: 0.02, Mean: record.Mean{Inputs: 2, Lower: 0.125, Upper: 0.75, Confidence: 0.95}},
		}},
		{Name: "p.npz, clbp", Points: []plot.EpsPoint{{Eps: "0.01", X: 0.01, Mean: record.Mean{Inputs: 1, Lower: 0.5, Upper: 1, Confidence: 1}}}},
	}
	if !reflect.DeepEqual(series, want) {
		t.Errorf("got  %+v\nwant %+v", series, want)
	}
	if len(notes) != 1 || notes[0] != "means are over different inputs: p.npz, clbp at eps 0.01 has 1 of 2" {
		t.Errorf("notes %q", notes)
	}
	if series, _, err = plot.EpsSeries(records[:4], []string{"method"}); err != nil || len(series) != 1 || series[0].Name != "lbp" {
		t.Errorf("--by method: %+v, %v", series, err)
	}
}

// TestBarGroups: a group for each posterior, a bar for each method, none where it
// was not run; several eps are groups of their own; equal names are told apart.
func TestBarGroups(t *testing.T) {
	records := read(t, line("p", "lbp", "0.1", 0, 0.5, 1, ""), line("q", "clbp", "0.1", 0, 0.25, 0.5, ""), line("q", "lbp", "0.1", 0, 0, 1, ""))
	groups, methods, notes, err := plot.BarGroups(records, plot.ByWords[:2])
	if err != nil || len(notes) > 0 || !reflect.DeepEqual(methods, []string{"lbp", "clbp"}) {
		t.Fatal(methods, notes, err)
	}
	if len(groups) != 2 || groups[0].Name != "p.npz" || groups[0].Bars[0].Lower != 0.5 || groups[0].Bars[1] != nil ||
		groups[1].Bars[0].Lower != 0 || groups[1].Bars[1].Upper != 0.5 {
		t.Errorf("%+v", groups)
	}
	if groups, methods, _, err = plot.BarGroups(records[:2], []string{"posterior"}); err != nil || len(groups) != 2 || len(methods) != 1 || groups[1].Bars[0].Lower != 0.25 {
		t.Errorf("by posterior: %+v, %q, %v", groups, methods, err)
	}
	records[1].Eps, records[1].Posterior, records[2].Posterior = "0.2", "p.npz", "p.npz"
	if groups, _, _, err = plot.BarGroups(records, plot.ByWords[:2]); err != nil || len(groups) != 3 ||
		groups[0].Name != "p.npz p0000000\neps 0.1" || groups[1].Name != "p.npz q0000000\neps 0.2" || groups[2].Name != "p.npz q0000000\neps 0.1" {
		t.Errorf("%+v, %v", groups, err)
	}
}

// TestMethodAsked: what auto proved is one line over all inputs, whichever method won where, and one bar.
func TestMethodAsked(t *testing.T) {
	asked := `"flags":"--method auto",`
	records := read(t, line("p", "lbp", "0.1", 0, 0.5, 1, asked), line("p", "clbp", "0.1", 1, 1, 1, asked), line("p", "lbp", "0.1", 0, 0.25, 1, `"flags":"--method lbp",`))
	series, _, err := plot.EpsSeries(records, plot.ByWords[:2])
	if err != nil || len(series) != 2 || series[0].Name != "p.npz, auto" || series[0].Points[0].Inputs != 2 || series[0].Points[0].Lower != 0.75 || series[1].Name != "p.npz, lbp" {
		t.Errorf("%+v, %v", series, err)
	}
	groups, methods, _, err := plot.BarGroups(records, plot.ByWords[:2])
	if err != nil || len(groups) != 1 || !reflect.DeepEqual(methods, []string{"auto", "lbp"}) || groups[0].Bars[0].Lower != 0.75 {
		t.Errorf("%+v, %q, %v", groups, methods, err)
	}
	if groups, methods, _, err = plot.BarGroups(records, []string{"method"}); err != nil || len(groups) != 1 || groups[0].Name != "all records" || len(methods) != 2 {
		t.Errorf("%+v, %q, %v", groups, methods, err)
	}
}

// TestResize: a figure has the size that was asked for, with its legend in more lines where it is narrow,
// or says how large it has to be.
func TestResize(t *testing.T) {
	f := figures(t, 0.5)["eps"]
	for _, c := range []struct {
		width, height float64
		want          string
	}{{3, 9, "is too narrow: this figure has to be 3.1 inches wide"}, {3.1, 2, "is too low: this figure has to be"}, {7, 5, ""}, {3.1, 6, ""}} {
		if err := f.Resize(c.width, c.height); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v x %v: %v, want %q", c.width, c.height, err, c.want)
		}
	}
	f.Entitle("Heading <1>")
	svg := string(write(t, f, "svg"))
	for _, want := range []string{`width="223.2pt" height="454pt"`, ">Heading &lt;1&gt;<", ">the ends, each of confidence &gt;= 0.95, not<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in %.300s", want, svg)
		}
	}
}

// TestPlotRefuses: an error is one line that names file, line and a mend.
func TestPlotRefuses(t *testing.T) {
	good := line("p", "lbp", "0.1", 0, 0.5, 1, "")
	for _, c := range []struct {
		lines []string
		by    string
		want  string
	}{
		{[]string{good, good}, "method", "r.jsonl: line 2: input 0 is in r.jsonl: line 1 as well"},
		{[]string{good, line("p", "clbp", "0.1", 0, 0.5, 1, "")}, "posterior", "r.jsonl: line 2: input 0 is in"},
		{[]string{resealed(good, `"eps":"0.1",`, "")}, "method", "r.jsonl: line 1: the record has no eps"},
		{[]string{line("p", "lbp", "1e999999999", 0, 0.5, 1, "")}, "method", "is no radius"},
		{[]string{good}, "colour", `--by "colour": give words of posterior`},
	} {
		if _, _, err := plot.EpsSeries(read(t, c.lines...), []string{c.by}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("by %s: %v, want %q", c.by, err, c.want)
		}
	}
	if _, _, _, err := plot.BarGroups(read(t, good, good), plot.ByWords[:2]); err == nil {
		t.Error("bars of one input twice")
	}
}

// TestHeatGrid: values come to the cells of their points; what has no record and
// what proves nothing are no zeros.
func TestHeatGrid(t *testing.T) {
	points := [][2]float64{{0, 1}, {0.1, 1}, {0, 3}, {0.1, 3}, {0.2, 3}, {0.2, 1}}
	records := read(t, line("p", "lbp", "0.1", 4, 0.5, 1, ""), line("p", "lbp", "0.1", 0, 0, 0.25, ""), line("p", "clbp", "0.1", 1, 0, 1, ""))
	for field, values := range map[string][3]float64{"p_lower": {0.5, 0, 0}, "p_upper": {1, 0.25, 1}} {
		g, err := plot.HeatGrid(records, "x.csv", points, field)
		if err != nil {
			t.Fatal(err)
		}
		want := [][]plot.Cell{
			{{State: plot.Proved, Value: values[1]}, {}},
			{{State: plot.Nothing, Value: values[2]}, {}},
			{{}, {State: plot.Proved, Value: values[0]}},
		}
		if !reflect.DeepEqual(g.Cells, want) || !reflect.DeepEqual(g.X, []float64{0, 0.1, 0.2}) || !reflect.DeepEqual(g.Y, []float64{1, 3}) {
			t.Errorf("%s: %+v", field, g)
		}
	}
	for _, c := range []struct {
		points [][2]float64
		change func([]record.Placed)
		want   string
	}{
		{points[:5], nil, "x.csv: 5 points are no regular grid of 3 x 2"},
		{append(points[:5:5], [2]float64{0.35, 1}), nil, "x.csv: coordinates 0 and 0.1 are not as far apart"},
		{append(points[:5:5], points[0]), nil, "x.csv: point 5 has the coordinates of another"},
		{[][2]float64{{0, 1}, {0, 2}}, nil, "one and the same coordinate"},
		{points, func(r []record.Placed) { r[2].Index = 6 }, "r.jsonl: line 3: index 6 is none of the 6 points"},
		{points, func(r []record.Placed) { r[2].Index = 4 }, "r.jsonl: line 3: point 4 has a record already"},
		{points, func(r []record.Placed) { r[2].Eps = "0.2" }, "r.jsonl: line 3: posterior, inputs and eps are not those of r.jsonl: line 1"},
	} {
		if c.change != nil {
			c.change(records)
		}
		_, err := plot.HeatGrid(records, "x.csv", c.points, "p_lower")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// figures draws one figure of every kind from records whose p_lower is p.
func figures(t *testing.T, p float64) map[string]*plot.Figure {
	t.Helper()
	records := read(t,
		line("p", "lbp", "0.01", 0, p, 1, fmt.Sprintf(interval, p, 1)), line("p", "lbp", "0.01", 1, 0, 0.5, fmt.Sprintf(interval, 0, 0.5)),
		line("p", "lbp", "0.02", 0, p/2, 1, ""), line("p", "clbp", "0.01", 0, p, p+0.1, ""), line("p\\u0007<&>", "clbp", "0.01", 1, 0, 1, ""))
	series, _, err := plot.EpsSeries(records, []string{"posterior", "method"})
	if err != nil {
		t.Fatal(err)
	}
	groups, methods, _, err := plot.BarGroups(records, plot.ByWords[:2])
	if err != nil {
		t.Fatal(err)
	}
	grid, err := plot.HeatGrid(records[:2], "x.csv", [][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, "p_lower")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*plot.Figure{"heatmap": plot.DrawHeat(grid, [2]int{0, 1})}
	if out["eps"], err = plot.DrawEps(series); err != nil {
		t.Fatal(err)
	}
	if out["bars"], err = plot.DrawBars(groups, methods, plot.ByWords[:2]); err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, f *plot.Figure, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSpreads: quantiles are numbers of records, the lower of two, by ascending eps; records that claim
// no p_lower are in none; and several properties are apart.
func TestSpreads(t *testing.T) {
	var lines []string
	for i := range 11 {
		lines = append(lines, line("p", "lbp", "0.2", i, float64(10-i)/10, 1, ""))
	}
	lines = append(lines, line("p", "lbp", "0.1", 0, 0.25, 1, ""), line("p", "lbp", "0.1", 1, 0.75, 1, ""), line("p", "statistical", "0.1", 2, 0, 1, ""))
	spreads, err := plot.Spreads(read(t, lines...), []string{"posterior", "method"})
	want := []plot.Spread{{Name: "p.npz, lbp", Points: []plot.SpreadPoint{
		{Eps: "0.1", X: 0.1, Tenth: 0.25, Half: 0.25, Nine: 0.25, Inputs: 2}, {Eps: "0.2", X: 0.2, Tenth: 0.1, Half: 0.5, Nine: 0.9, Inputs: 11}}}}
	if err != nil || !reflect.DeepEqual(spreads, want) {
		t.Errorf("%v %+v", err, spreads)
	}
	if _, err := plot.Spreads(read(t, lines[13]), []string{"posterior"}); err == nil {
		t.Error("quantiles of nothing")
	}
	other := resealed(line("p", "lbp", "0.1", 0, 0.5, 1, ""), `argmax_is:1`, `top_k:2`)
	series, _, err := plot.EpsSeries(read(t, lines[11], lines[12], other), []string{"posterior"})
	if err != nil || len(series) != 2 || series[0].Name != "p.npz, argmax_is" || series[1].Name != "p.npz, top_k:2" || series[0].Points[0].Inputs != 2 {
		t.Errorf("%v %+v", err, series)
	}
	classes := resealed(lines[11], `argmax_is:1`, `argmax_is:2`)
	series, _, err = plot.EpsSeries(read(t, lines[11], classes), []string{"posterior"})
	if err != nil || len(series) != 1 || series[0].Points[0].Inputs != 2 {
		t.Errorf("two classes of one input: %v %+v", err, series)
	}
	linearised := resealed(lines[11], `"activations"`, `"predictive":"linearised","activations"`)
	series, _, err = plot.EpsSeries(read(t, lines[11], linearised), []string{"posterior"})
	if err != nil || len(series) != 2 || series[1].Name != "p.npz linearised" {
		t.Errorf("%v %+v", err, series)
	}
	groups, _, _, err := plot.BarGroups(read(t, lines[11], lines[12], other), []string{"posterior"})
	if err != nil || len(groups) != 2 || groups[1].Name != "p.npz\ntop_k:2" {
		t.Errorf("%v %+v", err, groups)
	}
}

// TestDistributions: both figures of distributions say what they show.
func TestDistributions(t *testing.T) {
	records := read(t, line("p", "lbp", "0.2", 0, 0.5, 1, ""), line("p", "lbp", "0.1", 1, 0.9, 0.95, ""))
	histogram, err := plot.DrawHistogram(records, nil)
	if err != nil {
		t.Fatal(err)
	}
	spreads, err := plot.Spreads(records, []string{"posterior"})
	if err != nil {
		t.Fatal(err)
	}
	quantiles, err := plot.DrawQuantiles(spreads)
	if err != nil {
		t.Fatal(err)
	}
	panels, err := plot.DrawHistogram(records, []string{"eps"})
	if err != nil {
		t.Fatal(err)
	}
	apart, err := plot.DrawHistogram(append(records, read(t, resealed(line("p", "lbp", "0.1", 2, 0.5, 1, ""), `argmax_is:1`, `top_k:2`))...), nil)
	if err != nil {
		t.Fatal(err)
	}
	var many []record.Placed
	for i := range 13 {
		many = append(many, read(t, line("p", "lbp", fmt.Sprint(i), 0, 0.5, 1, ""))...)
	}
	if _, err := plot.DrawHistogram(many, []string{"eps"}); err == nil || !strings.Contains(err.Error(), "13 histograms are too many") {
		t.Error(err)
	}
	for f, want := range map[*plot.Figure]string{panels: "eps 0.1: 1 records", apart: "top_k:2: 1 records", histogram: "Distribution of the bounds of P_safe, 2 records", quantiles: "Distribution of p_lower against eps"} {
		if svg := string(write(t, f, "svg")); !strings.Contains(svg, ">"+want+"<") {
			t.Errorf("no %q", want)
		}
	}
}
