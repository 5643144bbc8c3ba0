package certify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"psafe/host/bound"
	"psafe/host/prove/boxes"
	"psafe/host/prove/engine"
)

// Note is something that a user should know and that no record says; String is its line.
// It is a *GoingOn, *Complete, *Anew, *OnlyDrawn, *Ceiling, *Dropped, *Normalised, *Reordered,
// *Told, *Unproved, *Renamed or an audit.Doubt.
type Note interface{ String() string }

// GoingOn reports that Done of Total records are in File from an earlier run.
type GoingOn struct {
	File        string
	Done, Total int
}

func (n *GoingOn) String() string {
	return fmt.Sprintf("%s: going on after %d of %d records", n.File, n.Done, n.Total)
}

// Complete reports that File has all Total records of this run.
type Complete struct {
	File  string
	Total int
}

func (n *Complete) String() string {
	return fmt.Sprintf("%s: has all %d records already, nothing is computed", n.File, n.Total)
}

// Anew reports why a result file is not this run's, so that Resume replaces it.
type Anew struct{ Why error }

func (n *Anew) String() string {
	return "beginning anew and replacing what is not this run's: " + inLine(n.Why)
}

// OnlyDrawn reports that auto gives the statistical interval alone, because the weights of the posterior, which is
// What, depend on each other: Why no method bounds these, empty if nothing more is to be said of that. Slow says that
// each network takes millions of products to draw.
type OnlyDrawn struct {
	What, Why  string
	Networks   int
	Confidence float64
	Slow       bool
}

func (n *OnlyDrawn) String() string {
	text := fmt.Sprintf("the posterior is %s, for which no method proves a bound: p_lower stays 0 and p_upper 1, and the field statistical has an interval from %d drawn networks, with confidence %v (--method statistical)",
		n.What, n.Networks, n.Confidence)
	if n.Why != "" {
		text += "; " + n.Why
	}
	if n.Slow {
		text += "; each takes millions of products to draw: --draws 100 is done in a tenth of the time"
	}
	return text
}

// Ceiling reports what drawn boxes can hold at most, where that makes a run pointless: Boxes of
// half-width Gamma hold at most 10^Log10Up of the mass of Weights weights.
type Ceiling struct {
	Boxes, Weights int
	Gamma          float64
	Log10Up        float64
}

func (n *Ceiling) String() string {
	most := "at most " + fmt.Sprintf("10^%.1f", math.Ceil(n.Log10Up*10)/10)
	if n.Log10Up < -300 {
		most = "less than 10^-300"
	}
	return fmt.Sprintf("%d boxes of half-width %v sigma around samples hold %s of the mass of %d weights, whatever is proved: use --method clbp",
		n.Boxes, n.Gamma, most, n.Weights)
}

// Dropped reports why a device is not used any more.
type Dropped struct{ Why *engine.Dropped }

func (n *Dropped) String() string {
	return fmt.Sprintf("%v: what it computed since the last recheck that agreed is computed again", n.Why)
}

// Normalised reports that the boxes of Property, a property file, are normalised as File, the
// posterior's, says: many such files are written in the units of the network instead.
type Normalised struct{ File, Property string }

func (n *Normalised) String() string {
	return fmt.Sprintf("%s: says the mean and std of its inputs, so the network takes (x - mean) / std, and the boxes of %s are those of x", n.File, n.Property)
}

// Told reports what was rounded or left out as File, the posterior's, was read.
type Told struct{ File, Text string }

func (n *Told) String() string { return n.File + ": " + n.Text }

// Reordered reports that images are taken with their channels first or last, as File says.
type Reordered struct{ File, Channels string }

func (n *Reordered) String() string {
	return fmt.Sprintf("%s: says that it takes images with their channels %s: the data are reordered, as by --channels %s", n.File, n.Channels, n.Channels)
}

// Renamed reports which words were given as they were called before, in File, a campaign file, or
// on a command line. Its zero value is ready.
type Renamed struct {
	File  string
	Words []Word
}

// Word is a word as it was called before, and as it is called today.
type Word struct{ Before, Today string }

// Add takes in a word, once, that is called otherwise today.
func (n *Renamed) Add(before, today string) {
	if w := (Word{before, today}); before != today && !slices.Contains(n.Words, w) {
		n.Words = append(n.Words, w)
	}
}

func (n *Renamed) String() string {
	var words []string
	for _, w := range n.Words {
		words = append(words, w.Before+" is now "+w.Today)
	}
	text := strings.Join(words, ", ") + ": the old words still work, and a later version will not read them"
	if n.File != "" {
		text = n.File + ": " + text
	}
	return text
}

// noteCeiling notes what drawn boxes can hold, before anything is propagated.
func (r *ready) noteCeiling(p bound.Precision) {
	if !r.cfg.Method.OfBoxes() || r.Note == nil {
		return
	}
	said := map[Ceiling]bool{}
	for _, of := range r.boxings {
		n := Ceiling{Boxes: r.cfg.Samples, Gamma: r.cfg.Gamma, Weights: r.post.Weights()}
		if n.Boxes == 0 {
			n.Boxes = of.samples
		}
		if n.Gamma == 0 {
			n.Gamma = of.gamma
		}
		n.Log10Up = boxes.Ceiling(r.post, p, n.Boxes, n.Gamma)
		if n.Log10Up < math.Log10(max(r.require().Approx(), 1e-300)) && !said[n] {
			said[n] = true
			r.tell(&n)
		}
	}
}
