package certify

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Radii asks for radii of T: the multiples of Step, a decimal or a fraction, from 0 up to Most.
type Radii struct{ Step, Most string }

// Radius is what was found of a point: records at the largest radius at which what is wanted was
// certified and at the smallest at which it was refuted, nil if there is none. T grows with the radius,
// so the first holds for all smaller ones, and the second for all larger ones.
type Radius struct {
	Index              int
	Label              *int
	Certified, Refuted *record.Record
}

// mostRadii is how many multiples of a step there may be.
const mostRadii = 1 << 20

// grid is radii by their numbers.
type grid struct {
	step *big.Rat
	// digits are those behind the point, or -1 where the step is a fraction.
	digits, most int
}

// grid reads what is asked.
func (a *Radii) grid() (*grid, error) {
	step, err := property.NewExact(a.Step)
	if err != nil || step.Cmp(property.Exact{}) <= 0 {
		return nil, fmt.Errorf("--step %.40q is no number above 0: give a decimal such as 0.001, or a fraction such as 1/255", a.Step)
	}
	most, err := property.NewExact(a.Most)
	if err != nil || most.Cmp(step) < 0 {
		return nil, fmt.Errorf("--most %.40q is no number from --step %s on", a.Most, a.Step)
	}
	g := &grid{step: step.Rat(), digits: -1}
	n := new(big.Rat).Quo(most.Rat(), step.Rat())
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if !whole.IsInt64() || whole.Int64() > mostRadii {
		return nil, fmt.Errorf("--step %s goes more than %d times into --most %s: give a larger step", a.Step, mostRadii, a.Most)
	}
	g.most = int(whole.Int64())
	for d := range 400 { // a decimal has no more
		if new(big.Rat).Mul(g.step, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d)), nil))).IsInt() {
			g.digits = d
			break
		}
	}
	return g, nil
}

// text is radius k as a flag has it.
func (g *grid) text(k int) string {
	r := new(big.Rat).Mul(g.step, big.NewRat(int64(k), 1))
	switch {
	case g.digits < 0:
		return r.RatString()
	case g.digits == 0:
		return r.FloatString(0)
	}
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(g.digits), "0"), ".")
}

// ends is what is known of a point, by the numbers of radii: nothing was certified from no on, and
// nothing refuted up to yes.
type ends struct {
	certified, no int
	yes, refuted  int
	records       [2]*record.Record
}

// next is the radius that tells most, first of what is certified; -1 when all is known.
func (e *ends) next() int {
	switch {
	case e.no-e.certified > 1 && e.certified < 0:
		return 0 // where nothing is certified of the point itself, nothing is of anything
	case e.no-e.certified > 1:
		return (e.no + e.certified) / 2
	case e.refuted-e.yes > 1:
		return (e.refuted + e.yes) / 2
	}
	return -1
}

// learn takes in a record at radius k. The error is a *Contradiction.
func (e *ends) learn(k int, r *record.Record) error {
	switch verdict := r.Wanted(); {
	case verdict > 0:
		if k > e.certified {
			e.certified, e.records[0] = k, r
		}
		e.yes = max(e.yes, k)
	case verdict < 0:
		if k < e.refuted {
			e.refuted, e.records[1] = k, r
		}
		e.no = min(e.no, k)
	default:
		e.no = min(e.no, max(k, e.certified+1))
		e.yes = max(e.yes, k)
	}
	if e.certified >= e.refuted {
		return &Contradiction{fmt.Errorf("index %d: what is certified at eps %s is refuted at %s", r.Index, e.records[0].Eps, e.records[1].Eps)}
	}
	return nil
}

// Radii looks, by bisection, for the radii of all points of the job, which has no list of radii and
// writes no file, and returns them in the order of points. Their records are those of Run at each
// radius, but for times, and make a run of their own. Errors are those of Run.
func (j *Job) Radii(ctx context.Context, ask Radii) ([]*Radius, error) {
	g, err := ask.grid()
	if err != nil {
		return nil, err
	}
	switch points := &j.Tasks.Points; {
	case j.Out.Path != "" || j.Out.Resume:
		panic("certify: Radii: a job that writes a file")
	case j.Tasks.File != "":
		return nil, errors.New("radii are those around points, with a property in words: give --inputs, and no property file")
	case points.Eps != "":
		return nil, errors.New("--eps is what is looked for: give --most and --step")
	}
	of := *j
	of.Tasks.Points.Eps = g.text(g.most)
	r, err := of.read()
	if err != nil {
		return nil, err
	}
	if r.cfg.Boxes == prove.Drawn {
		return nil, errors.New("--boxes drawn is not for radii: inputs share the boxes")
	}
	if err := r.survey(ctx); err != nil {
		return nil, err
	}
	if err := r.pointsThemselves(&of, g); err != nil {
		return nil, err
	}
	if err := r.doubted(); err != nil {
		return nil, err
	}
	w, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	r.tellFirst(w.engines[0].Precision())
	list, err := r.bisect(ctx, w.engines, g)
	if err != nil {
		return nil, err
	}
	number(list)
	return list, w.done()
}

// pointsThemselves looks whether all points have a T at radius 0, before anything is computed: a point
// outside of --clip has one from some radius on only.
func (r *ready) pointsThemselves(j *Job, g *grid) error {
	points := j.Tasks.Points
	points.Eps = g.text(0)
	radii, err := points.radii(r.post.Inputs())
	for i := 0; i < r.tasks.n && err == nil; i++ {
		_, err = r.tasks.around(i, radii[0])
	}
	return err
}

// bisect asks for one radius of each point that is not settled, until all are.
func (r *ready) bisect(ctx context.Context, engines []*engine.Engine, g *grid) ([]*Radius, error) {
	known := make([]*ends, r.tasks.n)
	for i := range known {
		known[i] = &ends{certified: -1, no: g.most + 1, yes: -1, refuted: g.most + 1}
	}
	regions := map[int]radius{}
	for {
		var open, at []int
		for i, e := range known {
			if k := e.next(); k >= 0 {
				open, at = append(open, i), append(at, k)
			}
		}
		if len(open) == 0 {
			break
		}
		for _, k := range at {
			if _, there := regions[k]; there {
				continue
			}
			of := r.Tasks.Points
			of.Eps = g.text(k)
			radii, err := of.radii(r.post.Inputs())
			if err != nil {
				return nil, err
			}
			regions[k] = radii[0]
		}
		for some := range slices.Chunk(slices.Collect(indices(len(open))), chunkTasks) {
			var tasks []property.Task
			for _, n := range some {
				t, err := r.tasks.around(open[n], regions[at[n]])
				if err == nil {
					err = r.tasks.fits(&t, r.precision())
				}
				if err != nil {
					return nil, err
				}
				tasks = append(tasks, t)
			}
			done := 0
			if err := prove.Run(ctx, engines, r.cfg, tasks, nil, func(res *claim.Result) error {
				rec, err := r.record(res)
				if err == nil {
					n := some[done]
					done++
					err = known[open[n]].learn(at[n], rec)
				}
				return err
			}); err != nil {
				return nil, r.blamed(ctx, err, engines)
			}
		}
		if r.Progress != nil {
			r.Progress(r.tasks.n-len(open), r.tasks.n)
		}
	}
	var list []*Radius
	for i, e := range known {
		t, err := r.tasks.at(i)
		if err != nil {
			return nil, err
		}
		of := &Radius{Index: t.Index, Certified: e.records[0], Refuted: e.records[1]}
		if t.Label >= 0 {
			of.Label = &t.Label
		}
		list = append(list, of)
	}
	return list, nil
}

// indices are 0 to n-1.
func indices(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// RecordsOf are those of radii in the order of a file.
func RecordsOf(list []*Radius) []*record.Record {
	var all []*record.Record
	for _, of := range list {
		for _, r := range []*record.Record{of.Certified, of.Refuted} {
			if r != nil {
				all = append(all, r)
			}
		}
	}
	return all
}

// number makes a run of the records.
func number(list []*Radius) {
	all := RecordsOf(list)
	run := record.RunID(func(yield func(string) bool) {
		for _, r := range all {
			if !yield(r.ID) {
				return
			}
		}
	})
	for k, r := range all {
		r.Task, r.Tasks, r.Run = k, len(all), run
	}
}
