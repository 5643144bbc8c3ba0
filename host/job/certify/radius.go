package certify

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/host/record"
)

// mostRadii is the greatest number of multiples of a step.
const mostRadii = 1 << 20

// defaultSteps is the number of steps in Most where no step is given.
const defaultSteps = 256

// grid is radii by their numbers.
type grid struct {
	step *big.Rat
	// digits holds the digits behind the point, or -1 where the step is a fraction.
	digits, most int
}

// grid reads Most and Step, nil where no radii are asked for.
func (p *Points) grid() (*grid, error) {
	if p.Most == "" {
		return nil, nil
	}
	most, err := property.NewExact(p.Most)
	if err != nil || most.Cmp(property.Exact{}) <= 0 {
		return nil, fmt.Errorf("--most %.40q is no number above 0: give the largest radius that is looked at, such as 0.1", p.Most)
	}
	text := p.Step
	if text == "" {
		text = new(big.Rat).Quo(most.Rat(), big.NewRat(defaultSteps, 1)).RatString()
	}
	step, err := property.NewExact(text)
	if err != nil || step.Cmp(property.Exact{}) <= 0 {
		return nil, fmt.Errorf("--step %.40q is no number above 0: give a decimal such as 0.001, or a fraction such as 1/255", p.Step)
	}
	if most.Cmp(step) < 0 {
		return nil, fmt.Errorf("--most %.40q is no number from --step %s on", p.Most, p.Step)
	}
	g := &grid{step: step.Rat(), digits: -1}
	n := new(big.Rat).Quo(most.Rat(), step.Rat())
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if !whole.IsInt64() || whole.Int64() > mostRadii {
		return nil, fmt.Errorf("--step %s goes more than %d times into --most %s: give a larger step", p.Step, mostRadii, p.Most)
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

// search describes how a run looks for radii: both ends of each point are tasks, one behind the other.
type search struct {
	*grid
	// ends holds the ends that are looked for: without upper bounds nothing is refuted.
	ends []string
	// around is the task of point number n at a radius.
	around func(n int, r radius) (property.Task, error)
	// regions are the radii that were asked for so far, by their numbers; at makes one.
	regions map[int]radius
	at      func(k int) (radius, error)
}

// region is radius k.
func (s *search) region(k int) (radius, error) {
	r, there := s.regions[k]
	if there {
		return r, nil
	}
	r, err := s.at(k)
	s.regions[k] = r
	return r, err
}

// ends holds what is known of a point, by the numbers of radii: nothing was certified from no on,
// and nothing refuted up to yes.
type ends struct {
	*search
	certified, no int
	yes, refuted  int
	// records holds the records at both ends. Where nothing is certified it is that of the point itself, where
	// nothing is refuted that at the largest radius.
	records [2]*record.Record
	// point is its number, tasks are the numbers of those that are asked for.
	point int
	tasks []int
}

func (s *search) newEnds(point int) *ends {
	return &ends{search: s, point: point, certified: -1, no: s.most + 1, yes: -1, refuted: s.most + 1}
}

// next is the radius that tells most, first of what is certified; -1 when all is known.
func (e *ends) next() int {
	switch {
	case e.no-e.certified > 1 && e.certified < 0:
		return 0 // where nothing is certified of the point itself, nothing is of anything
	case e.no-e.certified > 1:
		return (e.no + e.certified) / 2
	case e.refuted-e.yes > 1 && len(e.search.ends) > 1:
		return (e.refuted + e.yes) / 2
	}
	return -1
}

// learn takes in a record at radius k. The error is a *Contradiction.
func (e *ends) learn(k int, r *record.Record) error {
	if k == 0 && e.certified < 0 {
		e.records[0] = r
	}
	if k == e.most && e.refuted > k {
		e.records[1] = r
	}
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

// certifiedOnly looks for no refuted ends.
func (l *taskList) certifiedOnly() {
	l.n /= len(l.search.ends)
	l.search.ends = l.search.ends[:1]
}

// searches refuses what cannot be asked of radii.
func (j *Job) searches() error {
	p := &j.Tasks.Points
	switch {
	case p.Most == "" && p.Step != "":
		return errors.New("--step is that of radii: give --most, the largest that is looked at, or leave it out")
	case p.Most == "":
		return nil
	case j.Tasks.File != "":
		return errors.New("radii are those around points, with a property in words: give --inputs, and no property file")
	case p.Eps != "":
		return errors.New("--eps is what is looked for: leave it out, or --most and --step")
	case j.TimeLimit != nil:
		return errors.New("--time-limit is not for radii, which would depend on how fast the machine is: leave it out")
	case or(j.Method.By, prove.Auto).OfBoxes() || j.Method.Gamma != nil:
		return errors.New("weight boxes are not for radii, as inputs share them: use --method auto or clbp, and leave --gamma out")
	}
	return nil
}

// asked returns what the record of task k says whatever comes out. Which radius an end is comes out.
func (r *ready) asked(k int, t *property.Task) *record.Record {
	rec := r.known(t)
	if s := r.tasks.search; s != nil {
		rec.RadiusEnd, rec.Eps = s.ends[k%len(s.ends)], ""
		rec.Identify()
	}
	rec.Task = k
	return rec
}

// Points are looked at in a window, which grows while a round over it takes less than shortRound and
// shrinks when it takes more than longRound: what is not written yet is lost with a process. What comes
// out does not depend on it.
const (
	firstWindow           = 16
	shortRound, longRound = time.Second, 10 * time.Second
)

// inRadii is inChunks for ends of radii: it asks for one radius of each point of the window, until all
// is known of the first ones.
func (r *ready) inRadii(ctx context.Context, engines []*engine.Engine, n int, number func(i int) int, emit func(*record.Record) error) error {
	s := r.tasks.search
	const copies = 4 // of the ends of T and of what is inside
	most := max(1, min(chunkTasks, chunkBytes/(8*copies*max(1, r.post.Inputs()))))
	window := min(most, firstWindow)
	var open []*ends
	for taken, done := 0, 0; done < n; {
		for len(open) < window && taken < n {
			e := s.newEnds(number(taken) / len(s.ends))
			for ; taken < n && number(taken)/len(s.ends) == e.point; taken++ {
				e.tasks = append(e.tasks, number(taken))
			}
			open = append(open, e)
		}
		began := time.Now()
		if err := r.round(ctx, engines, open); err != nil {
			return err
		}
		switch took := time.Since(began); {
		case took < shortRound:
			window = min(most, 2*window)
		case took > longRound:
			window = max(1, window/2)
		}
		for len(open) > 0 && open[0].next() < 0 {
			for _, k := range open[0].tasks {
				rec := *open[0].records[k%len(s.ends)]
				rec.RadiusEnd, rec.Task = s.ends[k%len(s.ends)], k
				rec.Identify()
				if err := emit(&rec); err != nil {
					return err
				}
				done++
			}
			open = open[1:]
		}
		if r.Progress != nil {
			r.Progress(done, n)
		}
	}
	return nil
}

// round asks for the next radius of each point of which not all is known.
func (r *ready) round(ctx context.Context, engines []*engine.Engine, open []*ends) error {
	s := r.tasks.search
	var tasks []property.Task
	var of []*ends
	var at []int
	for _, e := range open {
		k := e.next()
		if k < 0 {
			continue
		}
		region, err := s.region(k)
		if err != nil {
			return err
		}
		t, err := s.around(e.point, region)
		if err == nil {
			err = r.tasks.fits(&t, r.precision())
		}
		if err != nil {
			return err
		}
		tasks, of, at = append(tasks, t), append(of, e), append(at, k)
	}
	done := 0
	err := prove.Run(ctx, engines, r.cfg, tasks, nil, func(res *claim.Result) error {
		rec, err := r.record(res)
		if err == nil {
			err = of[done].learn(at[done], rec)
			done++
		}
		return err
	})
	if err != nil {
		return r.blamed(ctx, err, engines)
	}
	return nil
}
