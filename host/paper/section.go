package paper

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"psafe/host/report"
)

// Section is what is told of an experiment: paragraphs, tables and figures in order.
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
	figure        *report.Figure
}

// Table is rows of cells under a header; Name is the stem of its CSV file.
type Table struct {
	Name, Caption string
	Header        []string
	Rows          [][]cell
}

// cell is a value as it is read in a table, and as a program wants it.
type cell struct{ text, raw string }

func word(text string) cell { return cell{text, text} }

func (s *Section) say(format string, args ...any) {
	s.blocks = append(s.blocks, block{text: fmt.Sprintf(format, args...)})
}

func (s *Section) table(t *Table) { s.blocks = append(s.blocks, block{table: t}) }

func (s *Section) figure(name, caption string, f *report.Figure) {
	s.blocks = append(s.blocks, block{figure: &namedFigure{name, caption, f}})
}

// Markdown writes the section, with links to figures beside it.
func (s *Section) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", s.Title)
	for _, k := range s.blocks {
		b.WriteString("\n")
		switch {
		case k.table != nil:
			k.table.markdown(&b)
		case k.figure != nil:
			fmt.Fprintf(&b, "![%s](figures/%s.svg)\n\n%s\n", k.figure.name, k.figure.name, k.figure.caption)
		default:
			b.WriteString(k.text + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) markdown(b *strings.Builder) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Header)
	b.WriteString(strings.Repeat("|---", len(t.Header)) + "|\n")
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, strings.ReplaceAll(c.text, "|", `\|`))
		}
		line(cells)
	}
	if t.Caption != "" {
		fmt.Fprintf(b, "\n%s\n", t.Caption)
	}
}

func (t *Table) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{t.Header}
	for _, row := range t.Rows {
		var raw []string
		for _, c := range row {
			raw = append(raw, c.raw)
		}
		rows = append(rows, raw)
	}
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// Files calls write for every table, as CSV, and every figure, as SVG and PNG.
func (s *Section) Files(write func(path string, content []byte) error) error {
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
