package decide

import (
	"context"
	"math"
	"math/big"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// Finite decides every network of a posterior that is a finite set of them: the
// counts of those proved safe add up to a certified lower bound, and those proved
// unsafe take from 1 a certified upper bound (docs/theory.md, section 6.1). Where the networks
// are independent draws of a posterior, there is an interval for that one too, of this confidence.
func Finite(ctx context.Context, e *engine.Engine, cells int, upper bool, confidence float64, tasks []property.Task) ([]*claim.Result, error) {
	s := e.Posterior.Networks()
	safe, unsafe := make([]int64, len(tasks)), make([]int64, len(tasks))
	results := make([]*claim.Result, len(tasks))
	for t := range tasks {
		results[t] = claim.NewResult(&tasks[t], "finite")
		results[t].Samples = s.N()
	}
	weights := func(_ context.Context, i int) (drawn, error) { return s.Weights(i), nil }
	all := census{e: e, cells: finitePieces(cells, e.Normal.Inputs(), s.N()), n: s.N(), net: weights}
	err := all.decide(ctx, tasks, func(i int, rulings []decided) {
		for t := range rulings {
			d, r := &rulings[t], results[t]
			how := claim.NetworkProof{Network: i}
			switch d.ruling {
			case provedSafe:
				safe[t] += s.Counts[i]
				r.SafeSamples++
				how.Cells = d.cells()
			case provedUnsafe:
				unsafe[t] += s.Counts[i]
				r.UnsafeSamples++
				how.Witness = d.witness
			}
			if how.Cells != nil || how.Witness != nil {
				r.Proof.Networks = append(r.Proof.Networks, how)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for t, r := range results {
		r.PLower = shareDown(safe[t], s.Total())
		if upper {
			r.UnsafeDown = shareDown(unsafe[t], s.Total())
		}
		if s.DrawsOf != "" {
			r.Parent = &claim.Parent{Statistic: *claim.NewStatistic(s.N(), r.SafeSamples, r.UnsafeSamples, confidence), Of: s.DrawsOf}
		}
		r.LogP = arith.LogComplementDown(math.Nextafter(1-r.PLower, math.Inf(1)))
		switch r.PLower {
		case 0:
			r.LogP = math.Inf(-1)
		case 1:
			r.LogP = 0
		}
	}
	return results, nil
}

// allPieces is the greatest number of cells into which the boxes of T are cut to decide all networks
// of a set together, where there are few inputs and nobody says otherwise. A network is as much of
// the answer as there are few of them.
const allPieces = 65536

// finitePieces returns how many cells T may be cut into to decide one of n networks.
func finitePieces(cells, inputs, n int) int {
	most := mostPieces(cells, inputs)
	if cells == 0 && inputs <= FewInputs {
		most = max(most, allPieces/n)
	}
	return most
}

// shareDown is a/total, rounded down.
func shareDown(a, total int64) float64 {
	exact := big.NewRat(a, total)
	f, same := exact.Float64()
	if !same && new(big.Rat).SetFloat64(f).Cmp(exact) > 0 {
		return math.Nextafter(f, math.Inf(-1))
	}
	return f
}
