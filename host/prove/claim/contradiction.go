package claim

import (
	"fmt"

	"psafe/host/prove/probability"
)

// Contradiction reports which two numbers of a task's result cannot both be true. As an error of
// Run it means that the spare device, or the only one, contradicts itself.
type Contradiction struct {
	// Index and Name are those of the task.
	Index int
	Name  string
	// Low is a bound from below that is above High, a bound from above; the words say
	// what they are.
	Low, High           float64
	LowWords, HighWords string
}

// Error is one line.
func (c *Contradiction) Error() string {
	name := ""
	if c.Name != "" {
		name = fmt.Sprintf(" (%.60q)", c.Name)
	}
	return fmt.Sprintf("bounds of index %d%s contradict each other: %s %.9g is above %s %.9g", c.Index, name, c.LowWords, c.Low, c.HighWords, c.High)
}

// surely is alpha of each side of an interval at confidence 1 - 1e-9.
const surely = 5e-10

// Most is the upper limit at confidence 1 - 1e-9, which no lower bound may be above.
func (s *Statistic) Most() float64 {
	return probability.ClopperPearsonUp(s.Samples-s.Unsafe, s.Samples, surely)
}

// Contradicts looks for two numbers of a result that cannot both be true: p_lower above
// p_upper, or either beyond the interval that the drawn networks give at confidence
// 1 - 1e-9 (Clopper and Pearson, from the counts). nil if there are none.
func Contradicts(r *Result) *Contradiction {
	lower, upper := r.Lower(), r.Upper()
	found := func(low, high float64, lowWords, highWords string) *Contradiction {
		return &Contradiction{r.Task.Index, r.Task.Name, low, high, lowWords, highWords}
	}
	switch {
	case !(lower <= 1):
		return found(lower, 1, "p_lower", "the probability")
	case !(upper >= 0):
		return found(0, upper, "the probability", "p_upper")
	case lower > upper:
		return found(lower, upper, "p_lower", "p_upper")
	case r.Each != nil && r.Each.Lower > upper && r.Method != "finite": // of finite sets p_upper is about no single point
		return found(r.Each.Lower, upper, "each_lower", "p_upper")
	case r.Quantile != nil && r.Quantile.Lower >= 0 && r.Quantile.Prob > upper:
		return found(r.Quantile.Prob, upper, "what the quantile is proved with,", "p_upper")
	}
	if s := r.Statistic; s != nil {
		if most := s.Most(); lower > most {
			return found(lower, most, "p_lower", "the limit of drawn networks at confidence 1 - 1e-9,")
		}
		if least := probability.ClopperPearsonDown(s.Safe, s.Samples, surely); upper < least {
			return found(least, upper, "the limit of drawn networks at confidence 1 - 1e-9,", "p_upper")
		}
	}
	return nil
}
