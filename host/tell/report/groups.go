package report

import (
	"fmt"
	"slices"

	"psafe/host/record"
	"psafe/host/tell/summary"
)

// groups is the table by group: the columns in which groups differ, and a row for each.
type groups struct {
	Columns []string
	// More are heads of columns that only some records have: worst inputs, decisions.
	More []string
	Rows []groupRow
}

type groupRow struct {
	Cells        []string
	Records      int
	Lower, Upper string   // means
	More         []string // cells under More of groups
	summary.Verdicts
}

// none stands where nothing is said.
const none = "–"

// groupsOf writes the groups of a summary; what all have in common is in no column.
func groupsOf(result *summary.Result) groups {
	named := func(path, digest string) string { return fmt.Sprintf("%s (%.8s)", summary.Base(path), digest) }
	var t groups
	t.Rows = make([]groupRow, len(result.Groups))
	for _, c := range summary.GroupColumns(named) {
		var cells []string
		differ := false
		for i := range result.Groups {
			cells = append(cells, shown(c.Of(&result.Groups[i])))
			differ = differ || cells[i] != cells[0]
		}
		// One group has to be called something.
		if !differ && !(len(cells) == 1 && c.Name == "posterior") {
			continue
		}
		t.Columns = append(t.Columns, c.Name)
		for i, cell := range cells {
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	if at := slices.Index(t.Columns, "eps"); at > 1 { // what fits a phone comes first
		t.Columns = slices.Insert(slices.Delete(t.Columns, at, at+1), 1, "eps")
		for i := range t.Rows {
			cells := t.Rows[i].Cells
			eps := cells[at]
			t.Rows[i].Cells = slices.Insert(slices.Delete(cells, at, at+1), 1, eps)
		}
	}
	if result.Each != nil {
		t.More = append(t.More, "mean each_lower")
	}
	if result.Decisions != nil {
		t.More = append(t.More, "decision: safe", "unsafe", "unknown", "mean probability of the class")
	}
	for i := range t.Rows {
		t.Rows[i].fill(result, &result.Groups[i].Means, result.Groups[i].Records)
	}
	if rest := result.Rest; rest != nil {
		row := groupRow{Cells: make([]string, len(t.Columns))}
		row.Cells[0] = "all further groups"
		row.fill(result, rest, rest.Safe+rest.Unsafe+rest.Unknown)
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *groupRow) fill(result *summary.Result, m *summary.Means, records int) {
	r.Records, r.Verdicts, r.Lower, r.Upper = records, m.Verdicts, none, record.FormatUp(m.MeanPUpper, 4)
	if m.MeanPLower != nil {
		r.Lower = record.FormatDown(*m.MeanPLower, 4)
	}
	if result.Each != nil {
		cell := none
		if m.Each != nil {
			cell = record.FormatDown(m.Each.MeanLower, 4)
		}
		r.More = append(r.More, cell)
	}
	if result.Decisions == nil {
		return
	}
	if d := m.Decisions; d != nil {
		r.More = append(r.More, grouped(d.Safe), grouped(d.Unsafe), grouped(d.Unknown), record.FormatDown(d.MeanLower, 4))
	} else {
		r.More = append(r.More, none, none, none, none)
	}
}
