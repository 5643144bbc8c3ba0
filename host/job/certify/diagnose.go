package certify

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
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

// Why nothing is proved for an input is computed, not guessed: what drawn networks do there, what T
// alone is to blame for, and what the spread. None of it is in any record; bounds that are told are certified,
// what drawn networks do was only tried.
const (
	// diagnosisTime is for the causes, and once more for what would be certified, or longestShare of what the run
	// took, if that is more, but not above mostDiagnosisTime.
	diagnosisTime, mostDiagnosisTime = 900 * time.Millisecond, 5 * time.Second
	longestShare                     = 10
	// drawTime is for the drawn networks, longerTime for another method and for what a time limit may have cut
	// short.
	drawTime   = 250 * time.Millisecond
	longerTime = 300 * time.Millisecond
	// diagnosisDraws is how many networks are drawn.
	diagnosisDraws = 50
	// mostDiagnosed is up to how many weights a network is loaded once more.
	mostDiagnosed = 1 << 23
	// quick is up to how many seconds a file took to be read that is read once more.
	quick = 0.15
)

// shrinks are the parts of a radius that are tried, the last of them a point.
var shrinks = []int64{2, 4, 8, 16}

// diagnosis looks at one input.
type diagnosis struct {
	r *ready
	// ctx is run, that of the run, with what within leaves it.
	ctx, run context.Context
	within   func() context.CancelFunc
	limit    time.Duration // for one bound, if above 0
	dev      bound.Device
	rec      *record.Record
	task     property.Task
	goal     float64
	// drawn networks were tried, of which so many leave S at the middle of T, and somewhere in T.
	drawn, atPoint, inT int
	// isPoint reports whether T is a point, point is the task at its point, nil if it cannot be had here.
	isPoint bool
	point   *property.Task
	// smaller is the largest part of T, one of shrinks, where p is enough, or the best of them; 0: none.
	// atZero is p_lower at the point itself, of which nothing is known if it is below 0.
	smaller  int64
	pSmaller float64
	epsWords string
	atZero   float64
	// halved reports whether half of the spread was looked at, moments whether exact moments were.
	halved, moments bool
}

// diagnose returns why nothing is proved; ctx is that of the run, which took so long.
func (r *ready) diagnose(ctx context.Context, dev *Devices, found *unproved, took time.Duration) *Unproved {
	note := found.note()
	d := &diagnosis{r: r, run: ctx, rec: found.first, dev: dev.List[0], goal: r.require().Approx(), atZero: -1}
	d.within = func() context.CancelFunc {
		next, end := context.WithTimeout(ctx, min(max(diagnosisTime, took/longestShare), mostDiagnosisTime))
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
	note.Why, note.Next = d.words()
	return note
}

// words returns what was found and what to do, in the order in which the causes exclude each other.
func (d *diagnosis) words() (why, next string) {
	d.draw()
	networks := d.drawnWords()
	if better, p := d.otherMethod(); better != "" {
		return fmt.Sprintf("--method %s proves p_lower %s there%s", better, record.FormatDown(p, 4), networks), "--method " + better
	}
	if p := d.longer(); p >= shown {
		return fmt.Sprintf("the budget: with more time p_lower is at least %s%s", record.FormatDown(p, 4), networks), "give an input more time"
	}
	if d.drawn > 0 && 2*d.atPoint > d.drawn {
		return "the class: " + d.atPointWords(), d.upper("see what they give: psafe predict")
	}
	d.shrink()
	if d.smaller > 0 && d.pSmaller >= shown {
		return "T: " + d.smallerWords() + networks, d.flags(d.method(), d.epsWords)
	}
	if d.drawn > 0 && 2*d.inT > d.drawn {
		return "the class: " + d.drawnAlone() + ", so that P_safe is small", d.upper("a smaller region")
	}
	if why, next := d.broad(); why != "" {
		return why + networks, next
	}
	if d.rec.TimedOut() {
		return "the budget: the time limit ended the search" + networks, "give an input more time"
	}
	return d.depth() + networks, d.interval(d.another())
}

// draw tries drawn networks, or those of a finite set, at the middle of T and in T.
func (d *diagnosis) draw() {
	post := d.r.post
	if post.RequireNetworks() != nil {
		return
	}
	net, until := post.Network(), time.Now().Add(drawTime)
	over := func() bool { return d.ctx.Err() != nil || !time.Now().Before(until) }
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

// bound is p_lower of tasks, each with the method of the run, or concentration LBP where that takes
// longer; nil if there was no time.
func (d *diagnosis) bound(post *posterior.Posterior, method prove.Method, tasks ...property.Task) []float64 {
	if post.Weights() > mostDiagnosed || d.ctx.Err() != nil {
		return nil
	}
	e, err := engine.NewOfDepth(bound.Until(d.ctx, d.dev), nil, post, d.r.reach(), or(d.r.Method.Depth, 0))
	if err != nil {
		return nil
	}
	defer e.Close()
	cfg := prove.Config{Method: method, NoUpper: true, Confidence: d.r.cfg.Confidence, TimeLimit: d.limit}
	if method == d.r.cfg.Method {
		cfg.Cells = d.r.cfg.Cells
	}
	var p []float64
	for i := range tasks {
		err := prove.Run(d.ctx, []*engine.Engine{e}, cfg, tasks[i:i+1], nil, func(res *claim.Result) error {
			p = append(p, res.Lower())
			return nil
		})
		if err != nil {
			break
		}
		if i > 0 && p[i] >= d.goal { // what is smaller proves more
			break
		}
	}
	return p
}

// method returns the method of the probes.
func (d *diagnosis) method() prove.Method {
	if d.r.cfg.Method == prove.Finite {
		return prove.Finite
	}
	return prove.CLBP
}

// otherMethod is a method that proves something there, where another one was asked for.
func (d *diagnosis) otherMethod() (word string, p float64) {
	asked := d.r.cfg.Method
	switch asked {
	case prove.NeuronSum, prove.CLBP, prove.Phases, prove.Chernoff:
	default:
		return "", 0
	}
	for _, m := range []prove.Method{prove.CLBP, prove.Phases, prove.Chernoff} {
		if m == asked {
			continue
		}
		if p := d.soon(m); p >= shown { // 0 where the method does not fit the network
			return m.String(), p
		}
	}
	return "", 0
}

// soon is p_lower by a method in longerTime, or 0. What it has by then counts, such as that of fewer cells.
func (d *diagnosis) soon(method prove.Method) float64 {
	all := d.ctx
	within, end := context.WithTimeout(all, longerTime+longerTime/3)
	defer func() { end(); d.ctx, d.limit = all, 0 }()
	d.ctx, d.limit = within, longerTime
	if p := d.bound(d.r.post, method, d.task); len(p) > 0 {
		return p[0]
	}
	return 0
}

// longer is p_lower there without the time limit that ended the search, or 0.
func (d *diagnosis) longer() float64 {
	if !d.rec.TimedOut() {
		return 0
	}
	return d.soon(d.method())
}

// shrink tries smaller regions: the point alone first, since nothing else helps where that does not.
func (d *diagnosis) shrink() {
	tasks, words := d.smallerTasks()
	if len(tasks) == 0 {
		return
	}
	d.point = &tasks[0]
	p := d.bound(d.r.post, d.method(), tasks...)
	if len(p) == 0 {
		return
	}
	if d.atZero = p[0]; d.atZero < shown {
		return
	}
	for i := 1; i < len(p); i++ {
		if d.smaller == 0 || p[i] > d.pSmaller {
			d.smaller, d.pSmaller, d.epsWords = shrinks[i-1], p[i], words[i]
		}
	}
	if d.smaller == 0 || d.pSmaller < shown {
		d.smaller, d.pSmaller, d.epsWords = 1<<62, d.atZero, words[0]
	}
}

// smallerTasks are the task at its point alone and with parts of its radius, and what to do to have
// each; none if T is a point or cannot be made smaller here.
func (d *diagnosis) smallerTasks() (tasks []property.Task, words []string) {
	rec, points := d.rec, &d.r.Tasks.Points
	if eps, err := property.NewExact(rec.Eps); rec.Eps != "" && err == nil && points.Eps != "" {
		if d.isPoint = eps.Rat().Sign() == 0; d.isPoint || d.r.Piped() || d.r.took[1] > quick {
			return nil, nil
		}
		list := "0"
		words = []string{"a radius near 0"}
		for _, part := range shrinks {
			x, _ := new(big.Rat).Quo(eps.Rat(), big.NewRat(part, 1)).Float64()
			text := strconv.FormatFloat(x, 'g', 3, 64)
			list, words = list+","+text, append(words, "--eps "+text)
		}
		alone := d.r.Tasks
		alone.Points.Eps, alone.Points.Index = list, new(strconv.Itoa(rec.Index))
		if list, err := alone.load(d.r.post); err == nil && list.n == len(words) {
			if tasks, err := list.all(); err == nil {
				return tasks, words
			}
		}
		return nil, nil
	}
	tasks, words = []property.Task{part(&d.task, 0)}, []string{"boxes near a point"}
	for _, n := range shrinks {
		tasks, words = append(tasks, part(&d.task, 1/float64(n))), append(words, fmt.Sprintf("boxes of 1/%d of the width", n))
	}
	d.isPoint = !slices.ContainsFunc(d.task.T, func(b property.Box) bool { return !slices.Equal(b.Lo, b.Hi) })
	if d.isPoint {
		return nil, nil
	}
	return tasks, words
}

// part is a task with that part of the width of its boxes, around their middles; of a ball its centre.
func part(t *property.Task, of float64) property.Task {
	small := *t
	small.T, small.Inner, small.Ball = nil, nil, nil
	if t.Ball != nil {
		x := t.Ball.CentreApprox()
		small.T = []property.Box{{Lo: x, Hi: x}}
		return small
	}
	for _, box := range t.T {
		b := property.Box{Lo: make([]float64, len(box.Lo)), Hi: make([]float64, len(box.Lo))}
		for j, mid := range box.CentreApprox() {
			b.Lo[j] = mid - of*(mid-box.Lo[j])
			b.Hi[j] = mid + of*(box.Hi[j]-mid)
		}
		small.T = append(small.T, b)
	}
	return small
}
