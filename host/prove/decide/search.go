package decide

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Search looks for a point of T where one network leaves the safe set, and for a proof that
// there is none, in turns: cells of T are bounded by LBP, those that are not proved safe are
// attacked and cut in two. Every cell that it closes is proved; whether a point is one,
// Try decides.
type Search struct {
	Engine *engine.Engine
	// Weights holds the weights of the network, in the layout of posterior.Draw; Engine's posterior
	// has its shapes and activations.
	Weights [][]float64
	Tasks   []property.Task
	// Try is told of points near which task number t may fail, and says whether it has
	// found a counterexample, which ends the search. One call at a time.
	Try func(t int, x []float64) bool
	// Cells is how many cells may be bounded.
	Cells int
	// Fine is an engine of a finer precision for cells where roundings are in the way, used and
	// closed by Run; nil: none.
	Fine func() (*engine.Engine, error)
}

// Found holds how a search ended.
type Found struct {
	// Safe: the network is in the safe set on all of T, of every task. Unsafe: Try has said
	// so of a point. Neither: cells ran out.
	Safe, Unsafe bool
	// Cells is how many were bounded, Problems how many sub-problems phases looked at.
	Cells, Problems int
}

const (
	// batchTime is how long a batch of cells should take: a search ends between two.
	batchTime  = 200 * time.Millisecond
	mostBatch  = 4096
	searchSeed = 1
	// cellSteps is how many steps an attack of a cell takes, but for the first cells: cells are many,
	// and the next are smaller.
	cellSteps  = 3
	firstCells = 31
	// adamEvery is one of how many cells Adam has a start in.
	adamEvery = 16
)

// search is a Search on its way.
type search struct {
	*Search
	net network.Network
	d   *decision
	// fine is d in the finer precision, once it is needed.
	fine  *decision
	stack []open
	found Found
	// clauses holds the clauses of each task's set where rows may be refined, else nil.
	clauses [][][]int
	// gap reports whether a cell was given up.
	gap bool
	// mu guards Try and hit.
	mu  sync.Mutex
	hit bool
	// phased is closed when byPhases is over.
	phased chan struct{}
}

// Run searches until one of both is found, cells run out, or ctx ends, which is the error.
// Without a deadline what Try gets to see may still depend on how fast attacks are.
func (s *Search) Run(ctx context.Context) (Found, error) {
	r := &search{Search: s, net: s.Engine.Normal.Network(), phased: make(chan struct{})}
	r.d = &decision{e: s.Engine, nets: []drawn{s.Weights}, tasks: s.Tasks}
	for t := range s.Tasks {
		r.clauses = append(r.clauses, nil)
		if bound.CanRefine(r.net) {
			r.clauses[t] = s.Tasks[t].S.Clauses()
		}
		for _, b := range s.Tasks[t].T {
			r.stack = append(r.stack, open{task: t, box: b})
		}
	}
	slices.Reverse(r.stack) // the first on top
	if !r.d.fits(0) {
		return r.found, ctx.Err()
	}
	defer func() {
		if r.fine != nil {
			r.fine.e.Close()
		}
	}()
	attacks, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	fault.Go(&wait, func() { r.attackOn(attacks) })
	err := r.byPhases(ctx)
	close(r.phased)
	if err == nil {
		err = r.loop(ctx)
	}
	stop()
	wait.Wait()
	if r.hit {
		return Found{Unsafe: true, Cells: r.found.Cells, Problems: r.found.Problems}, nil
	}
	return r.found, err
}

// loop bounds batches of cells until none is left.
func (r *search) loop(ctx context.Context) error {
	batch := 1
	for len(r.stack) > 0 && !r.over() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, len(r.stack), r.Cells-r.found.Cells-r.found.Problems)
		if n <= 0 {
			return nil
		}
		began := time.Now()
		cells := slices.Clone(r.stack[len(r.stack)-n:])
		r.stack = r.stack[:len(r.stack)-n]
		r.found.Cells += n
		if err := r.bound(ctx, cells); err != nil {
			return err
		}
		switch took := time.Since(began); {
		case took < batchTime/2:
			batch = min(2*batch, mostBatch)
		case took > batchTime:
			batch = max(1, batch/2)
		}
	}
	r.found.Safe = !r.over() && len(r.stack) == 0 && !r.gap
	return nil
}

// over reports whether a counterexample has been found.
func (r *search) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hit
}

// bound closes cells that are proved safe, and attacks and cuts the others.
func (r *search) bound(ctx context.Context, cells []open) error {
	qs := make([]*question, len(cells))
	for i, c := range cells {
		qs[i] = &question{box: c.box, rows: r.Tasks[c.task].S.Rows, of: &r.Tasks[c.task].S, clauses: r.clauses[c.task]}
	}
	if err := r.d.ask(ctx, bound.LBP, slices.Clone(qs)); err != nil {
		return err
	}
	if err := r.again(ctx, qs); err != nil {
		return err
	}
	halves, gaps := make([][]open, len(cells)), make([]bool, len(cells))
	err := fault.OnCores(ctx, len(cells), func(i int) {
		if q := qs[i]; !(q.margin >= 0) {
			halves[i], gaps[i] = r.undecided(cells[i], q.margin, q.hint, r.found.Cells-len(cells)+i)
		}
	})
	for i, h := range slices.Backward(halves) {
		r.stack = append(r.stack, h...)
		r.gap = r.gap || gaps[i]
	}
	return err
}

// again asks once more, in the finer precision, where roundings were in the way.
func (r *search) again(ctx context.Context, qs []*question) error {
	qs = slices.DeleteFunc(slices.Clone(qs), func(q *question) bool { return !q.rounded })
	if r.Fine == nil || len(qs) == 0 {
		return nil
	}
	if r.fine == nil {
		e, err := r.Fine()
		if err != nil {
			return err
		}
		fine := *r.d
		fine.e = e
		r.fine = &fine
	}
	return r.fine.ask(ctx, bound.LBP, qs)
}

// undecided returns what is left of a cell with this lower bound of its margin: nothing, if it is
// proved after all, or its halves. It is a gap if nothing more can be done about it.
func (r *search) undecided(c open, margin float64, h hint, number int) (halves []open, gap bool) {
	if r.over() {
		return nil, true
	}
	task := &r.Tasks[c.task]
	if margin > -r.slack(task) && r.exactly(c) {
		return nil, false
	}
	if x, at := r.attackCell(c, h, number); r.try(c.task, x, at) || slices.Equal(c.box.Lo, c.box.Hi) {
		return nil, true
	}
	j := h.axis
	mid := property.Middle(c.box.Lo[j], c.box.Hi[j])
	if mid <= c.box.Lo[j] || mid >= c.box.Hi[j] {
		return nil, true
	}
	left, right := c, c
	left.box, right.box = c.box.Halves(j)
	return []open{left, right}, false
}

// attackCell is the point of a cell with the least margin that was found. Few steps are taken from the
// better of its centre and the corner where its linear bound is least; more is done at first, and Adam
// has a start in every few cells, which are counted by number.
func (r *search) attackCell(c open, h hint, number int) (x []float64, margin float64) {
	at := Target{r.net, r.Weights, c.box, &r.Tasks[c.task].S}
	if r.found.Cells <= firstCells {
		return AttackApprox(at, Effort{Steps: 4, Starts: 2, Seed: searchSeed})
	}
	a := newAttack(at, Effort{Steps: cellSteps})
	a.consider(c.box.CentreApprox())
	if h.corner != nil {
		a.consider(h.corner)
	}
	a.descend(slices.Clone(a.best))
	if number%adamEvery == 0 {
		a.restarts(rand.New(rand.NewPCG(uint64(number), searchSeed)), 1, adamSteps/2)
	}
	return a.best, a.bestMargin
}

// slack is below which margin rounding alone may have kept LBP from a proof: it grows with the
// numbers that are rounded.
func (r *search) slack(t *property.Task) float64 {
	size := 1.0
	for _, row := range t.S.Rows {
		size = max(size, row.DHi, -row.D)
	}
	for _, box := range t.T {
		for j := range box.Lo {
			size = max(size, -box.Lo[j], box.Hi[j])
		}
	}
	return 1e-5 * size
}

// try tells Try of a point if its margin is about 0 or below.
func (r *search) try(t int, x []float64, margin float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hit && margin <= r.slack(&r.Tasks[t]) {
		r.hit = r.Try(t, x)
	}
	return r.hit
}
