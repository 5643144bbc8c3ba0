package certify

import (
	"fmt"
	"strings"

	"psafe/host/model/network"
	"psafe/host/prove"
	"psafe/host/record"
)

// atPointWords are about networks that fail without any region.
func (d *diagnosis) atPointWords() string {
	return fmt.Sprintf("%d of %d %s leave S at the middle of T already", d.atPoint, d.drawn, d.networks())
}

// drawnAlone are about networks that fail somewhere in T.
func (d *diagnosis) drawnAlone() string {
	return fmt.Sprintf("%d of %d %s were seen to leave S in T", d.inT, d.drawn, d.networks())
}

// drawnWords are drawnAlone behind something else.
func (d *diagnosis) drawnWords() string {
	if d.drawn == 0 {
		return ""
	}
	return " (" + d.drawnAlone() + ")"
}

func (d *diagnosis) networks() string {
	if d.r.post.Networks() != nil {
		return "networks"
	}
	return "drawn networks"
}

// smallerWords tells what T is to blame for.
func (d *diagnosis) smallerWords() string {
	if d.smaller == 1<<62 {
		return fmt.Sprintf("at the point itself p_lower is at least %s, at a sixteenth of T still next to nothing", record.FormatDown(d.atZero, 4))
	}
	return fmt.Sprintf("at the point itself p_lower is at least %s, with %s at least %s", record.FormatDown(d.atZero, 4), d.epsWords, record.FormatDown(d.pSmaller, 4))
}

// depth returns what is left: nothing that was tried proves anything.
func (d *diagnosis) depth() string {
	hidden := d.hidden()
	switch {
	case d.r.post.Networks() != nil:
		return "the depth: at the point itself no network is decided"
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
		looked = append(looked, "with half of the standard deviations")
	} else {
		cause += " or the spread"
	}
	words := fmt.Sprintf("%s: %s all in %d hidden layers", cause, by, hidden)
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

// upper asks for upper bounds, which may prove what drawn networks show, or else as interval does.
func (d *diagnosis) upper(otherwise string) string {
	if d.r.cfg.NoUpper && d.r.post.Independent() {
		return "leave out --options no-upper: p_upper may prove it"
	}
	return d.interval(otherwise)
}

// interval asks for drawn networks, or for something else where they were asked for.
func (d *diagnosis) interval(otherwise string) string {
	if d.rec.Statistical != nil || d.r.cfg.Samples > 0 || d.r.cfg.Method == prove.Finite {
		return otherwise
	}
	return "--draws 1000, for a statistical interval"
}

// another is a method that may prove something though it takes minutes.
func (d *diagnosis) another() string {
	post := d.r.post
	if d.r.cfg.Method == prove.Auto && d.r.Require == "" && d.r.TimeLimit == nil && post.Independent() && len(post.Layers) == 2 && post.Inputs() <= mostInputsOfGrids {
		if _, kinked := post.Layers[0].Activation.Kinked(); kinked {
			if _, dense := post.Layers[0].Map.(network.Dense); dense {
				return "--method neuronsum, which takes minutes"
			}
		}
	}
	return "a network with fewer layers, or with less spread"
}

// mostInputsOfGrids is up to how many inputs sums of neurons may prove something that auto does not try
// unasked.
const mostInputsOfGrids = 5
