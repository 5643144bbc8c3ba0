// Package mixture chooses mixtures of the rows of an OR (docs/theory.md (31)), by drawn networks.
// Whatever is chosen, the bound holds.
package mixture

import (
	"context"
	"slices"

	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Mixture is a task with a mixture of the alternatives of its S among them: for lower bounds.
type Mixture struct {
	Task  property.Task
	theta [][]float64
}

// Better returns which of two results bounds the task more: own by the alternatives of its S, or r by
// the mixture too.
func (m *Mixture) Better(own, r *claim.Result) *claim.Result {
	if !(r.Lower() > own.Lower() || r.Lower() == own.Lower() && r.LogP > own.LogP) {
		return own
	}
	r.Task, r.Proof.Mixtures = own.Task, m.theta
	return r
}

// Choose chooses a mixture for each task, nil where none is to be gained by. The networks that
// it looks at are those of a fixed seed, and of no other use. The error is ctx's.
func Choose(ctx context.Context, e *engine.Engine, tasks []*property.Task) ([]*Mixture, error) {
	all := make([]*Mixture, len(tasks))
	var choices []*mixtureChoice
	var at []int
	for i, t := range tasks {
		if clauses := t.S.Mixable(); clauses != nil {
			c, err := newMixtureChoice(ctx, e, t, clauses)
			if err != nil {
				return nil, err
			}
			choices, at = append(choices, c), append(at, i)
		}
	}
	if err := lookAtAll(ctx, e, choices); err != nil {
		return nil, err
	}
	for _, c := range choices {
		c.choose()
	}
	// A mixture fails elsewhere than what it is made of.
	for _, c := range choices {
		if !c.gains() {
			continue
		}
		if err := c.addWorst(ctx, e); err != nil {
			return nil, err
		}
	}
	if err := lookAtAll(ctx, e, choices); err != nil {
		return nil, err
	}
	for k, c := range choices {
		if c.choose(); !c.gains() {
			continue
		}
		m := &Mixture{Task: *c.task, theta: c.theta}
		var err error
		if m.Task.S, err = c.task.S.Mixed(c.theta); err != nil {
			continue // its rows are so large that a mixture overflows
		}
		all[at[k]] = m
	}
	return all, nil
}

// mixtureChoice is the choice of a mixture for one task, by the means and covariances of its rows
// at some points of T: ordinary float64, and no bound of anything.
type mixtureChoice struct {
	task    *property.Task
	clauses [][]int
	// boxes holds the boxes of T that are looked at, points what is looked at of each.
	boxes  []int
	points [][]point
	// theta is the choice, by clause.
	theta [][]float64
}

// point is a point of T; values[d] are the rows of drawn network d there.
type point struct {
	x      []float64
	values [][]float64
}

const (
	// mixtureDraws is how many networks are drawn to choose a mixture, fewer of a large network:
	// so many that no more than mixtureWork multiplications are made, and leastMixtureDraws.
	mixtureDraws      = 64
	leastMixtureDraws = 16
	mixtureWork       = 4e8
	mixtureSeed       = 1
	// mixtureBoxes is how many boxes of T are looked at, mixtureCorners up to how many corners.
	mixtureBoxes   = 32
	mixtureCorners = 256
)

// newMixtureChoice looks at the middle of each box of T, at the point where the mean network's
// margin is least, about, and with few inputs at all corners.
func newMixtureChoice(ctx context.Context, e *engine.Engine, t *property.Task, clauses [][]int) (*mixtureChoice, error) {
	c := &mixtureChoice{task: t, clauses: clauses}
	n := min(len(t.T), mixtureBoxes)
	for k := range n {
		c.boxes = append(c.boxes, k*len(t.T)/n)
	}
	c.points = make([][]point, n)
	inputs := e.Normal.Inputs()
	corners := inputs <= decide.CornerInputs && n<<inputs <= mixtureCorners
	if err := c.attack(ctx, e, &t.S); err != nil {
		return nil, err
	}
	for k, b := range c.boxes {
		c.add(k, t.T[b].CentreApprox())
		if corners {
			eachCorner(t.T[b], func(x []float64) { c.add(k, x) })
		}
	}
	return c, nil
}

// add has box number k be looked at in x, once.
func (c *mixtureChoice) add(k int, x []float64) {
	if !slices.ContainsFunc(c.points[k], func(p point) bool { return slices.Equal(p.x, x) }) {
		c.points[k] = append(c.points[k], point{x: x})
	}
}

// attack adds points where the mean network leaves a safe set furthest, or is nearest to it.
func (c *mixtureChoice) attack(ctx context.Context, e *engine.Engine, s *property.Safe) error {
	how := decide.Effort{Steps: 20, Starts: 3, Seed: uint64(c.task.Index), Thorough: true, Over: decide.Over(ctx)}
	worst := make([][]float64, len(c.boxes))
	net, mean := e.Normal.Network(), e.Normal.Mean()
	if err := fault.OnCores(ctx, len(c.boxes), func(k int) {
		worst[k], _ = decide.AttackApprox(decide.Target{Net: net, Weights: mean, Box: c.task.T[c.boxes[k]], Safe: s}, how)
	}); err != nil {
		return err
	}
	for k, x := range worst {
		c.add(k, x)
	}
	return nil
}

// addWorst adds points where the mean network's mixtures are least.
func (c *mixtureChoice) addWorst(ctx context.Context, e *engine.Engine) error {
	mixed, err := c.task.S.Mixed(c.theta)
	if err != nil {
		return nil
	}
	return c.attack(ctx, e, &property.Safe{Rows: mixed.Rows, Any: mixed.Any[len(c.task.S.Any):], Gates: mixed.Gates})
}

// lookAtAll evaluates the rows of drawn networks at the points that are new.
func lookAtAll(ctx context.Context, e *engine.Engine, choices []*mixtureChoice) error {
	var tasks []*property.Task
	var points []*point
	for _, c := range choices {
		for k := range c.points {
			for i := range c.points[k] {
				if p := &c.points[k][i]; p.values == nil {
					tasks, points = append(tasks, c.task), append(points, p)
				}
			}
		}
	}
	if len(points) == 0 {
		return nil
	}
	net := e.Normal.Network()
	n := mixtureDrawsOf(e)
	for _, p := range points {
		p.values = make([][]float64, n)
	}
	return fault.OnCores(ctx, n, func(d int) {
		w := e.Normal.NewWeights()
		e.Normal.Draw(mixtureSeed, d, w)
		for i, p := range points {
			y := net.OutputsApprox(w, p.x)
			p.values[d] = make([]float64, len(tasks[i].S.Rows))
			for r := range p.values[d] {
				p.values[d][r] = decide.RowApprox(&tasks[i].S.Rows[r], y)
			}
		}
	})
}

// mixtureDrawsOf depends on the network alone, as what is chosen for a task must not depend on
// others.
func mixtureDrawsOf(e *engine.Engine) int {
	most := mixtureWork / (8 * max(1, float64(e.Normal.Network().Work())))
	return int(min(max(most, leastMixtureDraws), mixtureDraws))
}

// choose sets theta, clause by clause.
func (c *mixtureChoice) choose() {
	c.theta = nil
	for _, rows := range c.clauses {
		f := newMixtureFit(rows, c.points)
		c.theta = append(c.theta, f.best())
	}
}

// gains reports whether a clause has more than one row in its mixture: one row of each clause is
// never more than an alternative.
func (c *mixtureChoice) gains() bool {
	for _, theta := range c.theta {
		n := 0
		for _, f := range theta {
			if f > 0 {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// eachCorner calls f with every corner of the box, each a list of its own.
func eachCorner(box property.Box, f func(x []float64)) {
	for v := range 1 << len(box.Lo) {
		x := slices.Clone(box.Lo)
		for j := range x {
			if v>>j&1 == 1 {
				x[j] = box.Hi[j]
			}
		}
		f(x)
	}
}
