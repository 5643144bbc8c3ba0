package paper

import (
	"fmt"
	"strings"

	"psafe/host/report"
)

func (j *vcasJob) tell(r Results) (*Section, error) {
	s := &Section{Title: j.e.Title}
	s.say("Posterior: %s.", j.net.words)
	all := make([]*bounds, len(j.list))
	for i := range j.list {
		all[i] = newBounds()
		for _, run := range j.e.Runs {
			if records := r[run.Name]; len(records) == len(j.list) && records[i].Name == j.list[i].Name {
				all[i].take(&records[i])
			}
		}
		if more := j.drawn(r, i); more != nil {
			all[i].take(more)
		}
		if err := all[i].check(); err != nil {
			return nil, err
		}
	}
	s.table(j.algorithm1(r))
	s.table(j.methods(r))
	if len(j.single) > 0 {
		s.table(j.boxes(r))
	}
	if j.c.Data != "" {
		s.say("%s", j.verdict(all))
	}
	for _, k := range j.slices {
		s.figure(k.name, fmt.Sprintf("Certified p_lower of \"advisory %d is never given\" (the S of %s) on squares of inputs 0 and 1, the others 0, by sums of neurons.", k.class, k.property), k.draw(r))
	}
	return s, nil
}

// drawn is the record of property i with more drawn networks, nil if there is none.
func (j *vcasJob) drawn(r Results, i int) *report.Placed {
	for k, p := range j.never {
		if p.Name == j.list[i].Name {
			return &r["vcas-never-statistical"][k]
		}
	}
	return nil
}

// algorithm1 is the paper's table beside psafe's.
func (j *vcasJob) algorithm1(r Results) *Table {
	t := &Table{Name: "vcas-algorithm1", Header: []string{"property", "gamma", "N a box", "IBP: p_lower", "most it can be", "time", "LBP: p_lower", "time"}}
	paper := j.c.Data != ""
	if paper {
		t.Header = append(t.Header, "paper, IBP", "time", "paper, LBP", "time")
	}
	for i, p := range j.list {
		ibp, lbp := &r["vcas-algorithm1-ibp"][i], &r["vcas-algorithm1-lbp"][i]
		row := []cell{word(p.Name), word(fmt.Sprint(p.Gamma)), word(fmt.Sprint(p.Samples)), lowerCell(ibp.Record), ceilingCell(ibp.Record), secondsCell(ibp.Seconds), lowerCell(lbp.Record), secondsCell(lbp.Seconds)}
		if paper {
			if q, known := table1[p.Name]; known {
				row = append(row, word(fmt.Sprint(q.ibp)), word(fmt.Sprintf("%v s", q.secondsIBP)), word(fmt.Sprint(q.lbp)), word(fmt.Sprintf("%v s", q.secondsLBP)))
			} else {
				row = append(row, none, none, none, none)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	t.Caption = "Algorithm 1 with the gamma and N of the property file: the probability of the union of verified boxes, soundly measured. \"Most it can be\" bounds what " +
		"that many boxes of that size hold in total, verified or not."
	return t
}

// methods is a row for every property and method.
func (j *vcasJob) methods(r Results) *Table {
	t := &Table{Name: "vcas", Header: []string{"property", "method", "p_lower", "p_upper", "statistical", "time"}}
	for i, p := range j.list {
		for _, m := range j.c.vcasMethods() {
			t.Rows = append(t.Rows, append([]cell{word(p.Name)}, methodRow(m[0], &r["vcas-"+m[0]][i])...))
		}
	}
	t.Caption = fmt.Sprintf("A union of boxes counts as one region: a network is safe if it is safe on all of them. \"argmax is never c\" is a disjunction over the other outputs. "+
		"Statistical intervals have confidence %s; they are no certificates. "+
		"p_upper does not depend on the method and was looked for once.", Confidence)
	return t
}

// boxes are the boxes of unions one by one.
func (j *vcasJob) boxes(r Results) *Table {
	t := &Table{Name: "vcas-boxes", Header: []string{"property", "statistical"}}
	for i := range j.single {
		p := &r["vcas-boxes-statistical"][i]
		t.Rows = append(t.Rows, []cell{word(p.Name), statCell(p.Statistical)})
	}
	t.Caption = "The boxes of the unions, each alone: also these are safe with small probability only, so it is not the union that makes the difference."
	if j.c.Data == "" {
		t.Caption = "The boxes of the unions, each alone."
	}
	return t
}

// verdict names the printed numbers that are above an upper limit of P_safe.
func (j *vcasJob) verdict(all []*bounds) string {
	var b strings.Builder
	b.WriteString("Printed values that are no lower bounds of P_safe on this posterior, by psafe's own evidence:\n")
	found, rest := 0, []string{}
	for i, p := range j.list {
		q, known := table1[p.Name]
		if !known {
			continue
		}
		for _, v := range []struct {
			method string
			value  float64
		}{{"IBP", q.ibp}, {"LBP", q.lbp}} {
			limit, statistical := all[i].least()
			if !(v.value > limit) {
				rest = append(rest, fmt.Sprintf("%s %s %v", p.Name, v.method, v.value))
				continue
			}
			found++
			fmt.Fprintf(&b, "\n- %s, %s: printed %v; P_safe is at most %s%s", p.Name, v.method, v.value, upCell(limit).text, evidence(all[i], statistical, v.value))
		}
	}
	if found == 0 {
		return "No printed value is above an upper limit of P_safe that psafe found."
	}
	if len(rest) > 0 {
		fmt.Fprintf(&b, "\n\nNot refuted: %s.", strings.Join(rest, ", "))
	}
	b.WriteString("\n\nThe published code adds up per-coordinate merged intervals, which is no bound of the union's probability.")
	return b.String()
}

// evidence says where an upper limit comes from; a printed value may be above both.
func evidence(b *bounds, statistical bool, value float64) string {
	words := ", certified"
	if statistical {
		words = fmt.Sprintf(", statistically: of %d drawn networks %d are proved unsafe and %d safe, confidence %s", b.statistical.Samples, b.statistical.Unsafe, b.statistical.Safe, Confidence)
		if value > b.upper {
			words += "; certified: at most " + report.FormatUp(b.upper, 4)
		}
	}
	return words
}
