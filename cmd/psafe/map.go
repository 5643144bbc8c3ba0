package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/job/average"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/outfile"
)

const mapAbout = `psafe map cuts a box of inputs into cells and certifies each.

  psafe map --posterior net.npz --box "[-2,2],[-2,2]" --grid 40x40 \
      --property argmax_is:1 --out map.jsonl --figure map.svg

The cells cover the box: neighbours share an edge. They go to OUT.cells.json, a
property file, and their records to --out. With --input-law the whole is one
number, how likely an input of the law and a network are safe: OUT.law.json.`

// mapWithout are the flags of certify that map does not have: of data points, and of pairs.
var mapWithout = []string{"inputs", "input-scale", "label-column", "index", "channels", "eps", "norm", "clip", "fix", "free", "label", "property", "columns", "relation", "other"}

// mapFlags are those of map: those of certify, and what says which cells.
type mapFlags struct {
	certifyFlags
	box, grid, words, figure string
	names                    []string
	axes                     []int
	whole, union             bool
	law                      lawFlags
}

func (m *mapFlags) add(f *pflag.FlagSet) {
	f.StringVar(&m.box, "box", "", "a pair for each input; required, but for cells:FILE")
	f.StringVar(&m.grid, "grid", "", "into how many parts each input is cut, 1 for none; required, but for cells:FILE")
	f.StringVar(&m.words, "property", "", "S, in words that need no class of an input, such as output_box:[lo,hi],...; required")
	f.StringSliceVar(&m.names, "names", nil, "names of the inputs for figures, one for each")
	f.BoolVar(&m.whole, "whole", false, "one more record, of the whole box")
	f.BoolVar(&m.union, "union", false, "also certify all certified cells as one T: OUT.union.jsonl")
	f.StringVar(&m.figure, "figure", "", "`FILE` of a picture of the verdicts, .svg or .png")
	f.IntSliceVar(&m.axes, "columns", []int{0, 1}, "which two inputs are the axes of --figure, from 0 on")
	m.law.add(f)
	var all pflag.FlagSet
	all.SortFlags = false
	m.certifyFlags.add(&all)
	all.VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "out" {
			flag.Usage = "`FILE` of the records, JSON Lines; required"
		}
		if !slices.Contains(mapWithout, flag.Name) {
			f.AddFlag(flag)
		}
	})
}

// cellsSuffix is added to the name of the records for that of the cells.
const cellsSuffix = ".cells.json"

// Names of the union of the certified cells, and of the record about it.
const (
	unionSuffix       = ".union.json"
	unionRecordSuffix = ".union.jsonl"
)

// job writes the cells and returns the job about them.
func (m *mapFlags) job(f *pflag.FlagSet) (*certify.Job, error) {
	format := strings.ToLower(filepath.Ext(m.figure))
	if err := m.readLaw(); err != nil {
		return nil, err
	}
	switch {
	case m.law.cells(): // instead of these two
	case m.box == "":
		return nil, errors.New("--box is missing: a pair for each input, such as --box \"[-2,2],[0,1]\"")
	case m.grid == "":
		return nil, errors.New("--grid is missing: into how many parts each input is cut, such as --grid 40x40")
	}
	switch {
	case m.words == "":
		return nil, errors.New("--property is missing: what is safe, such as --property argmax_is:1")
	case isFile(m.words):
		return nil, fmt.Errorf("--property %.60s is a file, and the cells are boxes of their own: write S in words, such as argmax_is:1", m.words)
	case property.NeedsClass(m.words):
		return nil, fmt.Errorf("--property %.60s depends on the class of an input, and a cell has none: write the class, as in %s", m.words, property.WithClass(m.words, 0))
	case m.out.path == "":
		return nil, errors.New("--out is missing: name the file of the records, such as --out map.jsonl")
	case record.IsTable(m.out.path):
		return nil, fmt.Errorf("--out %.60s: the records of a map are JSON Lines: give another name", m.out.path)
	case m.figure != "" && format != ".svg" && format != ".png":
		return nil, fmt.Errorf("--figure %.60s: ends neither in .svg nor in .png: name such a file", m.figure)
	case len(m.axes) != 2 || m.axes[0] == m.axes[1]:
		return nil, errors.New("--columns: give two different inputs, for example 0,1")
	}
	cells, inputs, err := m.gridOrLaw()
	if err != nil {
		return nil, err
	}
	for _, c := range m.axes {
		if m.figure != "" && (c < 0 || c >= inputs) {
			return nil, fmt.Errorf("--columns %d: the box has inputs 0 to %d: --figure shows two of them", c, inputs-1)
		}
	}
	m.tasks.words = m.out.path + cellsSuffix
	for _, of := range []struct {
		flag     string
		given    bool
		suffixes []string
	}{{"union", m.union, []string{unionSuffix, unionRecordSuffix}}, {"input-law", m.law.of != nil, []string{average.ResultSuffix}}} {
		for _, suffix := range of.suffixes { // not at the end, when all else is done
			if err := outfile.Refuse(m.out.path+suffix, m.out.old(), m.figure, m.posterior); of.given && !m.resume && err != nil {
				return nil, fmt.Errorf("--%s: %w", of.flag, err)
			}
		}
	}
	if m.figure != "" && !m.resume {
		if err := outfile.Refuse(m.figure, m.out.old(), m.out.path, m.tasks.words, m.posterior); err != nil {
			return nil, fmt.Errorf("--figure %w", err)
		}
	}
	job, err := m.parsed(f)
	if err != nil {
		return nil, err
	}
	if m.law.of != nil && m.law.of.Sample > 0 { // whose confidence it is
		job.Method.Confidence = nil
	}
	if err := job.Refuse(); err != nil {
		return nil, err
	}
	if err := outfile.WriteFile(m.tasks.words, m.old(), cells); err != nil {
		return nil, fmt.Errorf("--out: the cells in %w", err)
	}
	return job, nil
}

// old is what becomes of a file that is there. The same may be there of a run that goes on, or of the process that has
// this one compute.
func (m *mapFlags) old() outfile.Old {
	if m.out.overwrite {
		return outfile.Replace
	}
	return outfile.Same
}

func mapCommand() *cobra.Command {
	var m mapFlags
	cmd, f := newCommand("map", "which cells of a box of inputs are certified", mapAbout, 0)
	m.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		job, err := m.job(f)
		if err != nil {
			return err
		}
		if done, err := m.supervise(ctx, job, stdout, stderr); done || err != nil {
			return err
		}
		if job.Require == "" && !m.quiet && m.method == prove.Auto.String() {
			m.hint = "auto may go on where a verdict is known, for better bounds: --require " + certify.DefaultRequire + " stops there"
		}
		err = m.compute(ctx, job, stdout, stderr)
		if gate, refused := errors.AsType[*statusError](err); err != nil && !(refused && gate.status == exitUnder) {
			return err
		}
		return cmp.Or(m.tell(ctx, job, stdout, stderr), err) // all records are there, also where a gate refuses them
	})
}

// tell says what came of the cells, and draws it.
func (m *mapFlags) tell(ctx context.Context, job *certify.Job, stdout, stderr io.Writer) error {
	records, err := record.ReadFile(m.out.path)
	if err != nil {
		return err
	}
	cells, err := cellsOf(records, m.tasks.words)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, strings.ReplaceAll(cells.Words(), "; ", "\n")+"\n"); err != nil {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	if boxes := cells.SafeBoxes(); m.union && len(boxes) > 0 {
		if err := m.together(ctx, *job, boxes, stdout, stderr); err != nil {
			return err
		}
	}
	if m.law.of != nil {
		if err := m.average(ctx, *job, stdout, stderr); err != nil {
			return err
		}
	}
	if m.figure == "" {
		return nil
	}
	drawing, err := drawCells(cells, m.axes)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := drawing.Write(&b, strings.TrimPrefix(strings.ToLower(filepath.Ext(m.figure)), ".")); err != nil {
		return err
	}
	if err := outfile.WriteFile(m.figure, m.old(), b.Bytes(), m.out.path, m.tasks.words); err != nil {
		return fmt.Errorf("--figure %w", err)
	}
	return nil
}

// together certifies cells as one T, and tells the bound.
func (m *mapFlags) together(ctx context.Context, job certify.Job, boxes []property.Box, stdout, stderr io.Writer) error {
	union, err := property.UnionFile(boxes, m.words, m.names)
	if err != nil {
		return err
	}
	if err := outfile.WriteFile(m.out.path+unionSuffix, m.old(), union); err != nil {
		return fmt.Errorf("--union: the cells in %w", err)
	}
	if err := m.more(ctx, &job, m.out.path+unionSuffix, m.out.path+unionRecordSuffix, stderr); err != nil {
		return err
	}
	records, err := record.ReadFile(job.Out.Path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "as one T: with probability at least %s, by %s\n", property.DecimalDown(float64(records[0].PLower)), plain(job.Out.Path))
	return err
}

// more certifies the properties of another file as those of the cells were.
func (m *mapFlags) more(ctx context.Context, job *certify.Job, tasks, records string, stderr io.Writer) error {
	job.Tasks.File, job.Out.Path = tasks, records
	if err := job.Refuse(); err != nil {
		return err
	}
	m.gates, m.junit, m.quiet = nil, "", true // they were of the cells
	return m.compute(ctx, job, io.Discard, stderr)
}
