package main

import (
	"encoding/json"
	"io"
	"math"

	"psafe/internal/outfile"
)

// What --json says of itself, where there is one object and where there are several.
const (
	jsonUsage      = "one line of JSON in place of the table"
	jsonLinesUsage = "lines of JSON in place of the table"
)

// printJSON writes a value as one line of JSON.
func printJSON(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		panic("psafe: " + err.Error())
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	return nil
}

// finiteOrNull is a number as JSON can have it.
func finiteOrNull(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
