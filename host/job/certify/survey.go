package certify

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"psafe/host/read/property"
	"psafe/host/record"
)

// boxing holds what a task of a property file asks of drawn boxes; 0 leaves it to the flags.
type boxing struct {
	samples int
	gamma   float64
}

// survey makes every task once and keeps no more than the first chunk, so that whatever is wrong with one is said before
// anything is computed; and it sets what all records of the run have in common and no other run's
// have.
func (r *ready) survey(ctx context.Context) error {
	// surveyed holds what is kept of a task.
	type surveyed struct {
		task property.Task
		fits error
		id   string
	}
	var err error
	keeps, bytes := r.tasks.search == nil, 0
	r.id = record.RunID(func(yield func(string) bool) {
		err = inOrder(ctx, r.tasks.n, r.atATime(), func(k int) (s surveyed, err error) {
			t, err := r.tasks.at(k)
			if err == nil {
				s = surveyed{t, r.tasks.fits(&t, r.precision()), r.asked(k, &t).ID}
			}
			return s, err
		}, func(s surveyed) (more bool, err error) {
			bytes += taskBytes(&s.task)
			if keeps = keeps && len(r.made) < chunkTasks && bytes <= chunkBytes; keeps {
				r.made = append(r.made, s.task)
			}
			if err := cmp.Or(r.ask(&s.task), s.fits); err != nil {
				return false, err
			}
			return yield(s.id), nil
		})
	})
	return err
}

// ask notes what a task asks of drawn boxes.
func (r *ready) ask(t *property.Task) error {
	if !r.cfg.Method.OfBoxes() {
		return nil
	}
	samples, gamma := r.cfg.Samples, r.cfg.Gamma
	switch {
	case samples == 0 && t.Samples == 0:
		return fmt.Errorf("--method %v needs --draws N: how many weight boxes to draw", r.cfg.Method)
	case gamma == 0 && t.Gamma == 0:
		return fmt.Errorf("--method %v needs --gamma G: the half-width of each weight box in standard deviations", r.cfg.Method)
	case gamma == 0 && !(t.Gamma >= leastGamma && t.Gamma <= mostGamma):
		return fmt.Errorf("%s: property %d (%q): gamma %v is not between %v and %v", r.tasks.source, t.Index, t.Name, t.Gamma, leastGamma, mostGamma)
	case samples == 0 && t.Samples > mostDraws:
		return fmt.Errorf("%s: property %d (%q): %d samples are more than %d", r.tasks.source, t.Index, t.Name, t.Samples, mostDraws)
	}
	of := boxing{t.Samples, t.Gamma}
	if r.asking == nil {
		r.asking = map[boxing]int{}
	}
	if r.asking[of]++; r.asking[of] == 1 {
		r.boxings = append(r.boxings, of)
	}
	return nil
}

// reach is the largest half-width that the run can ask for.
func (r *ready) reach() float64 {
	reach := math.Max(12, r.cfg.Gamma)
	for _, of := range r.boxings {
		reach = math.Max(reach, of.gamma)
	}
	return reach
}
