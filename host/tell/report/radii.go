package report

import (
	"fmt"
	"math"
	"math/big"

	"psafe/host/record"
	"psafe/host/tell/summary"
)

// chosenByVerdict warns what records of psafe radius are not good for.
const chosenByVerdict = "These records are of different inputs at different radii, which psafe radius chooses by their verdicts: shares and means of bounds over them say nothing of the inputs."

// mostOpening is of how many groups of radii the sentence on top speaks.
const mostOpening = 4

// foundOf tells how large the radii are that were looked for, in a sentence for each group.
func foundOf(groups []summary.RadiiGroup) string {
	text := chosenByVerdict
	for i, g := range groups {
		if i == mostOpening {
			return text + " And so on: see the radii below."
		}
		of := ""
		if len(groups) > 1 {
			of = shown(fmt.Sprintf(" (%s, %s, %s, %s)", g.PosteriorNamed(), g.Property, g.Wanted, record.MethodToday(g.Method)))
		}
		f := g.Found
		text += fmt.Sprintf(" Of %s inputs%s, %s have a certified radius, of at least %s on average over all and %s in the median", grouped(g.OfInputs), of, grouped(g.Certified),
			record.DecimalDown(f.MeanCertified(), 6), record.DecimalDown(f.MedianCertified(), 6))
		if g.Refuted > 0 {
			text += fmt.Sprintf("; %s have a refuted one, of at most %s on average over these", grouped(g.Refuted), record.DecimalUp(f.MeanRefuted(), 6))
		}
		text += "."
	}
	return text
}

// radiiOf tells what records are about whose radii were chosen for each input by its verdict, as those
// of psafe radius: radii, of which both ends are records. The mean of what is certified counts 0 where
// nothing is, and is rounded down; that of what is refuted is rounded up.
func radiiOf(records []record.Placed) string {
	var radii record.Radii
	for _, r := range records {
		radii.Add(r.Record)
	}
	certified, refuted, n, m := new(big.Rat), new(big.Rat), 0, 0
	for _, e := range radii.List() {
		if e.IsCertified {
			certified.Add(certified, new(big.Rat).SetFloat64(e.Certified))
			n++
		}
		if e.IsRefuted {
			refuted.Add(refuted, new(big.Rat).SetFloat64(e.Refuted))
			m++
		}
	}
	all := len(radii.List())
	text := chosenByVerdict
	if all == 0 {
		return text
	}
	lower, _ := certified.Quo(certified, big.NewRat(int64(all), 1)).Float64()
	text += fmt.Sprintf(" Of %s inputs, %s have a certified radius, of at least %s on average over all", grouped(all), grouped(n), record.FormatDown(record.Down(math.Nextafter(lower, 0)), 6))
	if m > 0 {
		upper, _ := refuted.Quo(refuted, big.NewRat(int64(m), 1)).Float64()
		text += fmt.Sprintf("; %s have a refuted one, of at most %s on average over these", grouped(m), record.FormatUp(record.Up(math.Nextafter(upper, math.Inf(1))), 6))
	}
	return text + "."
}
