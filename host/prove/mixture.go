package prove

import (
	"context"
	"slices"

	"psafe/host/read/property"
	"psafe/internal/fault"
)

// mixture is a task with a mixture of the alternatives of its S among them: for lower bounds.
type mixture struct {
	task  property.Task
	theta [][]float64
}

// better is which of two results bounds the task more: own by the alternatives of its S, or r by
// the mixture too.
func (m *mixture) better(own, r *Result) *Result {
	if !(r.Lower() > own.Lower() || r.Lower() == own.Lower() && r.LogP > own.LogP) {
		return own
	}
	r.Task, r.Proof.Mixtures = own.Task, m.theta
	return r
}

// mixtures chooses a mixture for each task, nil where none is to be gained by. The networks that
// it looks at are those of a fixed seed, and of no other use. The error is ctx's.
func mixtures(ctx context.Context, e *Engine, tasks []*property.Task) ([]*mixture, error) {
	all := make([]*mixture, len(tasks))
	var choices []*mixtureChoice
	var at []int
	for i, t := range tasks {
		if clauses := t.S.Clauses(); clauses != nil {
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
		m := &mixture{task: *c.task, theta: c.theta}
		var err error
		if m.task.S, err = c.task.S.Mixed(c.theta); err != nil {
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
	// boxes are those of T that are looked at, points what is looked at of each.
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
func newMixtureChoice(ctx context.Context, e *Engine, t *property.Task, clauses [][]int) (*mixtureChoice, error) {
	c := &mixtureChoice{task: t, clauses: clauses}
	n := min(len(t.T), mixtureBoxes)
	for k := range n {
		c.boxes = append(c.boxes, k*len(t.T)/n)
	}
	c.points = make([][]point, n)
	inputs := e.normal.Inputs()
	corners := inputs <= cornerInputs && n<<inputs <= mixtureCorners
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
func (c *mixtureChoice) attack(ctx context.Context, e *Engine, s *property.Safe) error {
	how := effort{steps: 20, starts: 3, seed: uint64(c.task.Index), thorough: true, over: over(ctx)}
	worst := make([][]float64, len(c.boxes))
	net, mean := e.normal.Network(), e.normal.Mean()
	if err := fault.OnCores(ctx, len(c.boxes), func(k int) {
		worst[k], _ = attackApprox(target{net, mean, c.task.T[c.boxes[k]], s}, how)
	}); err != nil {
		return err
	}
	for k, x := range worst {
		c.add(k, x)
	}
	return nil
}

// addWorst adds points where the mean network's mixtures are least.
func (c *mixtureChoice) addWorst(ctx context.Context, e *Engine) error {
	mixed, err := c.task.S.Mixed(c.theta)
	if err != nil {
		return nil
	}
	return c.attack(ctx, e, &property.Safe{Rows: mixed.Rows, Any: mixed.Any[len(c.task.S.Any):]})
}

// lookAtAll evaluates the rows of drawn networks at the points that are new.
func lookAtAll(ctx context.Context, e *Engine, choices []*mixtureChoice) error {
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
	net := e.normal.Network()
	n := mixtureDrawsOf(e)
	for _, p := range points {
		p.values = make([][]float64, n)
	}
	return fault.OnCores(ctx, n, func(d int) {
		w := e.normal.NewWeights()
		e.normal.Draw(mixtureSeed, d, w)
		for i, p := range points {
			y := net.OutputsApprox(w, p.x)
			p.values[d] = make([]float64, len(tasks[i].S.Rows))
			for r := range p.values[d] {
				p.values[d][r] = rowApprox(&tasks[i].S.Rows[r], y)
			}
		}
	})
}

// mixtureDrawsOf depends on the network alone, as what is chosen for a task must not depend on
// others.
func mixtureDrawsOf(e *Engine) int {
	most := mixtureWork / (8 * max(1, float64(e.normal.Network().Work())))
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

// gains says that a clause has more than one row in its mixture: one row of each clause is
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
