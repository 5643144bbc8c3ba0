package paper

import (
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/record"
	"psafe/host/tell/plot"
)

// tellRegression makes the section.
func (c *Config) tellRegression(e *Experiment, nets []net, posts []*posterior.Posterior, bands []*bandJob, r Results) (*Section, error) {
	s := &Section{Title: e.Title}
	s.say("Example 1 of the paper: a network of one input and one output, in the paper 1-128-1 ReLU and a regression of y = x^3 plus noise of variance 5; T = [-0.2, 0.2], S = [-5, 5]. " +
		"There is no printed bound of it here to compare with.")
	for i, n := range nets {
		s.say("### %s\n\nPosterior: %s.", n.name, n.words)
		all := newBounds()
		methods := c.regressionMethods(posts[i])
		for _, m := range methods {
			all.take(&r["regression-"+n.name+"-"+m.name][0])
		}
		t := &Table{Name: "regression-" + n.name, Columns: methodColumns}
		for _, m := range methods {
			t.Rows = append(t.Rows, all.row(m.name, &r["regression-"+n.name+"-"+m.name][0]))
		}
		t.Caption = fmt.Sprintf("p_upper and the statistical interval, of confidence %v, are about P_safe and the same in all rows.", Confidence)
		s.table(t)
		if err := c.tellSweep(s, n, all, r); err != nil {
			return nil, err
		}
		f, err := bands[i].draw(r)
		if err != nil {
			return nil, err
		}
		s.figure("regression-"+n.name+"-band", "Properties over the input axis: for each box [x - eps, x + eps] the outputs within delta of the mean network at its middle. Where the posterior's spread is small, its band is "+
			"hidden by the line of the mean.", f)
	}
	steps, err := Steps(c.Device)
	if err != nil {
		return nil, err
	}
	f, err := plot.DrawSteps(steps)
	if err != nil {
		return nil, err
	}
	s.say("### Step by step")
	s.figure("regression-steps", "Bounds of a 1-2-1 network, one weight box: intervals and lines from layer to layer, as the operations wrote them.", f)
	return s, nil
}

// methodColumns are the columns of tables by methods.
var methodColumns = []column{col("method"), lowerColumn, col("p_upper"), statColumn, secondsColumn("time")}

// row is a row of such a table: a method's p_lower beside what is known from above.
func (b *bounds) row(name string, p *record.Placed) []cell {
	return []cell{word(name), lowerCell(p.Record), upCell(b.upper), statCell(b.statistical), secondsCell(p.Seconds)}
}

// tellSweep tells of algorithm 1.
func (c *Config) tellSweep(s *Section, n net, all *bounds, r Results) error {
	samples, gammas := c.sweep()
	t := &Table{Name: "regression-" + n.name + "-algorithm1", Columns: []column{col("gamma"), col("method")}}
	for _, k := range samples {
		name := fmt.Sprintf("p_lower_N_%d", k)
		t.Columns = append(t.Columns, col(fmt.Sprintf("N = %d", k), name, "log10_"+name))
	}
	t.Columns = append(t.Columns, mostColumn, statColumn, secondsColumn("time of the row"))
	for g, gamma := range gammas {
		for _, m := range []string{"ibp", "lbp"} {
			records := r["regression-"+n.name+"-algorithm1-"+m][g*len(samples) : (g+1)*len(samples)]
			row := []cell{word(fmt.Sprint(gamma)), word(m)}
			for i := range records {
				row = append(row, lowerCell(records[i].Record))
				// The same T and S in another file: not yet held against the others.
				all.take(&records[i])
			}
			t.Rows = append(t.Rows, append(row, ceilingCell(records[len(records)-1].Record), statCell(all.statistical), secondsCell(total(records))))
		}
	}
	t.Caption = "p_lower of algorithm 1: N boxes of half-width gamma standard deviations around posterior samples, the union of the verified ones measured soundly. " +
		"\"Most it can be\" bounds what the largest number of boxes holds, verified or not: boxes that hold much do not verify where the spread is large, and those that verify hold little."
	s.table(t)
	return all.check()
}

// draw makes the figure of the band.
func (b *bandJob) draw(r Results) (*plot.Figure, error) {
	panels := make([]plot.BandPanel, len(b.panels))
	for i, p := range b.panels {
		panels[i] = plot.BandPanel{Eps: fmt.Sprint(p[0]), Delta: fmt.Sprint(p[1])}
	}
	for i, p := range r[b.run] {
		box := b.boxes[i]
		box.PLower, box.PUpper = float64(p.PLower), float64(p.PUpper)
		k := b.of[i]
		panels[k].Boxes = append(panels[k].Boxes, box)
	}
	return plot.DrawBand(b.band, panels)
}
