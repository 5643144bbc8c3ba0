package certify

import (
	"strconv"
	"time"

	"psafe/host/prove"
)

// Commands that are to be run next. Each is about the input that was looked at alone, writes no file, and asks for what
// the note says of it.

// leastLimit is the least time limit of a command whose bounds took a fraction of a second here.
const leastLimit = 5 * time.Second

// command is the run with a change, by a method, or by auto if that was asked for and proves as much.
func (d *diagnosis) command(by prove.Method, change func(*Job)) []string {
	if asked := d.r.cfg.Method; asked == by || asked == prove.Auto && d.r.Require == "" { // auto goes on then
		return d.changed(change)
	}
	return d.commandOf(by, change)
}

// commandOf is the run with a change, by a method.
func (d *diagnosis) commandOf(by prove.Method, change func(*Job)) []string {
	return d.changed(func(j *Job) {
		asked, m := d.r.cfg.Method, &j.Method
		if asked.OfBoxes() && !by.OfBoxes() {
			m.Draws, m.Seed, m.Gamma = nil, nil, nil
		}
		if by != prove.CLBP {
			m.Depth = nil
		}
		if m.By = &by; by == prove.Finite || asked == prove.Finite { // which auto chose
			m.By = d.r.Method.By
		}
		if change != nil {
			change(j)
		}
	})
}

// changed is the run about the input alone, with a change.
func (d *diagnosis) changed(change func(*Job)) []string {
	j := Job{Posterior: d.r.Posterior, Tasks: d.r.Tasks, Method: d.r.Method, Precision: d.r.Precision, Require: d.r.Require}
	if limit := d.r.TimeLimit; limit != nil {
		j.TimeLimit = new(max(*limit, leastLimit))
	}
	p := &j.Tasks.Points
	p.Index = new(strconv.Itoa(d.rec.Index))
	if p.Eps != "" {
		p.Eps = d.rec.Eps
	}
	if change != nil {
		change(&j)
	}
	return j.Command()
}

// draws is how many networks a command draws, fewDraws how many of a posterior of which each takes long.
const draws, fewDraws = 1000, 100

// seen asks for drawn networks, or for the spreads where they were asked for or cannot be had.
func (d *diagnosis) seen(why string) *cause {
	asked := d.r.cfg.Method
	beside := asked != prove.Finite && !asked.OfBoxes()
	if d.rec.Statistical != nil || !beside || d.task.Ball != nil || d.r.post.RequireNetworks() != nil {
		return &cause{why, "for the spreads", append([]string{"psafe", "inspect"}, d.r.Posterior.Args()...)}
	}
	n := draws
	if d.slow {
		n = fewDraws
	}
	return &cause{why, "for a statistical interval", d.changed(func(j *Job) { j.Method.Draws, j.Method.Depth = &n, nil })}
}

// whatIsLeft is a cause that nothing proves, or of which nobody knows.
func (d *diagnosis) whatIsLeft() *cause {
	if d.rec.TimedOut() {
		limit := max(10**d.r.TimeLimit, leastLimit)
		return &cause{d.budgetWords(), "for more time", d.changed(func(j *Job) { j.TimeLimit = &limit })}
	}
	return d.seen(d.depth())
}
