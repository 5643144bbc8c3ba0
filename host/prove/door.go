package prove

import (
	"fmt"

	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// The last door: no result leaves whose numbers cannot all be true.

// Contradiction says which two numbers of a task's result cannot both be true. As an error
// of Run it means that the spare device, or the only one, contradicts itself.
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

// contradiction looks for two numbers of a result that cannot both be true: p_lower above
// p_upper, or either beyond the interval that the drawn networks give at confidence
// 1 - 1e-9 (Clopper and Pearson, from the counts). nil if there are none.
func contradiction(r *Result) *Contradiction {
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
	}
	if s := r.Statistic; s != nil {
		if most := measure.ClopperPearsonUp(s.Samples-s.Unsafe, s.Samples, surely); lower > most {
			return found(lower, most, "p_lower", "the limit of drawn networks at confidence 1 - 1e-9,")
		}
		if least := measure.ClopperPearsonDown(s.Safe, s.Samples, surely); upper < least {
			return found(least, upper, "the limit of drawn networks at confidence 1 - 1e-9,", "p_upper")
		}
	}
	return nil
}

// door lets results of engines pass that do not contradict themselves. The first that does
// is certified again, by alone, with the spare devices only. If that contradicts itself too,
// the error is a *Contradiction. If not, the devices are to blame: which of them, nobody can
// say, so all are dropped, and the error is a *Dropped.
func door(engines []*Engine, results []*Result, alone func(t *property.Task) ([]*Result, error)) error {
	for _, r := range results {
		found := contradiction(r)
		if found == nil {
			continue
		}
		var suspects []*Engine
		for _, e := range engines {
			if e.recheck.off == nil && e.spare != nil {
				suspects = append(suspects, e)
			}
		}
		if len(suspects) == 0 {
			return found
		}
		return onTrial(suspects, found, func() error {
			again, err := alone(r.Task)
			if err != nil {
				return err
			}
			if still := contradiction(again[0]); still != nil {
				return still
			}
			return nil
		})
	}
	return nil
}

// onTrial runs f with the devices of engines off. If it succeeds they are dropped, for
// contradicting themselves, and else they are as before.
func onTrial(engines []*Engine, found *Contradiction, f func() error) error {
	var reasons []*Dropped
	for _, e := range engines {
		spare, err := e.spareModel()
		if err != nil {
			return err
		}
		reasons = append(reasons, &Dropped{Device: e.dev.Name(), Spare: spare.Device().Name(), Found: found})
	}
	for i, e := range engines {
		e.recheck.off = reasons[i]
	}
	if err := f(); err != nil {
		for _, e := range engines {
			e.recheck.off = nil
		}
		return err
	}
	var err error
	for i, e := range engines {
		err = e.dropFor(reasons[i])
	}
	return err
}
