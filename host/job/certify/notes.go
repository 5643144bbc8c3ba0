package certify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove"
	"psafe/host/prove/boxes"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Note is something that a user should know and that no record says; String is its line.
// It is a *GoingOn, *Complete, *Anew, *OnlyDrawn, *Ceiling, *Dropped, *Normalised, *Reordered,
// *Told, *Unproved, *Renamed or an audit.Doubt.
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

// OnlyDrawn says that auto gives the statistical interval alone, because the weights of the
// posterior, which is What, depend on each other.
type OnlyDrawn struct {
	What       string
	Networks   int
	Confidence float64
}

func (n *OnlyDrawn) String() string {
	return fmt.Sprintf("the posterior is %s, not independent normal weights, so no method proves a bound: p_lower stays 0 and p_upper 1, and the field statistical has an interval from %d drawn networks, with confidence %v (--method statistical)",
		n.What, n.Networks, n.Confidence)
}

// Ceiling says what drawn boxes can hold at most, where that makes a run pointless:
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
type Dropped struct{ Why *engine.Dropped }

func (n *Dropped) String() string {
	return fmt.Sprintf("%v: what it computed since the last recheck that agreed is computed again", n.Why)
}

// Normalised says that the boxes of Property, a property file, are normalised as File, the
// posterior's, says: many such files are written in the units of the network instead.
type Normalised struct{ File, Property string }

func (n *Normalised) String() string {
	return fmt.Sprintf("%s: says the mean and std of its inputs, so the network takes (x - mean) / std, and the boxes of %s are those of x", n.File, n.Property)
}

// Told is what was rounded or left out as File, the posterior's, was read.
type Told struct{ File, Text string }

func (n *Told) String() string { return n.File + ": " + n.Text }

// Reordered says that images are taken with their channels first or last, as File says.
type Reordered struct{ File, Channels string }

func (n *Reordered) String() string {
	return fmt.Sprintf("%s: says that it takes images with their channels %s: the data are reordered, as by --channels %s", n.File, n.Channels, n.Channels)
}

// Renamed says which words were given as they were called before, in File, a campaign file, or on
// a command line. Its zero value is ready.
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

// noteCeiling tells what drawn boxes can hold, before anything is propagated.
func (r *ready) noteCeiling(p bound.Precision) {
	if r.cfg.Boxes != prove.Drawn || r.Note == nil {
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

// shown is below which p_lower is printed as 0.0000.
const shown = 1e-4

// Unproved says that of Inputs of the Of inputs p_lower is below 0.0001, printed as 0.0000,
// though nothing shows that they are unsafe; the other fields are what was chosen, so that
// nobody is told to choose it.
type Unproved struct {
	Inputs, Of int
	// Zero of them have a p_lower of 0, NoBox of these since no box around the mean was
	// proved. Boxed is how many rest on a box that holds too little.
	Zero, NoBox, Boxed int
	// Method is what was asked for.
	Method prove.Method
	// File is set for a property file, Point where eps is 0, Grids where auto left out grids of
	// points, which are for one hidden layer and few inputs.
	File, Point, Grids bool
	// Drawn says that there is a statistical interval, Stopped that --time-limit was up.
	Drawn, Stopped bool
}

func (n *Unproved) String() string {
	text := fmt.Sprintf("for %d of %d inputs ", n.Inputs, n.Of)
	switch {
	case n.NoBox == n.Inputs:
		text += "no box around the mean was proved safe on T: p_lower 0 means"
	case n.Zero == n.Inputs:
		text += "nothing was proved: p_lower 0 means"
	default:
		text += "next to nothing was proved (see log10_p_lower): a p_lower of 0.0000 means"
	}
	text += " unknown, not unsafe"
	var may []string
	if n.Stopped {
		may = append(may, "a longer --time-limit")
	}
	switch {
	case n.File:
		may = append(may, "smaller input boxes")
	case !n.Point:
		may = append(may, "a smaller --eps")
	}
	switch n.Method {
	case prove.IBP, prove.LBP, prove.CLBP, prove.NeuronSum:
		may = append(may, "--method auto")
	}
	if n.Grids {
		may = append(may, "--method neuronsum (minutes, for few inputs)")
	}
	if len(may) > 0 {
		text += "; " + strings.Join(may, " or ") + " may help"
	}
	if n.Boxed > 0 {
		text += "; the spread of the posterior is large for what can be proved, and --scale-factor 0.5 shows what half of it would give"
	}
	if !n.Drawn {
		text += "; --method statistical says what drawn networks do"
	}
	return text
}

// Explanation says why records certify nothing or next to nothing, where they do, of records
// that come one by one. Its zero value is ready.
type Explanation struct {
	n            int
	kinds, found []Unproved
}

// Add takes in a record.
func (e *Explanation) Add(r *record.Record) {
	e.n++
	_, boxes := record.Today("boxes", r.Boxes)
	if r.PLower >= shown || r.Verdict != "unknown" || r.Method == "statistical" || boxes == prove.Drawn.String() {
		return
	}
	kind := Unproved{Method: methodAsked(r), File: r.Eps == "", Point: isZero(r.Eps), Drawn: r.Statistical != nil, Stopped: r.TimedOut()}
	kind.Grids = kind.File && kind.Method == prove.Auto && leftOutGrids(r)
	at := slices.Index(e.kinds, kind)
	if at < 0 {
		at, e.kinds, e.found = len(e.kinds), append(e.kinds, kind), append(e.found, kind)
	}
	e.found[at].count(r)
}

// Notes are one for each kind of such records.
func (e *Explanation) Notes() []Note {
	var notes []Note
	for _, n := range e.found {
		n.Of = e.n
		notes = append(notes, &n)
	}
	return notes
}

// leftOutGrids says that auto did not try grids, which may prove something if inputs are few.
func leftOutGrids(r *record.Record) bool {
	if len(r.Activations) != 1 || strings.Contains(r.Flags, "--require") || strings.Contains(r.Flags, "--time-limit") {
		return false
	}
	a, err := network.ParseActivation(r.Activations[0])
	if err != nil {
		return false
	}
	_, kinked := a.Kinked()
	return kinked
}

// count adds a record.
func (n *Unproved) count(r *record.Record) {
	n.Inputs++
	proved := r.SafeBoxes != nil && *r.SafeBoxes > 0
	switch {
	case r.Boxes != "" && proved:
		n.Boxed++ // whatever it holds: p_lower may underflow to 0, and log10_p_lower be finite
	case r.PLower == 0:
		n.Zero++
		if r.Boxes != "" {
			n.NoBox++
		}
	}
}

// methodAsked is the method that the run of a record was asked for; auto where this program does
// not know it, of which nothing is said to be better.
func methodAsked(r *record.Record) prove.Method {
	m, err := prove.ParseMethod(record.MethodToday(r.MethodAsked()))
	if err != nil {
		return prove.Auto
	}
	return m
}

// isZero says whether a decimal is 0.
func isZero(text string) bool {
	d, err := property.NewDecimal(text)
	return err == nil && d == property.Decimal{}
}
