package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"psafe/host/record"
)

// GroupColumn is a column of a table by group: what groups may differ in.
type GroupColumn struct {
	Name string
	Of   func(*Group) string
}

// GroupColumns are these columns in their order; named names a file of that digest.
func GroupColumns(named func(path, digest string) string) []GroupColumn {
	return []GroupColumn{
		{"posterior", func(g *Group) string { return named(g.Posterior, g.PosteriorSHA256) }},
		{"scale", func(g *Group) string { return scaleOf(g.PosteriorScale) }},
		{"sd", func(g *Group) string { return g.PosteriorSD }},
		{"predictive", func(g *Group) string { return g.Predictive }},
		{"activations", func(g *Group) string { return strings.Join(g.Activations, ",") }},
		{"inputs", func(g *Group) string { return named(g.Inputs, g.InputsSHA256) }},
		{"property", func(g *Group) string { return g.Property }},
		{"rule", func(g *Group) string { return strings.ReplaceAll(g.Rule, "--", "") }},
		{"method", func(g *Group) string { return record.MethodToday(g.Method) }},
		{"eps", func(g *Group) string { return g.Eps }},
	}
}

// groups is the table by group: what all have in common is in no column.
func (p *printer) groups() {
	p.line("")
	var names []string
	var differ []func(*Group) string
	for _, c := range GroupColumns(p.named) {
		first := ""
		same := true
		for i := range p.r.Groups {
			if text := c.Of(&p.r.Groups[i]); i == 0 {
				first = text
			} else if text != first {
				same = false
			}
		}
		if !same {
			names, differ = append(names, c.Name), append(differ, c.Of)
		} else if first != "" {
			switch g := &p.r.Groups[0]; c.Name {
			case "posterior":
				first = named(g.Posterior, g.PosteriorSHA256)
			case "inputs":
				first = named(g.Inputs, g.InputsSHA256)
			}
			p.fact("all "+c.Name, "%s", short(first))
		}
	}
	p.table(names, differ)
	if n := len(p.r.Groups) - mostPrintedGroups; n > 0 {
		p.line("and %d more groups: --json lists them", n)
	}
	if rest := p.r.Rest; rest != nil {
		p.line("FURTHER GROUPS, COUNTED TOGETHER: %s", strings.Join(rest.cells(rest.Safe+rest.Unsafe+rest.Unknown), "  "))
	}
}

// table prints a row for each group: what groups differ in, and what they say. Where it is too wide,
// seconds are left out, then ends of texts.
func (p *printer) table(names []string, differ []func(*Group) string) {
	groups := p.r.Groups[:min(len(p.r.Groups), mostPrintedGroups)]
	heads := append(slices.Clone(names), "records", "safe", "unsafe", "unknown", "stopped", "p_lower", "p_upper", "seconds")
	if p.r.Each != nil {
		heads = append(heads, "each")
	}
	if p.r.Decisions != nil {
		heads = append(heads, "decision", "vote")
	}
	rows := [][]string{heads}
	for i := range groups {
		g := &groups[i]
		var cells []string
		for _, of := range differ {
			cells = append(cells, short(of(g)))
		}
		cells = append(cells, g.Means.cells(g.Records)...)
		if p.r.Each != nil {
			cells = append(cells, g.Each.cell())
		}
		if p.r.Decisions != nil {
			cells = append(cells, g.Decisions.cells()...)
		}
		rows = append(rows, cells)
	}
	without := func(head string) {
		at := slices.Index(rows[0], head)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
	}
	if p.r.Stopped == 0 {
		without("stopped")
	}
	if wide(rows) > p.width {
		without("seconds")
	}
	p.print(rows, len(names))
}

// print prints rows, heads first. Their first columns are texts, which are shortened as far as it takes.
func (p *printer) print(rows [][]string, texts int) {
	longest := func(k int) (most int) {
		for _, cells := range rows[1:] {
			most = max(most, utf8.RuneCountInString(cells[k]))
		}
		return most
	}
	for wide(rows) > p.width && texts > 0 {
		at := 0
		for k := range texts {
			if longest(k) > longest(at) {
				at = k
			}
		}
		room := longest(at) - 1
		if room < shortest {
			break
		}
		for _, cells := range rows[1:] {
			cells[at] = shortened(cells[at], room)
		}
	}
	t := tabwriter.NewWriter(p, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range rows {
		fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
	}
	t.Flush()
}

// shortest is how short a text may get for a table's sake.
const shortest = 12

// wide is the number of columns of a table of rows.
func wide(rows [][]string) int {
	all := 0
	for k := range rows[0] {
		most := 0
		for _, cells := range rows {
			most = max(most, utf8.RuneCountInString(cells[k]))
		}
		all += 2 + most
	}
	return all
}

// shortened is a text of at most n characters, with dots where some are missing: its beginning and its
// end, as ends of names tell them apart.
func shortened(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:(n-1)/2]) + ".." + string(runes[len(runes)-(n-2-(n-1)/2):])
}

// scaleOf is empty for sets of networks and for dropout, whose files have no spread.
func scaleOf(words string) string {
	if words == "unknown" { // posterior.ScaleUnknown
		return ""
	}
	return words
}

// named is a file's name with the beginning of its digest, which tells two of one name apart.
func named(path, digest string) string {
	if path == "" && digest == "" {
		return ""
	}
	return fmt.Sprintf("%s %.6s", Base(path), digest)
}

// named is a file's name in the table by group, with its digest if that tells it from another of that name.
func (p *printer) named(path, digest string) string {
	if p.digests == nil {
		p.digests = map[string]string{}
		for i := range p.r.Groups {
			g := &p.r.Groups[i]
			for _, file := range [][2]string{{Base(g.Posterior), g.PosteriorSHA256}, {Base(g.Inputs), g.InputsSHA256}} {
				if other, known := p.digests[file[0]]; known && other != file[1] {
					p.digests[file[0]] = "" // there are several
				} else {
					p.digests[file[0]] = file[1]
				}
			}
		}
	}
	if p.digests[Base(path)] == digest && len(p.r.Groups) > 1 {
		return Base(path)
	}
	return named(path, digest)
}

// folded is a path without its folders where it is long, as those of a campaign's shards are.
func folded(path string) string {
	if len(path) <= 40 {
		return path
	}
	return ".../" + Base(path)
}

// short is text that a table has room for.
func short(text string) string { return plain(fmt.Sprintf("%.32s", text)) }

// plain escapes what is from a file, which must not command the terminal.
func plain(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
