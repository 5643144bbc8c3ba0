package engine

import (
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// The last door: no result leaves whose numbers cannot all be true.

// door lets results of engines pass that do not contradict themselves. The first that does
// is certified again, by alone, with the spare devices only. If that contradicts itself too,
// the error is a *Contradiction. If not, the devices are to blame: which of them, nobody can
// say, so all are dropped, and the error is a *Dropped.
func door(engines []*Engine, results []*claim.Result, alone func(t *property.Task) ([]*claim.Result, error)) error {
	for _, r := range results {
		found := claim.Contradicts(r)
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
			if still := claim.Contradicts(again[0]); still != nil {
				return still
			}
			return nil
		})
	}
	return nil
}

// onTrial runs f with the devices of engines off. If it succeeds they are dropped, for
// contradicting themselves, and else they are as before.
func onTrial(engines []*Engine, found *claim.Contradiction, f func() error) error {
	var reasons []*Dropped
	for _, e := range engines {
		spare, err := e.spareModel()
		if err != nil {
			return err
		}
		reasons = append(reasons, &Dropped{Device: e.Device.Name(), Spare: spare.Device().Name(), Found: found})
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
