package certify

import (
	"context"
	"fmt"
	"strings"
	"time"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Why an input is unknown is computed, not guessed: what drawn networks do there, what T alone is to blame for, and
// what the spread. None of it is in any record; bounds that are told are certified, what drawn networks do was only
// tried. What to do next is one command, which proves what the note says of it.
//
// diagnosisTime is for the causes, and once more for what would be certified, or a part of what the run took, one in
// longestShare, if that is more, but not above mostDiagnosisTime.
var diagnosisTime, mostDiagnosisTime = 300 * time.Millisecond, 5 * time.Second

const (
	longestShare = 40
	// Of that time one part in drawShare is for the drawn networks, and one in longerShare for another method, and for
	// what a time limit may have cut short.
	drawShare, longerShare = 4, 3
	// diagnosisDraws is how many networks are drawn, fewDiagnosed how many if they are of one mind.
	diagnosisDraws, fewDiagnosed = 50, 10
	// mostDiagnosed is up to how many weights a network is loaded once more.
	mostDiagnosed = 1 << 23
	// quick is up to how many seconds a file took to be read that is read once more.
	quick = 0.15
)

// diagnosis looks at one input.
type diagnosis struct {
	r *ready
	// ctx is that of the run, with the time that within gives it.
	ctx    context.Context
	within func() context.CancelFunc
	time   time.Duration // of a part
	limit  time.Duration // for one bound, if above 0
	cells  int           // for one bound, if above 0
	dev    bound.Device
	rec    *record.Record
	task   property.Task
	// drawn networks were tried, of which so many leave S at the middle of T, and somewhere in T.
	drawn, atPoint, inT int
	slow                bool // there was no time for more
	// isPoint reports whether T is a point, point is the task at its point, nil if it cannot be had here.
	isPoint bool
	point   *property.Task
	// atZero is p_lower at the point itself, of which nothing is known if it is below 0.
	atZero float64
	// halved reports whether less of the spread was looked at, moments whether exact moments were.
	halved, moments bool
}

// diagnose returns why nothing is decided; ctx is that of the run, which took so long.
func (r *ready) diagnose(ctx context.Context, dev *Devices, found *unproved, took time.Duration) *Unproved {
	note := found.note(r.require().String())
	d := &diagnosis{r: r, rec: found.first, dev: dev.List[0], atZero: -1}
	d.time = timeAfter(took)
	d.within = func() context.CancelFunc {
		next, end := context.WithTimeout(ctx, d.time)
		d.ctx = next
		return end
	}
	defer d.within()()
	if dev.Spare != nil {
		d.dev = dev.Spare()
	}
	var err error
	if d.task, err = r.tasks.at(found.first.Task); err != nil {
		return note
	}
	c := d.cause()
	note.Why, note.Shows, note.Next = c.why, c.shows, Shell(c.next)
	return note
}

// timeAfter is what each of the two parts of a diagnosis may take after a run that took so long.
func timeAfter(took time.Duration) time.Duration {
	return min(max(diagnosisTime, took/longestShare), mostDiagnosisTime)
}

// cause is why an input is unknown, and the command that is to be run next, with what it shows.
type cause struct {
	why, shows string
	next       []string
}

// proves is a cause that is mended by a command which proves so much.
func proves(why string, p float64, next []string) *cause {
	return &cause{why, "which proves p_lower " + record.FormatDown(p, 4), next}
}

// cause finds one, in the order in which they exclude each other.
func (d *diagnosis) cause() *cause {
	d.draw()
	for _, look := range []func() *cause{d.otherMethod, d.longer, d.moreCells, d.networksFail, d.shrink, d.networksFailInT, d.broad} {
		if c := look(); c != nil {
			return d.withDrawn(c)
		}
	}
	return d.withDrawn(d.whatIsLeft())
}

// withDrawn also tells what drawn networks did, unless that is the cause.
func (d *diagnosis) withDrawn(c *cause) *cause {
	if d.drawn > 0 && !strings.HasPrefix(c.why, ofNetworks) {
		c.why += fmt.Sprintf(" (%d of %d %s somewhere in T)", d.inT, d.drawn, d.fail())
	}
	return c
}

// enough reports whether the verdict would be safe.
func (d *diagnosis) enough(p float64) bool {
	return record.Verdict(p, 1, d.r.require()) != record.Unknown
}

// draw tries drawn networks, or those of a finite set, at the middle of T and in T.
func (d *diagnosis) draw() {
	post := d.r.post
	if post.RequireNetworks() != nil {
		return
	}
	net, until := post.Network(), time.Now().Add(d.time/drawShare)
	over := func() bool {
		d.slow = d.ctx.Err() != nil || !time.Now().Before(until)
		return d.slow
	}
	n := diagnosisDraws
	if s := post.Networks(); s != nil {
		n = min(n, s.N())
	}
	for i := range n {
		if over() {
			return
		}
		w, err := networkOf(post, i, func() error {
			if over() {
				return context.DeadlineExceeded
			}
			return nil
		})
		if err != nil {
			return
		}
		point, inT := false, false
		for b := range d.task.T {
			if over() {
				return
			}
			at := decide.Target{Net: net, Weights: w, Box: d.task.T[b], Safe: &d.task.S}
			if _, margin := decide.AttackApprox(at, decide.Effort{Ball: d.task.Ball}); margin < 0 {
				point, inT = true, true
				break
			}
			if _, margin := decide.AttackApprox(at, decide.Effort{Steps: 8, Starts: 2, Seed: uint64(i), Ball: d.task.Ball, Over: over}); margin < 0 {
				inT = true
				break
			}
		}
		d.drawn++
		if point {
			d.atPoint++
		}
		if inT {
			d.inT++
		}
		if d.drawn == fewDiagnosed && post.Networks() == nil && (d.inT == 0 || d.atPoint == d.drawn) {
			return
		}
	}
}

// networkOf is network i of a finite set, or a drawn one; its error is that of ended.
func networkOf(post *posterior.Posterior, i int, ended func() error) ([][]float64, error) {
	if s := post.Networks(); s != nil {
		return s.Weights(i), nil
	}
	w := post.NewWeights()
	return w, post.DrawUntil(0, i, w, ended)
}

// bound is p_lower of tasks by a method, nil if there was no time: of the first, and if that is enough of the next,
// until one is enough. The first is the smallest, and the others get smaller.
func (d *diagnosis) bound(post *posterior.Posterior, method prove.Method, tasks ...property.Task) []float64 {
	var p []float64
	d.prove(post, prove.Config{Method: method, NoUpper: true}, tasks, func(r *claim.Result) bool {
		p = append(p, r.Lower())
		return d.enough(r.Lower()) == (len(p) > 1)
	})
	return p
}

// prove certifies tasks one by one until one is enough or there is no time.
func (d *diagnosis) prove(post *posterior.Posterior, cfg prove.Config, tasks []property.Task, enough func(*claim.Result) bool) {
	if post.Weights() > mostDiagnosed || d.ctx.Err() != nil {
		return
	}
	e, err := engine.NewOfDepth(bound.Until(d.ctx, d.dev), nil, post, d.r.reach(), or(d.r.Method.Depth, 0))
	if err != nil {
		return
	}
	defer e.Close()
	cfg.Confidence, cfg.TimeLimit, cfg.Cells = d.r.cfg.Confidence, d.limit, max(d.cells, d.r.cfg.Cells)
	for i := range tasks {
		done := false
		err := prove.Run(d.ctx, []*engine.Engine{e}, cfg, tasks[i:i+1], nil, func(res *claim.Result) error {
			done = enough(res)
			return nil
		})
		if err != nil || done {
			return
		}
	}
}

// method returns the method of the probes.
func (d *diagnosis) method() prove.Method {
	if d.r.cfg.Method == prove.Finite {
		return prove.Finite
	}
	return prove.CLBP
}

// soon is p_lower by a method in a part of the time, or 0. What it has by then counts, such as that of fewer cells.
func (d *diagnosis) soon(method prove.Method) float64 {
	all := d.ctx
	limit := d.time / longerShare
	within, end := context.WithTimeout(all, limit+limit/3)
	defer func() { end(); d.ctx, d.limit = all, 0 }()
	d.ctx, d.limit = within, limit
	if p := d.bound(d.r.post, method, d.task); len(p) > 0 {
		return p[0]
	}
	return 0
}

// otherMethod finds a method that proves enough, where another one was asked for.
func (d *diagnosis) otherMethod() *cause {
	asked := d.r.cfg.Method
	if asked == prove.Auto || asked == prove.Finite {
		return nil
	}
	for _, m := range []prove.Method{prove.CLBP, prove.Phases, prove.Chernoff} {
		if m == asked || m == prove.Chernoff && !d.hasTimeForMoments() {
			continue
		}
		if p := d.soon(m); d.enough(p) { // 0 where the method does not fit the network
			return proves(fmt.Sprintf("the method: --method %v proves more there", m), p, d.command(m, nil))
		}
	}
	return nil
}

// hasTimeForMoments reports whether exact moments are worth a try: where a look at a point takes longer, boxes get nothing.
func (d *diagnosis) hasTimeForMoments() bool {
	takes, err := prove.QuickMomentsTime(d.r.post, &d.task)
	return err == nil && takes < d.time/longerShare
}

// longer finds that enough is proved without the time limit that ended the search.
func (d *diagnosis) longer() *cause {
	if !d.rec.TimedOut() {
		return nil
	}
	if p := d.soon(d.method()); d.enough(p) {
		return proves(d.budgetWords(), p, d.command(d.method(), func(j *Job) { j.TimeLimit = new(leastLimit) }))
	}
	return nil
}

// moreTimes is how many times as many cells are tried as were allowed, leastMore how many at least.
const moreTimes, leastMore = 4, 512

// moreCells finds that enough is proved where T may be cut into more cells.
func (d *diagnosis) moreCells() *cause {
	if d.r.post.Inputs() > decide.FewInputs || d.task.Ball != nil || d.isAPoint() {
		return nil
	}
	d.cells = max(leastMore, moreTimes*d.r.cfg.Cells, moreTimes*len(d.task.T))
	defer func() { d.cells = 0 }()
	if p := d.soon(d.method()); d.enough(p) {
		n := d.cells
		return proves(fmt.Sprintf("the budget: T is cut into too few cells, %d are enough", n), p,
			d.commandOf(d.method(), func(j *Job) { j.Method.Cells = &n }))
	}
	return nil
}

// ofNetworks begins a cause.
const ofNetworks = "the networks: "

// networksFail is that most networks fail without any region, or in T where that was not to be proved.
func (d *diagnosis) networksFail() *cause {
	switch {
	case d.drawn > 0 && 2*d.atPoint > d.drawn:
		why := fmt.Sprintf("%s%d of %d %s at the middle of T already", ofNetworks, d.atPoint, d.drawn, d.fail())
		if c := d.upper(why); c != nil {
			return c
		}
		return d.seen(why)
	case d.inT > 0:
		return d.upper(d.inTWords())
	}
	return nil
}

// networksFailInT is that most networks fail somewhere in T.
func (d *diagnosis) networksFailInT() *cause {
	if d.drawn == 0 || 2*d.inT <= d.drawn {
		return nil
	}
	return d.seen(d.inTWords())
}

func (d *diagnosis) inTWords() string {
	return fmt.Sprintf("%s%d of %d %s somewhere in T", ofNetworks, d.inT, d.drawn, d.fail())
}

// upper finds that an upper bound which was left out proves what drawn networks show.
func (d *diagnosis) upper(why string) *cause {
	if !d.r.cfg.NoUpper {
		return nil
	}
	p := 1.0
	d.prove(d.r.post, prove.Config{Method: d.method()}, []property.Task{d.task}, func(r *claim.Result) bool {
		p = r.Upper()
		return true
	})
	if record.Verdict(0, p, d.r.require()) == record.Unknown {
		return nil
	}
	return &cause{why, "which proves p_upper " + record.FormatUp(p, 4), d.command(d.method(), func(j *Job) { j.Method.NoUpper = false })}
}
