package gpu

import "time"

// ahead keeps what is queued on a device and not waited for below about mostAhead of the device's
// time. The host would else have launched most of a pass before anything of it is done, would not
// know how far it is, and could not end it at its time limit.
type ahead struct {
	// queued is the work since the queue was last empty, which was until since, and rate what the
	// device did in a second before that.
	queued, rate float64
	since        time.Time
	// best is the greatest rate yet.
	best float64
}

// due says that the queue is to be waited for before more is asked of it.
func (a *ahead) due() bool {
	rate := a.rate
	if rate == 0 {
		rate = slowest
	}
	return a.queued > rate*mostAhead.Seconds()
}

// mostAhead is how long the device may need for what is queued, about.
const mostAhead = 200 * time.Millisecond

// slowest is the rate, in bytes and operations a second, of a device that is not known yet.
const slowest = 1e9

// launched takes in a launch.
func (a *ahead) launched(w work, now time.Time) {
	if a.queued == 0 {
		a.since = now
	}
	a.queued += float64(w.bytes+w.flops) + 1
}

// waited takes in that the queue is empty.
func (a *ahead) waited(now time.Time) {
	if took := now.Sub(a.since).Seconds(); a.queued > 0 && took > 0 {
		a.rate = a.queued / took
		if took > shortest.Seconds() {
			a.best = max(a.best, a.rate)
		}
	}
	a.queued = 0
}

// shortest is what a queue has to take at least for its rate to be a measure.
const shortest = time.Millisecond

// needs is what the device needs for what is queued, at its best.
func (a *ahead) needs() time.Duration {
	best := a.best
	if best == 0 {
		best = slowest
	}
	return time.Duration(min(a.queued/best, 1e6) * float64(time.Second))
}
