package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"psafe/host/job/certify"
)

// predictionHeads are the columns of a prediction on a terminal, where all logits with all digits
// would tell nobody anything.
func predictionHeads(p *certify.Prediction) string {
	line := "  index"
	if p.Class != nil {
		line += "  class"
		if p.Label != nil {
			line += "  label"
		}
		line += "       logit  next      margin"
	} else {
		line += "      output"
	}
	switch {
	case p.Approx == nil:
	case p.Class != nil:
		line += "  approx_share"
	default:
		line += " approx_mean   approx_sd"
	}
	return line
}

// predictionRow is a prediction under them: how far the largest logit is above the next, and the
// share of drawn networks that have this class.
func predictionRow(p *certify.Prediction) string {
	line := fmt.Sprintf("%7d", p.Index)
	number := func(v float64) { line += fmt.Sprintf("%12s", strconv.FormatFloat(v, 'g', 6, 64)) }
	if p.Class == nil {
		for _, v := range p.Logits {
			number(v)
		}
		if p.Approx != nil {
			number(p.Approx.Mean[0])
			number(p.Approx.SD[0])
		}
		return line
	}
	class, next := *p.Class, -1
	for k, v := range p.Logits {
		if k != class && (next < 0 || v > p.Logits[next]) {
			next = k
		}
	}
	line += fmt.Sprintf("%7d", class)
	if p.Label != nil {
		line += fmt.Sprintf("%7d", *p.Label)
	}
	number(p.Logits[class])
	line += fmt.Sprintf("%6d", next)
	number(p.Logits[class] - p.Logits[next])
	if p.Approx != nil {
		line += fmt.Sprintf("%14s", strconv.FormatFloat(p.Approx.Shares[class], 'g', 4, 64))
	}
	if p.Label != nil && *p.Label != class {
		line += "  not the label"
	}
	return line
}

// printPrediction writes the next row of the table, after the heads if it is the first.
func printPrediction(w io.Writer, p *certify.Prediction, first bool) error {
	var lines []string
	if first {
		lines = append(lines, predictionHeads(p))
	}
	_, err := fmt.Fprintln(w, strings.Join(append(lines, predictionRow(p)), "\n"))
	return err
}
