package decide

import (
	"context"

	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// census decides many networks, as many at a time as host memory likes.
type census struct {
	e *engine.Engine
	// cells is how many cells T may be cut into to decide one network.
	cells int
	// phases is how many sub-problems of phases of ReLUs may be looked at to decide one network that
	// cells leave open, 0 for none: psafe check does not prove those again.
	phases int
	// n is the number of networks, net gives each; its error is that of the context.
	n   int
	net func(ctx context.Context, i int) (drawn, error)
}

// netBytes is how much host memory drawn networks may take at a time.
const netBytes = 256 << 20

// mostLimited is how many networks are decided at a time where the time is limited: those that
// were begun when it is up are undecided. It decides no ruling, as networks have nothing to do with
// each other; so it does no harm that a group under its guard, of which nothing is kept when that is
// over, is cut like this too.
const mostLimited = 64

// decide decides the networks on the tasks and calls count with the number of each and
// its rulings.
func (c *census) decide(ctx context.Context, tasks []property.Task, count func(i int, rulings []decided)) error {
	most := max(1, netBytes/(8*c.e.Normal.Weights()))
	// Input boxes of all pairs are held too.
	most = max(1, min(most, (1<<22)/max(1, len(tasks)*c.e.Normal.Inputs())))
	if c.e.Limited() {
		most = min(most, mostLimited)
	}
	told := 0 // of two for each network: it is drawn, and it is decided
	tell := func(more int) {
		if told += more; c.e.Drawn != nil {
			c.e.Drawn(float64(told) / float64(2*c.n))
		}
	}
	tell(0)
	defer func() { tell(2*c.n - told) }()
	for from := 0; from < c.n; from += most {
		var nets []drawn
		for i := from; i < min(from+most, c.n); i++ {
			net, err := drawn(nil), ctx.Err()
			if err == nil {
				net, err = c.net(ctx, i)
			}
			if err != nil {
				if c.e.Cut(err) { // the rest is undecided
					return nil
				}
				return err
			}
			nets = append(nets, net)
			tell(1)
		}
		rulings, err := decide(ctx, c.e, nets, tasks, c.cells)
		if err == nil {
			err = c.tryHarder(ctx, nets, tasks, rulings, tell)
		}
		if err != nil {
			return err
		}
		for i := range nets {
			count(from+i, rulings[i*len(tasks):(i+1)*len(tasks)])
		}
	}
	return nil
}

// mostPieces returns how many cells T may be cut into to decide one network: as many as asked for, if that
// is above 0.
func mostPieces(cells, inputs int) int {
	switch {
	case cells > 0:
		return cells
	case inputs <= FewInputs:
		return 256
	}
	return 1
}

// FewInputs is up to how many inputs T is cut into cells unless somebody says
// otherwise: with more, halves are hardly smaller.
const FewInputs = 8
