package certify

import (
	"fmt"
	"strings"

	"psafe/host/prove"
	"psafe/host/record"
)

// shown is below which p_lower is printed as 0.0000.
const shown = 1e-4

// Unproved reports why of Inputs of the Of inputs next to nothing is proved, though nothing shows
// that they are unsafe, and the one thing to do next.
type Unproved struct {
	Inputs, Of int
	// Zero of them have a p_lower of 0; of the others log10_p_lower is finite.
	Zero int
	// At names the input that was looked at, Why says what was found there, and Next what to do.
	At, Why, Next string
}

func (n *Unproved) String() string {
	text := fmt.Sprintf("for %d of %d inputs ", n.Inputs, n.Of)
	if n.Zero == n.Inputs {
		text += "nothing was proved: p_lower 0 means"
	} else {
		text += "next to nothing was proved (see log10_p_lower): a p_lower of 0.0000 means"
	}
	text += " unknown, not unsafe"
	if n.Why != "" {
		text += "; " + n.At + ": " + n.Why
	}
	if n.Next != "" {
		text += "; next: " + n.Next
	}
	return text
}

// unproved are the records that certify next to nothing, of records that come one by one. Its zero
// value is ready.
type unproved struct {
	of, inputs, zero int
	// first is the first of them.
	first *record.Record
}

// add takes in a record.
func (u *unproved) add(r *record.Record) {
	u.of++
	method, err := prove.ParseMethod(record.MethodToday(r.Method))
	if r.PLower >= shown || r.Verdict != record.Unknown || err == nil && (method == prove.Statistical || method.OfBoxes()) {
		return
	}
	if u.inputs++; u.inputs == 1 {
		u.first = r
	}
	if r.PLower == 0 && r.Log10PLower == nil {
		u.zero++
	}
}

// note returns what can be said without looking.
func (u *unproved) note() *Unproved {
	r := u.first
	at := fmt.Sprintf("index %d", r.Index)
	if r.Name != "" {
		at = fmt.Sprintf("%.60q", r.Name)
	}
	if strings.Contains(r.Eps, ".npy") || len(r.Eps) > 24 {
		return &Unproved{Inputs: u.inputs, Of: u.of, Zero: u.zero, At: at}
	}
	if r.Eps != "" {
		at += " at eps " + r.Eps
	}
	return &Unproved{Inputs: u.inputs, Of: u.of, Zero: u.zero, At: at}
}
