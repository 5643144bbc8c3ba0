package paper

import (
	"fmt"
	"strings"

	"psafe/host/record"
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
	if j.inputs != "" {
		s.say("Inputs: %s.", j.inputs)
	}
	s.table(j.properties())
	printed := j.printed(r)
	s.table(j.algorithm1(r, all, printed))
	s.table(j.methods(r, all))
	if len(j.single) > 0 {
		s.table(j.boxes(r))
	}
	if printed {
		s.say("%s", j.verdict(all))
	} else if j.c.Data != "" {
		s.say("The posterior or the properties are not the released ones: nothing is compared with what the paper printed.")
	}
	for _, k := range j.slices {
		s.figure(k.name, fmt.Sprintf("Certified p_lower of \"advisory %d is never given\" (the S of %s) on squares of inputs 0 and 1, the others 0, by sums of neurons.", k.class, k.property), k.draw(r))
	}
	return s, nil
}

// drawn is the record of property i with more drawn networks, nil if there is none.
func (j *vcasJob) drawn(r Results, i int) *record.Placed {
	for k, p := range j.never {
		if p.Name == j.list[i].Name && len(r["vcas-never-statistical"]) > k {
			return &r["vcas-never-statistical"][k]
		}
	}
	return nil
}

// What the files that the paper's table is about have as digests.
const (
	vcasPosteriorSHA256  = "726ff17cb1244885acbe45342ee6a5e8f20b6d289af9a098d42b565cf94db736"
	vcasPropertiesSHA256 = "d35d7832691b330caa8a6fec9a3cc7f8189121d1d7c4096cd2a2c2171b20c951"
)

// printed reports whether the runs are about what the paper's table is about.
func (j *vcasJob) printed(r Results) bool {
	p := r["vcas-clbp"][0]
	return p.PosteriorSHA256 == vcasPosteriorSHA256 && p.InputsSHA256 == vcasPropertiesSHA256 && p.PosteriorScale == "sd"
}

// properties returns what is asked.
func (j *vcasJob) properties() *Table {
	t := &Table{Name: "vcas-properties", Columns: []column{col("property"), col("S: for all x in T", "S"), col("T"), col("gamma"), col("boxes around samples for each of T", "samples_per_box")}}
	for _, p := range j.list {
		class := -1
		if p.Class != nil {
			class = *p.Class
		}
		s := fmt.Sprintf("output %d is the largest", class)
		if p.Kind == "argmax_is_never" {
			s = fmt.Sprintf("output %d is not the only largest", class)
		}
		var regions []string
		for _, box := range p.Boxes {
			var sides []string
			for _, side := range box {
				sides = append(sides, fmt.Sprintf("[%v, %v]", side[0], side[1]))
			}
			regions = append(regions, strings.Join(sides, " x "))
		}
		t.Rows = append(t.Rows, []cell{word(p.Name), word(s), word(strings.Join(regions, "; ")), word(fmt.Sprint(p.Gamma)), word(fmt.Sprint(p.Samples))})
	}
	t.Caption = "A union of boxes counts as one region: a network is safe if it is safe on all of them. gamma and the number of boxes are for Algorithm 1."
	return t
}

// algorithm1 is the paper's table beside psafe's.
func (j *vcasJob) algorithm1(r Results, all []*bounds, printed bool) *Table {
	t := &Table{Name: "vcas-algorithm1", Columns: []column{col("property"), col("IBP: p_lower", "ibp_p_lower", "ibp_log10_p_lower"), secondsColumn("IBP time"),
		col("LBP: p_lower", "lbp_p_lower", "lbp_log10_p_lower"), secondsColumn("LBP time"), mostColumn, statColumn}}
	if printed {
		t.Columns = append(t.Columns, col("paper, IBP", "paper_ibp"), col("its time", "paper_ibp_seconds"), col("paper, LBP", "paper_lbp"), col("its time", "paper_lbp_seconds"))
	}
	for i, p := range j.list {
		ibp, lbp := &r["vcas-algorithm1-ibp"][i], &r["vcas-algorithm1-lbp"][i]
		row := []cell{word(p.Name), lowerCell(ibp.Record), secondsCell(ibp.Seconds), lowerCell(lbp.Record), secondsCell(lbp.Seconds), ceilingCell(ibp.Record), statCell(all[i].statistical)}
		if q, known := table1[p.Name]; printed && known {
			row = append(row, word(raw(q.ibp)), secondsCell(&q.secondsIBP), word(raw(q.lbp)), secondsCell(&q.secondsLBP))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Caption = "Algorithm 1: the probability of the union of verified boxes, soundly measured. \"Most it can be\" bounds what that many boxes of that size hold in total, verified or not. " +
		statWords
	return t
}

var statWords = fmt.Sprintf("Statistical intervals have confidence %v and are no certificates.", Confidence)

// methods is a row for every property and method.
func (j *vcasJob) methods(r Results, all []*bounds) *Table {
	t := &Table{Name: "vcas", Columns: append([]column{col("property")}, methodColumns...)}
	for i, p := range j.list {
		for _, m := range j.c.vcasMethods() {
			record := &r["vcas-"+m.name][i]
			if more := j.drawn(r, i); more != nil && m.name == "statistical" {
				record = more
			}
			t.Rows = append(t.Rows, append([]cell{word(p.Name)}, all[i].row(m.name, record)...))
		}
	}
	t.Caption = "p_upper and the statistical interval are about P_safe and the same in all rows of a property. Times are equal shares where a method certifies several properties at once. " + statWords
	return t
}

// boxes are the boxes of unions one by one.
func (j *vcasJob) boxes(r Results) *Table {
	t := &Table{Name: "vcas-boxes", Columns: []column{col("property"), statColumn}}
	for i := range j.single {
		p := &r["vcas-boxes-statistical"][i]
		t.Rows = append(t.Rows, []cell{word(p.Name), statCell(p.Statistical)})
	}
	t.Caption = "The boxes of the unions, each alone. " + statWords
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
		fmt.Fprintf(&b, "\n\nNot refuted by what was computed here: %s.", strings.Join(rest, ", "))
	}
	b.WriteString("\n\nThe published code merges the intervals of each weight over all boxes and multiplies the merged masses, which is no lower bound of the union's probability.")
	return b.String()
}

// evidence tells where an upper limit comes from; a printed value may be above both.
func evidence(b *bounds, s *record.Statistical, value float64) string {
	if s == nil {
		return ", certified"
	}
	words := fmt.Sprintf(", statistically: of %d drawn networks %d are proved unsafe and %d safe, confidence %v", s.Samples, s.Unsafe, s.Safe, Confidence)
	if value > b.upper {
		words += "; certified: at most " + upCell(b.upper).text
	}
	return words
}
