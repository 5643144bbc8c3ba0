package run

import (
	"fmt"
	"math"

	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/report"
)

// Note is something that a user should know and that no record says; String is its line.
// It is a *GoingOn, *Complete, *Anew, *Ceiling, *Dropped, *Unproved or an audit.Doubt.
type Note interface{ String() string }

// GoingOn says that Done of Total records are in File from an earlier run.
type GoingOn struct {
	File        string
	Done, Total int
}

func (n *GoingOn) String() string {
	return fmt.Sprintf("%s: going on after %d of %d records", n.File, n.Done, n.Total)
}

// Complete says that File has all Total records of this run.
type Complete struct {
	File  string
	Total int
}

func (n *Complete) String() string {
	return fmt.Sprintf("%s: has all %d records already, nothing is computed", n.File, n.Total)
}

// Anew says why a result file is not this run's, so that Resume replaces it.
type Anew struct{ Why error }

func (n *Anew) String() string {
	return "beginning anew and replacing what is not this run's: " + inLine(n.Why)
}

// Ceiling says what sampled boxes can hold at most, where that makes a run pointless:
// Boxes of half-width Gamma hold at most 10^Log10Up of the mass of Weights weights.
type Ceiling struct {
	Boxes, Weights int
	Gamma          float64
	Log10Up        float64
}

func (n *Ceiling) String() string {
	return fmt.Sprintf("%d boxes of half-width %v sigma around samples hold at most 10^%.1f of the mass of %d weights, whatever is proved: use --boxes centred",
		n.Boxes, n.Gamma, math.Ceil(n.Log10Up*10)/10, n.Weights)
}

// Dropped says why a device is not used any more.
type Dropped struct{ Why *certify.Dropped }

func (n *Dropped) String() string {
	return fmt.Sprintf("%v: what it computed since the last recheck that agreed is computed again", n.Why)
}

// noteCeiling tells what sampled boxes can hold, before anything is propagated.
func (r *ready) noteCeiling(p bound.Precision) {
	if r.cfg.Strategy != certify.Sampled || r.Note == nil {
		return
	}
	said := map[Ceiling]bool{}
	for _, t := range r.tasks.tasks {
		n := Ceiling{Boxes: r.cfg.Samples, Gamma: r.cfg.Gamma, Weights: r.post.Weights()}
		if n.Boxes == 0 {
			n.Boxes = t.Samples
		}
		if n.Gamma == 0 {
			n.Gamma = t.Gamma
		}
		n.Log10Up = certify.Ceiling(r.post, p, n.Boxes, n.Gamma)
		if n.Log10Up < math.Log10(max(r.require().Approx(), 1e-300)) && !said[n] {
			said[n] = true
			r.tell(&n)
		}
	}
}

// Why says why records certify nothing.
type Why int

const (
	// NoBox: no box around the mean was proved.
	NoBox Why = iota
	// SmallBox: the box that was proved holds too little to show.
	SmallBox
	// NoBound: a method without boxes proved nothing.
	NoBound
)

// Unproved says that of this number of inputs p_lower is 0, and why.
type Unproved struct {
	Inputs int
	Why    Why
}

func (n *Unproved) String() string {
	switch n.Why {
	case NoBox:
		return fmt.Sprintf("for %d input(s) no box around the mean was proved safe on T: a smaller --eps (or --method auto, if it was another) may help; p_lower 0 means unknown, not unsafe", n.Inputs)
	case SmallBox:
		return fmt.Sprintf("for %d input(s) the box that was proved holds too little to show as p_lower: see log10_p_lower; the spread of the posterior is large for this eps: try --method auto", n.Inputs)
	}
	return fmt.Sprintf("for %d input(s) nothing was proved: p_lower 0 means unknown, not unsafe; a smaller --eps may help, and --method statistical says what drawn networks do", n.Inputs)
}

// Explain says why records certify nothing, where they do.
func Explain(records []*report.Record) []Note {
	var count [NoBound + 1]int
	for _, r := range records {
		switch {
		case r.PLower != 0 || r.Verdict == "unsafe" || r.Method == "statistical" || r.Boxes == certify.Sampled.String():
		case r.Boxes == "":
			count[NoBound]++
		case r.SafeBoxes == nil || *r.SafeBoxes == 0:
			count[NoBox]++
		default:
			count[SmallBox]++
		}
	}
	var notes []Note
	for why, n := range count {
		if n > 0 {
			notes = append(notes, &Unproved{n, Why(why)})
		}
	}
	return notes
}
