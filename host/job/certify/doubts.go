package certify

import (
	"fmt"

	"psafe/host/model/audit"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Doubts returns what is improbable about a posterior that was read: see audit.Doubts.
func Doubts(post *posterior.Posterior) []Note { return doubtNotes(audit.Doubts(post)) }

// told returns what reading an ONNX file had to round or to leave out; notes of other formats are
// their writer's.
func told(post *posterior.Posterior) []Note {
	if post.Source.Format != "onnx" || post.Source.Note == "" {
		return nil
	}
	return []Note{&Told{post.Source.Path, post.Source.Note}}
}

func doubtNotes(doubts []audit.Doubt) []Note {
	var notes []Note
	for _, d := range doubts {
		notes = append(notes, d)
	}
	return notes
}

// doubted is the first doubt as an error, if none may be left.
func (r *ready) doubted() error {
	if !r.Strict {
		return nil
	}
	return Doubted(r.notes())
}

// Doubted is the first doubt among notes as an error, for --strict; nil if there is none.
func Doubted(notes []Note) error {
	var first Note
	n := 0
	for _, note := range notes {
		if d, is := note.(audit.Doubt); is {
			if n++; n == 1 {
				first = d
			}
		}
	}
	switch {
	case n == 0:
		return nil
	case n == 1:
		return fmt.Errorf("--strict: %v", first)
	}
	return fmt.Errorf("--strict: %v; and %d more doubts, which a run without --strict tells", first, n-1)
}

// doubtedNumbers is about how many coordinates are looked at.
const doubtedNumbers = 1 << 20

// describe looks at the chosen points, or the first of many, as raw data.
func describe(points *property.Points, index []int) audit.Data {
	var some [][]float64
	for _, i := range index[:min(len(index), max(1, doubtedNumbers/points.Dim))] {
		lo, hi := points.At(i)
		some = append(some, middle(lo, hi))
	}
	return audit.Describe(some...)
}

// doubtPoints returns what is improbable about the chosen points, and of a region around them of
// radius eps, which may be clipped; eps is 0 if there is none. typed says that --mean and --std say
// how large inputs are, so that nothing about it is improbable.
func doubtPoints(post *posterior.Posterior, points *property.Points, index []int, eps float64, clipped, typed bool) []Note {
	d := describe(points, index)
	var notes []Note
	if !typed {
		notes = doubtNotes(audit.DoubtInputs(post, d))
	}
	if len(points.Shape) < 2 {
		return notes
	}
	if d.Lo >= 0 && d.Hi <= 1 && eps >= 1 {
		return append(notes, audit.Doubt(fmt.Sprintf("inputs are from 0 to 1 and --eps is %v, which takes in all that there is: radii are in the units of the data, and one of %v steps of a byte is %v/255", eps, eps, eps)))
	}
	if clipped {
		return notes
	}
	for _, top := range []float64{1, 255} {
		// A twentieth of the range of pixels, or less, is what robustness is asked for.
		if d.Lo == 0 && d.Hi <= top && d.Hi > 0.8*top && (top == 1 || d.Whole) && eps > 0.05*top {
			notes = append(notes, audit.Doubt(fmt.Sprintf("inputs look like pixels from 0 to %v, and T reaches %.3g beyond them: --clip 0,%v cuts it to what there is", top, eps, top)))
		}
	}
	return notes
}
