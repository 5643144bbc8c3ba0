package main

import (
	"fmt"
	"io"

	"psafe/host/job/certify"
	"psafe/host/record"
)

// mostRows is the greatest number of records with a table on a terminal: more would be kept in
// memory and scroll by.
const mostRows = 1000

// findings hold what certify says at its end of the records, which come one by one and are not
// kept.
type findings struct {
	quiet bool
	tally record.Tally
	// unproved is why inputs are unknown, if some are.
	unproved *certify.Unproved
	// rows are for a table on a terminal, without proofs; nil where there is none.
	table bool
	rows  []*record.Record
	gates []*gate
}

// add takes in a record.
func (f *findings) add(r *record.Record) {
	f.tally.Add(r)
	for _, g := range f.gates {
		g.add(r)
	}
	if !f.table {
		return
	}
	row := *r
	row.Proof = nil
	if f.rows = append(f.rows, &row); len(f.rows) > mostRows {
		f.table, f.rows = false, nil
	}
}

// finish prints the table, or its last line, and decides the exit status.
func (f *findings) finish(stderr io.Writer) error {
	if f.table {
		if err := printTable(stderr, f.rows); err != nil {
			return err
		}
	} else if !f.quiet {
		line := f.tally.Summary()
		if drawn := f.tally.Drawn(); drawn != "" {
			line += "; " + drawn
		}
		fmt.Fprintln(stderr, "psafe:", line)
		for _, text := range f.tally.Beside() {
			fmt.Fprintln(stderr, "psafe:", text)
		}
	}
	if !f.quiet && f.unproved != nil {
		note(stderr, f.unproved)
	}
	return checkGates(f.gates)
}
