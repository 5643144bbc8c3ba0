package record

import "fmt"

// EachPoints sums up what records say of the worst point of each T (EachLower). Its zero value is ready.
type EachPoints struct {
	// N counts them, Safe those with at least what is required.
	N, Safe int
	lower   Sum
}

// Add takes in a record.
func (e *EachPoints) Add(r *Record) {
	if r.EachLower == nil {
		return
	}
	e.N++
	e.lower.Add(float64(*r.EachLower))
	if r.eachVerdict() == "safe" {
		e.Safe++
	}
}

// MeanLower is the mean of what is proved, rounded down.
func (e *EachPoints) MeanLower() Down { return Down(e.lower.MeanDown()) }

// Words tells in a line what they are, empty if there are none.
func (e *EachPoints) Words() string {
	if e.N == 0 {
		return ""
	}
	return fmt.Sprintf("at each input of T, of networks that are drawn anew there: %s", e.Counts())
}

// Counts returns how many are at least what is required, and the mean.
func (e *EachPoints) Counts() string {
	return fmt.Sprintf("each_lower is at least what is required for %d of %d; mean %s", e.Safe, e.N, FormatDown(e.MeanLower(), 4))
}

// eachVerdict returns what EachLower decides. PUpper is a bound at one point, which decides too, but of finite sets,
// of which networks may fail at one point each.
func (r *Record) eachVerdict() string {
	upper := float64(r.PUpper)
	if r.SafeSamples != nil {
		upper = 1
	}
	return Verdict(float64(*r.EachLower), upper, r.Require)
}
