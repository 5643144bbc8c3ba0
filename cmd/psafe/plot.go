package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/plot"
	"psafe/internal/nearest"
)

const plotAbout = `psafe plot draws figures of result files: SVG, PNG or PDF, as --out is named.
The records of all files, and folders of campaigns, are pooled; the same give
the same bytes.

  psafe plot eps a.jsonl b.jsonl --out fig.svg      bounds against eps
  psafe plot bars a.jsonl b.jsonl --out fig.png     by posterior and method
  psafe plot histogram DIR --out fig.svg            how many have which bounds
  psafe plot quantiles DIR --out fig.svg            p_lower of most, against eps
  psafe plot radii radii.jsonl --out fig.svg        share certified up to eps
  psafe plot heatmap r.jsonl --points x.csv --columns 0,1 --out fig.png
  psafe plot map map.jsonl --out fig.svg            verdicts of boxes
  psafe plot map loop.json --out fig.svg            cells of a closed loop
  psafe plot eps DIR --title "MNIST" --size 5x3.5 --out fig.pdf`

// plotFlags are all flags of plot as typed.
type plotFlags struct {
	out                        outFlags
	by                         []string
	points, labelColumn, field string
	of                         string
	columns                    []int
	split                      bool // --by is given
	title, size                string
}

func (p *plotFlags) add(f *pflag.FlagSet) {
	p.out.add(f, "file to write, .svg, .png or .pdf; required")
	f.StringSliceVar(&p.by, "by", []string{"posterior", "method"}, "eps, quantiles and radii: what has a line of its own: words of "+strings.Join(plot.ByWords, ", ")+", the method being the one asked for; bars: what has a group, and with method a bar, of its own; histogram: what has a panel of its own, eps too (default none); radii: by default posterior, as the method may be another at each radius")
	f.StringVar(&p.of, "of", "p_safe", "eps: p_safe, each (the worst inputs), decision (the class is the posterior predictive's) or vote (that of a majority); histogram: p_safe or radii")
	f.StringVar(&p.points, "points", "", "heatmap: the data file that --inputs of psafe certify named, required; map: the property file, if it is not where the records say")
	f.IntSliceVar(&p.columns, "columns", []int{0, 1}, "heatmap, map: which two coordinates are the axes, from 0 on; of a loop's others the cells in the middle of the start set are shown")
	f.StringVar(&p.field, "field", "p_lower", "heatmap: p_lower or p_upper")
	f.StringVar(&p.title, "title", "", "heading above the figure")
	f.StringVar(&p.size, "size", "", "width x height in inches, such as 5x3.5; texts keep their sizes (default what the figure needs)")
	f.StringVar(&p.labelColumn, "label-column", "", "heatmap: as of psafe certify: first, last, none or its name")
}

// plotKinds are the kinds of figures, with the flags that not all take.
var plotKinds = map[string][]string{
	"eps":     {"by", "of"},
	"bars":    {"by"},
	"heatmap": {"points", "columns", "field", "label-column"},
	"map":     {"points", "columns"},

	"histogram": {"by", "of"},
	"quantiles": {"by"},
	"radii":     {"by"},
}

// plotWords are the kinds of figures in the order of messages.
var plotWords = []string{"eps", "bars", "histogram", "quantiles", "radii", "heatmap", "map"}

func plotCommand() *cobra.Command {
	var p plotFlags
	cmd, f := newCommand("plot", "figures of result files, as SVG, PNG or PDF", plotAbout, anyNumber)
	p.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		format, err := p.check(f)
		if err != nil {
			return err
		}
		files := f.Args()[1:]
		inputs := append([]string{property.FileOf(p.points)}, files...)
		if err := p.out.refuse(inputs...); err != nil {
			return err
		}
		drawing, err := p.loopFigure(f.Arg(0), files)
		if err != nil {
			return err
		}
		if drawing != nil {
			if err := p.frame(drawing); err != nil {
				return err
			}
			return p.write(drawing, format, inputs)
		}
		var records []record.Placed
		for _, file := range files {
			more, err := record.ReadFile(file)
			if info, e := os.Stat(file); e == nil && info.IsDir() {
				err = eachOfCampaign(ctx, file, func(p record.Placed) error {
					p.Raw = nil
					more = append(more, p)
					return nil
				})
			}
			if err != nil {
				return err
			}
			records = append(records, more...)
		}
		drawing, notes, err := p.draw(f.Arg(0), records)
		if err != nil {
			return err
		}
		for _, n := range append(record.Gaps(records), notes...) {
			printLine(stderr, noColour, "psafe: note:", n)
		}
		if err := p.frame(drawing); err != nil {
			return err
		}
		return p.write(drawing, format, inputs)
	})
}

// check refuses what is missing or belongs to another kind of figure, and returns
// the format that --out asks for.
func (p *plotFlags) check(f *pflag.FlagSet) (format string, err error) {
	kind := f.Arg(0)
	own, known := plotKinds[kind]
	if !known {
		if kind == "" {
			return "", errors.New("plot needs the kind of figure, eps, bars, histogram, quantiles, radii, heatmap or map, and result files: psafe plot eps a.jsonl --out fig.svg")
		}
		return "", fmt.Errorf("plot: no figure %.40q: give eps, bars, histogram, quantiles, radii, heatmap or map first, then result files%s", kind, nearest.Hint(kind, plotWords))
	}
	if f.NArg() < 2 {
		return "", fmt.Errorf("plot %s: no result file: name those that psafe certify --out wrote", kind)
	}
	for _, flag := range []string{"by", "of", "points", "columns", "field", "label-column"} {
		if f.Changed(flag) && !slices.Contains(own, flag) {
			return "", fmt.Errorf("--%s is not for psafe plot %s: leave it out", flag, kind)
		}
	}
	p.split = f.Changed("by")
	if kind != "histogram" && slices.Contains(p.by, "eps") {
		return "", fmt.Errorf("--by eps is for psafe plot histogram: a figure of %s has the radii on an axis or in its groups", kind)
	}
	format = strings.TrimPrefix(strings.ToLower(filepath.Ext(p.out.path)), ".")
	switch {
	case p.out.path == "":
		return "", errors.New("--out is missing: name the file to write, .svg, .png or .pdf")
	case !slices.Contains(plot.Formats, format):
		return "", fmt.Errorf("--out %s: ends in none of .svg, .png and .pdf: name such a file", p.out.path)
	case kind == "heatmap" && p.points == "":
		return "", errors.New("--points is missing: name the data file that --inputs of psafe certify named")
	case len(p.columns) != 2 || p.columns[0] == p.columns[1]:
		return "", errors.New("--columns: give two different coordinates, for example 0,1")
	case p.field != "p_lower" && p.field != "p_upper":
		return "", fmt.Errorf("--field %.40q is neither p_lower nor p_upper: give one of them", p.field)
	}
	return format, nil
}

// draw makes the figure of a kind and says what a reader of it should know.
func (p *plotFlags) draw(kind string, records []record.Placed) (*plot.Figure, []string, error) {
	switch kind {
	case "eps":
		of, err := plot.QuantityOf(p.of)
		if err != nil {
			return nil, nil, fmt.Errorf("--of %w", err)
		}
		if records, err = of.Of(records); err != nil {
			return nil, nil, err
		}
		series, notes, err := plot.EpsSeries(records, p.by)
		if err != nil {
			return nil, nil, err
		}
		drawing, err := of.DrawEps(series)
		return drawing, notes, err
	case "bars":
		groups, methods, notes, err := plot.BarGroups(records, p.by)
		if err != nil {
			return nil, nil, err
		}
		drawing, err := plot.DrawBars(groups, methods, p.by)
		return drawing, notes, err
	}
	switch kind {
	case "histogram":
		var by []string // pooled, unless it is asked
		if p.split {
			by = p.by
		}
		switch p.of {
		case "radii":
			return p.radii(records, plot.DrawRadiiHistogram)
		case "p_safe":
		default:
			return nil, nil, fmt.Errorf("--of %.40q is neither p_safe nor radii, of which there are histograms", p.of)
		}
		drawing, err := plot.DrawHistogram(records, by)
		return drawing, nil, err
	case "quantiles":
		spreads, err := plot.Spreads(records, p.by)
		if err != nil {
			return nil, nil, err
		}
		drawing, err := plot.DrawQuantiles(spreads)
		return drawing, nil, err
	case "radii":
		return p.radii(records, plot.DrawRadii)
	}
	if kind == "map" {
		drawing, err := p.mapOf(records)
		return drawing, nil, err
	}
	points, err := p.coordinates(records[0])
	if err != nil {
		return nil, nil, err
	}
	grid, err := plot.HeatGrid(records, p.points, points, p.field)
	if err != nil {
		return nil, nil, err
	}
	return plot.DrawHeat(grid, [2]int(p.columns)), nil, nil
}

// radii draws the radii of inputs.
func (p *plotFlags) radii(records []record.Placed, figure func([]plot.RadiiOf) (*plot.Figure, error)) (*plot.Figure, []string, error) {
	by := []string{"posterior"} // psafe radius takes at each radius the method that proves most
	if p.split {
		by = p.by
	}
	if slices.Contains(by, "eps") {
		return nil, nil, errors.New("--by eps is not for radii, which are what is drawn: leave it out")
	}
	list, err := plot.RadiiSeries(records, by)
	if err != nil {
		return nil, nil, err
	}
	drawing, err := figure(list)
	return drawing, nil, err
}

// mapOf draws the boxes of the property file that records are about.
func (p *plotFlags) mapOf(records []record.Placed) (*plot.Figure, error) {
	cells, err := cellsOf(records, cmp.Or(p.points, records[0].Inputs))
	if err != nil {
		return nil, err
	}
	return drawCells(cells, p.columns)
}

// cellsOf reads the boxes of a property file, which records are about.
func cellsOf(records []record.Placed, path string) (*plot.Cells, error) {
	boxes, err := property.ReadBoxes(path)
	if err != nil {
		return nil, err
	}
	return plot.CellsOf(records, boxes)
}

// drawCells draws two coordinates of cells.
func drawCells(cells *plot.Cells, columns []int) (*plot.Figure, error) {
	for _, c := range columns {
		if c < 0 || c >= cells.Inputs() {
			return nil, fmt.Errorf("--columns %d: the boxes have coordinates 0 to %d", c, cells.Inputs()-1)
		}
	}
	return plot.DrawMap(cells.Map([2]int(columns)))
}

// coordinates reads two columns of --points, scaled as for the record, and checks
// that the record is about this file.
func (p *plotFlags) coordinates(r record.Placed) ([][2]float64, error) {
	points, err := property.ReadPoints(p.points, property.InputOptions{Scale: r.InputScale, LabelColumn: p.labelColumn})
	if err != nil {
		return nil, err
	}
	if points.SHA256 != r.InputsSHA256 {
		return nil, fmt.Errorf("--points %s: is not what %s is about, %s: give the file that --inputs named, unchanged", p.points, r.File, strconv.Quote(r.Inputs))
	}
	for _, c := range p.columns {
		if c < 0 || c >= points.Dim {
			return nil, fmt.Errorf("--columns %d: %s has coordinates 0 to %d", c, p.points, points.Dim-1)
		}
	}
	var x [][2]float64
	for i := range points.N() {
		lo, hi := points.At(i)
		a, b := p.columns[0], p.columns[1]
		x = append(x, [2]float64{(lo[a] + hi[a]) / 2, (lo[b] + hi[b]) / 2})
	}
	return x, nil
}

// frame gives a figure its heading and size.
func (p *plotFlags) frame(drawing *plot.Figure) error {
	drawing.Entitle(p.title)
	if p.size == "" {
		return nil
	}
	w, h, _ := strings.Cut(p.size, "x")
	width, err := strconv.ParseFloat(w, 64)
	height, errHeight := strconv.ParseFloat(h, 64)
	if err != nil || errHeight != nil || !(width > 0 && width <= mostInches && height > 0 && height <= mostInches) {
		return fmt.Errorf("--size %.40q is no size: give width and height in inches up to %d, such as 5x3.5", p.size, mostInches)
	}
	if err := drawing.Resize(width, height); err != nil {
		return fmt.Errorf("--size %s %w", p.size, err)
	}
	return nil
}

// mostInches is the largest side of a figure: 40 inches are 5760 pixels.
const mostInches = 40

func (p *plotFlags) write(drawing *plot.Figure, format string, inputs []string) error {
	var b bytes.Buffer
	if err := drawing.Write(&b, format); err != nil {
		return p.out.unwritten(err)
	}
	return p.out.write(b.Bytes(), inputs...)
}
