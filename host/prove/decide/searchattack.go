package decide

import (
	"context"
	"math/rand/v2"
	"time"

	"psafe/host/read/property"
)

// fewRounds is the number of rounds of few inputs.
const fewRounds = 200

// fewStarts and manyStarts are how many random points of a box Adam starts from in a round: more where
// inputs are few, rounds are fast, and a set with alternatives may be left in a narrow place only.
const fewStarts, manyStarts = 4, 1

// relaxedDescents is the number of proposals of relaxedStarts that a round takes.
const relaxedDescents = 4

// attackOn attacks the tasks one after the other, with new starts each time, until ctx ends
// or a point is found. For networks of many inputs, where cutting T proves little, it is half
// of what is done; where there are few, cells are attacked one by one, and this ends soon.
func (r *search) attackOn(ctx context.Context) {
	few := r.Engine.Normal.Inputs() <= FewInputs
	for round := uint64(0); ctx.Err() == nil && !r.over() && !(few && round == fewRounds); round++ {
		for t := range r.Tasks {
			safe := oneOf(&r.Tasks[t].S, round)
			for b := range r.Tasks[t].T {
				began := time.Now()
				if r.attackBox(ctx, t, b, safe, round) {
					return
				}
				r.rest(ctx, time.Since(began))
			}
		}
	}
}

// oneOf is the whole set in even rounds, and in odd ones, where it is one conjunction, one of
// its members alone: to leave that is to leave the set, and descents on one do not change
// their aim on the way.
func oneOf(s *property.Safe, round uint64) *property.Safe {
	if len(s.Any) != 1 || len(s.Any[0]) < 2 || round%2 == 0 {
		return s
	}
	all := s.Any[0]
	one := all[(round/2)%uint64(len(all))]
	if one < 0 {
		return &property.Safe{Rows: s.Rows, Any: [][]int{{one}}, Gates: s.Gates}
	}
	return &property.Safe{Rows: s.Rows[one : one+1], Any: [][]int{{0}}}
}

// attackBox attacks one box of a task: from corners that relaxedStarts proposes, from a random
// point, and in the first round as decisions do.
func (r *search) attackBox(ctx context.Context, t, b int, safe *property.Safe, round uint64) bool {
	at := Target{r.net, r.Weights, r.Tasks[t].T[b], safe}
	if round == 0 {
		if x, margin := AttackApprox(at, Effort{Steps: 20, Starts: 3, Seed: searchSeed, Over: Over(ctx)}); r.try(t, x, margin) {
			return true
		}
	}
	a := newAttack(at, Effort{Steps: 20, Over: Over(ctx)})
	random := rand.New(rand.NewPCG(round, searchSeed))
	if at.Net.Chain() {
		starts := newRelaxedStarts(a, random)
		for range relaxedDescents {
			if ctx.Err() != nil {
				return false
			}
			a.consider(at.Box.CentreApprox())
			a.descend(starts.corner())
		}
	}
	from := make([]float64, len(at.Box.Lo))
	a.randomPoint(random, from)
	a.descend(from)
	starts := manyStarts
	if len(from) <= FewInputs && (len(safe.Any) > 1 || len(safe.Gates) > 0) {
		starts = fewStarts
	}
	a.restarts(random, starts, adamSteps)
	return r.try(t, a.best, a.bestMargin)
}
