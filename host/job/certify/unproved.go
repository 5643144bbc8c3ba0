package certify

import (
	"fmt"
	"strings"

	"psafe/host/prove"
	"psafe/host/record"
)

// shown is below which p_lower is printed as 0.0000.
const shown = 1e-4

// Unproved reports why Inputs of the Of inputs are unknown, and the one command to run next.
type Unproved struct {
	Inputs, Of int
	// Nothing is how many of them have a p_lower that is printed as 0.0000, Zero how many of these one that is 0; of the
	// others log10_p_lower is finite.
	Nothing, Zero int
	// Require is the probability that is asked for.
	Require string
	// At names the input that was looked at, Why says what was found there. Next is a command, as a shell reads it,
	// and Shows says what it does.
	At, Why, Next, Shows string
}

func (n *Unproved) String() string {
	var text string
	switch n.Nothing {
	case 0:
		text = fmt.Sprintf("%d of %d inputs are unknown: p_lower is below %s, and p_upper is not", n.Inputs, n.Of, n.Require)
	case n.Zero:
		text = fmt.Sprintf("for %d of %d inputs nothing was proved: p_lower 0 means unknown, not unsafe", n.Nothing, n.Of)
	default:
		text = fmt.Sprintf("for %d of %d inputs next to nothing was proved (see log10_p_lower): a p_lower of 0.0000 means unknown, not unsafe", n.Nothing, n.Of)
	}
	if more := n.Inputs - n.Nothing; more > 0 && n.Nothing > 0 {
		text += fmt.Sprintf(", and %d more are unknown", more)
	}
	if n.Why != "" {
		text += fmt.Sprintf("; %s: %s; next, %s: %s", n.At, n.Why, n.Shows, n.Next)
	}
	return text
}

// unproved are the records that are unknown, of records that come one by one. Its zero value is ready.
type unproved struct {
	of, inputs, nothing, zero int
	// first is the first of which nothing is proved, or else the first of them.
	first *record.Record
}

// add takes in a record.
func (u *unproved) add(r *record.Record) {
	u.of++
	method, err := prove.ParseMethod(record.MethodToday(r.Method))
	if r.Verdict != record.Unknown || err == nil && method == prove.Statistical {
		return
	}
	nothing := r.PLower < shown
	if u.inputs++; u.inputs == 1 || nothing && u.nothing == 0 {
		u.first = r
	}
	if !nothing {
		return
	}
	u.nothing++
	if r.PLower == 0 && r.Log10PLower == nil {
		u.zero++
	}
}

// note returns what can be said without looking; require is what is asked for.
func (u *unproved) note(require string) *Unproved {
	r := u.first
	n := &Unproved{Inputs: u.inputs, Of: u.of, Nothing: u.nothing, Zero: u.zero, Require: require, At: fmt.Sprintf("index %d", r.Index)}
	if r.Name != "" {
		n.At = fmt.Sprintf("%.60q", r.Name)
	}
	if r.Eps != "" && !strings.Contains(r.Eps, ".npy") && len(r.Eps) <= 24 {
		n.At += " at eps " + r.Eps
	}
	return n
}
