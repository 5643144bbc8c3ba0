package certify

import (
	"fmt"
	"strings"

	"psafe/host/model/network"
	"psafe/host/read/property"
)

// fail tells of networks that fail.
func (d *diagnosis) fail() string {
	networks := "drawn networks"
	if d.r.post.Networks() != nil {
		networks = "networks"
	}
	if points := &d.r.Tasks.Points; points.Property == property.KeepsClass && !points.pairs() {
		return networks + " give another class"
	}
	return networks + " leave S"
}

// budgetWords tell of a time limit, and of drawn networks that it left undecided.
func (d *diagnosis) budgetWords() string {
	words := "the budget: the time limit ended the search"
	if s := d.rec.Statistical; s != nil && s.Safe+s.Unsafe < s.Samples {
		words += fmt.Sprintf(", %d of %d drawn networks were decided", s.Safe+s.Unsafe, s.Samples)
	}
	return words
}

// depth returns what is left: nothing that was tried proves anything.
func (d *diagnosis) depth() string {
	hidden := d.hidden()
	switch {
	case d.r.post.Networks() != nil && d.atZero < shown:
		return "the depth: at the point itself no network is proved safe"
	case d.rec.PLower >= shown || d.r.post.Networks() != nil:
		return "the bounds: nothing that was tried proves enough, at the point itself or with less of the spread"
	case d.atZero < 0 && !d.isPoint && !d.halved:
		return "smaller regions and less spread take longer than this note may, and were not looked at"
	}
	by, cause := "concentration LBP loses", "the depth"
	if d.moments {
		by = "concentration LBP and exact moments lose"
	}
	var looked []string
	if d.atZero >= 0 {
		looked = append(looked, "at the point itself")
	}
	if d.halved {
		looked = append(looked, "with half of the spread")
	} else {
		cause += " or the spread"
	}
	layers := "the hidden layer"
	if hidden != 1 {
		layers = fmt.Sprintf("%d hidden layers", hidden)
	}
	words := fmt.Sprintf("%s: %s all in %s", cause, by, layers)
	if len(looked) > 0 {
		words += ", " + strings.Join(looked, " and ") + " too"
	}
	return words
}

// hidden counts hidden layers: those with an activation, as sums, pools and the parts of DropConnect have none; if
// there is none, all.
func (d *diagnosis) hidden() int {
	n := 0
	for _, word := range d.rec.Activations {
		if word != (network.Activation{}).String() {
			n++
		}
	}
	if n == 0 {
		return len(d.rec.Activations)
	}
	return n
}
