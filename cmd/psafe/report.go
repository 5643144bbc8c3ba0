package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/check"
	"psafe/host/job/campaign"
	"psafe/host/job/loop"
	"psafe/host/read/format"
	"psafe/host/record"
	"psafe/host/tell/plot"
	"psafe/host/tell/report"
)

const reportAbout = `psafe report makes a page of result files, to be looked at in a browser: one
HTML file with everything inside, that asks no network for anything.

  psafe report results.jsonl --out report.html
  psafe report a.jsonl b.jsonl --points images.gz --out report.html
  psafe report DIR --out report.html          a campaign, as far as it is
  psafe report loop.json --out report.html    a closed loop and its cells

Inputs are drawn if their data file is where the records say, or where --points
or --data say, unchanged.`

// mostOnPage is the greatest number of records on a page: it and the browser hold them in memory.
const mostOnPage = 1 << 20

// reportFlags are the flags of report.
type reportFlags struct {
	out outFlags
	report.Options
}

func (r *reportFlags) add(f *pflag.FlagSet) {
	r.out.add(f, "HTML file to write; required")
	f.StringVar(&r.Title, "title", "", "heading of the page")
	f.StringArrayVar(&r.Points, "points", nil, "`FILE` that --inputs of psafe certify named, or a property file, if it is not where the records say; may be given several times")
	f.StringVar(&r.Data, "data", "", "`DIR` with such files under the names that the records have")
	f.IntVar(&r.Inputs, "inputs-shown", 2000, "how many different inputs are drawn at most, the weakest first")
	f.IntSliceVar(&r.Shape, "shape", nil, "draw flat points as images of this shape, such as 28,28 or 3,32,32")
}

func reportCommand() *cobra.Command {
	var r reportFlags
	cmd, f := newCommand("report", "a page of result files to look at in a browser, in one HTML file", reportAbout, anyNumber)
	r.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if err := r.check(f.Args()); err != nil {
			return err
		}
		if err := r.out.refuse(f.Args()...); err != nil {
			return err
		}
		var records []record.Placed
		operands, err := r.loops(f.Args())
		if err != nil {
			return err
		}
		err = eachResult(ctx, operands, func(p record.Placed) error {
			if len(records) == mostOnPage {
				return fmt.Errorf("%s: is more than the %d records that a page can have: give fewer files, or see psafe summary", p.Place(), mostOnPage)
			}
			p.Raw, p.Proof = nil, nil // of which the page shows nothing
			records = append(records, p)
			return nil
		})
		if err != nil {
			return err
		}
		for _, operand := range f.Args() {
			if folder, err := campaign.Open(operand); err == nil {
				r.Bases = append(r.Bases, folder.BaseDir())
			}
		}
		inputs := append(f.Args(), r.Files(records)...)
		if err := r.out.refuse(inputs...); err != nil {
			return err
		}
		r.ShapeOf = r.shapeOf
		html, notes := report.Make(records, r.Options)
		if len(records) > report.MostComfortable {
			notes = append(notes, fmt.Sprintf("%d records make a page of %d MB: browsers are slow with so many; give fewer files", len(records), len(html)>>20))
		}
		for _, n := range notes {
			printLine(stderr, noColour, "psafe: note:", n)
		}
		if err := r.out.write(html, inputs...); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stderr, "psafe: %s: a page of %s: open it in a browser\n", plain(r.out.path), howMany(len(records), "record"))
		return err
	})
}

// loops takes the results of closed loops out of the operands, and puts the records of their cells there.
func (r *reportFlags) loops(operands []string) (files []string, err error) {
	for _, file := range operands {
		text, err := check.LoopText(file)
		if err != nil || text == nil {
			files = append(files, file)
			continue
		}
		picture, err := loop.ReadPicture(file)
		if err != nil {
			return nil, err
		}
		if picture.Result.Records == "" {
			return nil, fmt.Errorf("%s: has no cells to show: psafe loop has said why nothing is proved", file)
		}
		l := report.Loop{Name: file, Words: []string{loopWords(picture.Result) + "."}}
		if len(picture.Plant.State) > 1 {
			if l.Map, err = plot.DrawMap(loopMap(picture, [2]int{0, 1})); err != nil {
				return nil, err
			}
		}
		r.Loops, files = append(r.Loops, l), append(files, picture.Result.Records)
	}
	return files, nil
}

// mostForShape is the size of a posterior's file that is read for its shape alone.
const mostForShape = 256 << 20

// shapeOf is the shape of an input by the posterior's file, if that is where the record says, and
// unchanged; nil if it is not, or does not know.
func (r *reportFlags) shapeOf(rec *record.Record) []int {
	names := []string{rec.Posterior}
	if !filepath.IsAbs(rec.Posterior) {
		for _, folder := range r.Bases {
			names = append(names, filepath.Join(folder, rec.Posterior))
		}
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > mostForShape {
			continue
		}
		post, err := format.Read(name, format.Options{})
		if err == nil && post.Source.SHA256 == rec.PosteriorSHA256 {
			return post.Input.Shape
		}
	}
	return nil
}

// check refuses what is missing or no number of anything.
func (r *reportFlags) check(files []string) error {
	switch {
	case len(files) == 0:
		return errors.New("report needs result files: name those that psafe certify --out wrote: psafe report results.jsonl --out report.html")
	case r.out.path == "":
		return errors.New("--out is missing: name the HTML file to write")
	case r.Inputs < 0:
		return fmt.Errorf("--inputs-shown %d is less than none: give a number from 0", r.Inputs)
	}
	if n := len(r.Shape); n != 0 && n != 2 && n != 3 {
		return fmt.Errorf("--shape has %d numbers: give height and width, such as 28,28, or three with the channels first or last", n)
	}
	for _, side := range r.Shape {
		if side < 1 || side > 1<<15 {
			return fmt.Errorf("--shape %d is no side of an image: give numbers from 1 to %d", side, 1<<15)
		}
	}
	return nil
}
