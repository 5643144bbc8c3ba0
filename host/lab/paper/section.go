package paper

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strings"

	"psafe/host/record"
	"psafe/host/tell/plot"
)

// Section holds what is told of an experiment: paragraphs, tables and figures in order.
type Section struct {
	Title  string
	blocks []block
}

type block struct {
	text   string
	table  *Table
	figure *namedFigure
}

type namedFigure struct {
	name, caption string
	figure        *plot.Figure
}

// Table is rows of cells under columns; Name is the stem of its CSV file.
type Table struct {
	Name, Caption string
	Columns       []column
	Rows          [][]cell
}

// column has a title for readers, and for programs one name or more, which no other
// column of the table has: a value in bare numbers may take several.
type column struct {
	title string
	csv   []string
}

// col is a column; without names its title is the name.
func col(title string, csv ...string) column {
	if len(csv) == 0 {
		csv = []string{strings.ReplaceAll(title, " ", "_")}
	}
	return column{title, csv}
}

// cell is a value as it is read in a table, and as a program wants it: a text for each
// name of the column, fewer where it says nothing.
type cell struct {
	text string
	raw  []string
}

func word(text string) cell { return cell{text, []string{text}} }

func (s *Section) say(format string, args ...any) {
	s.blocks = append(s.blocks, block{text: fmt.Sprintf(format, args...)})
}

func (s *Section) table(t *Table) { s.blocks = append(s.blocks, block{table: t}) }

func (s *Section) figure(name, caption string, f *plot.Figure) {
	s.blocks = append(s.blocks, block{figure: &namedFigure{name, caption, f}})
}

// markdown writes the section, with links to figures beside it.
func (s *Section) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "## %s\n", s.Title)
	for _, k := range s.blocks {
		b.WriteString("\n")
		switch {
		case k.table != nil:
			k.table.markdown(b)
		case k.figure != nil:
			fmt.Fprintf(b, "![%s](figures/%s.svg)\n\n%s\n", k.figure.name, k.figure.name, wrap(k.figure.caption))
		default:
			b.WriteString(wrap(k.text) + "\n")
		}
	}
}

func (t *Table) markdown(b *bytes.Buffer) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	var titles []string
	for _, c := range t.Columns {
		titles = append(titles, c.title)
	}
	line(titles)
	b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, strings.ReplaceAll(c.text, "|", `\|`))
		}
		line(cells)
	}
	if t.Caption != "" {
		fmt.Fprintf(b, "\n%s\n", wrap(t.Caption))
	}
}

func (t *Table) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.csv...)
	}
	rows := [][]string{names}
	for _, row := range t.Rows {
		var raw []string
		for i, c := range row {
			for _, text := range c.raw {
				raw = append(raw, record.CSVText(text)) // the device's name, for one, is a driver's
			}
			raw = append(raw, make([]string, len(t.Columns[i].csv)-len(c.raw))...)
		}
		rows = append(rows, raw)
	}
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// files calls write for every table, as CSV, and every figure, as SVG and PNG.
func (s *Section) files(write func(path string, content []byte) error) error {
	for _, k := range s.blocks {
		switch {
		case k.table != nil:
			content, err := k.table.csv()
			if err == nil {
				err = write(filepath.Join("tables", k.table.Name+".csv"), content)
			}
			if err != nil {
				return err
			}
		case k.figure != nil:
			for _, format := range []string{"svg", "png"} {
				var b bytes.Buffer
				err := k.figure.figure.Write(&b, format)
				if err == nil {
					err = write(filepath.Join("figures", k.figure.name+"."+format), b.Bytes())
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}
