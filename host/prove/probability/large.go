package probability

import (
	"math"

	"psafe/host/arith/gauss"
)

// Large leaves out of the negative part of a product what comes with -A T > Above. T is independent
// of A; given High, it is normal with a deviation in [SdLo, SdHi] and, for all that was moved to
// High's number k, a mean of at least Mean[k]. Where that is -Inf, nothing is left out.
type Large struct {
	Above      float64
	Mean       []float64
	SdLo, SdHi float64
}

// mostUp bounds Above/|A|, for all that was moved to each number of A < 0.
func (g *Large) mostUp(a *Split) []float64 {
	most := make([]float64, len(a.P))
	for i := range most {
		least := down(-a.Hi[i] - math.Sqrt(a.Square[i])*(1+0x1p-50))
		if most[i] = math.Inf(1); least > 0 {
			most[i] = up(g.Above / least)
		}
	}
	return most
}

// keptUp bounds what is left of masses of numbers of A with the number k of High. It writes to room.
func (g *Large) keptUp(room, masses, most []float64, k int) []float64 {
	mean, far := g.Mean[k], gauss.PhiEnd*g.SdHi
	if math.IsInf(mean, -1) {
		return masses
	}
	room = room[:len(masses)]
	for i, m := range masses {
		x := most[i] - mean
		if !(x < far) { // NaN as well
			room[i] = m
			continue
		}
		if x < 0 {
			x /= g.SdHi
		} else {
			x /= g.SdLo
		}
		room[i] = m * gauss.PhiUp(x) * (1 + 0x1p-50)
	}
	return room
}
