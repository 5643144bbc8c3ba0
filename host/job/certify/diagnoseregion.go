package certify

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"psafe/host/read/property"
	"psafe/host/record"
)

// shrinks are the parts of a radius that are tried, the last of them a point.
var shrinks = []int64{2, 4, 8, 16}

// smaller is a part of T: of this radius, if a flag says it.
type smaller struct {
	task       property.Task
	eps, words string
}

// shrink finds that enough is proved in a smaller region: the point alone first, since nothing else helps where that
// does not.
func (d *diagnosis) shrink() *cause {
	parts := d.smallerTasks()
	if len(parts) == 0 {
		return nil
	}
	var tasks []property.Task
	for _, s := range parts {
		tasks = append(tasks, s.task)
	}
	d.point = &tasks[0]
	p := d.bound(d.r.post, d.method(), tasks...)
	if len(p) == 0 {
		return nil
	}
	if d.atZero = p[0]; !d.enough(p[0]) {
		return nil
	}
	at, why := 0, "T: at the point itself p_lower is at least "+record.FormatDown(p[0], 4)
	if last := len(p) - 1; last > 0 && d.enough(p[last]) {
		at = last
		why += fmt.Sprintf(", with %s at least %s", parts[at].words, record.FormatDown(p[at], 4))
	}
	if parts[at].eps == "" {
		return d.seen(why)
	}
	return proves(why, p[at], d.command(d.method(), func(j *Job) { j.Tasks.Points.Eps = parts[at].eps }))
}

// isAPoint reports whether T is a point.
func (d *diagnosis) isAPoint() bool {
	return !slices.ContainsFunc(d.task.T, func(b property.Box) bool { return !slices.Equal(b.Lo, b.Hi) })
}

// smallerTasks are the task at its point alone and with parts of its radius; none if T is a point.
func (d *diagnosis) smallerTasks() []smaller {
	eps, err := property.NewExact(d.rec.Eps)
	if around := d.r.tasks.around; around != nil && d.rec.Eps != "" && err == nil {
		if d.isPoint = eps.Rat().Sign() == 0; d.isPoint {
			return nil
		}
		var parts []smaller
		for _, text := range radiiBelow(eps.Rat()) {
			task, err := around(d.rec.Task, text)
			if err != nil {
				return nil
			}
			parts = append(parts, smaller{task, text, "--eps " + text})
		}
		return parts
	}
	if d.isPoint = d.isAPoint(); d.isPoint {
		return nil
	}
	parts := []smaller{{task: part(&d.task, 0)}}
	for _, n := range shrinks {
		parts = append(parts, smaller{task: part(&d.task, 1/float64(n)), words: fmt.Sprintf("boxes of 1/%d of the width", n)})
	}
	return parts
}

// radiiBelow are 0 and parts of a radius.
func radiiBelow(eps *big.Rat) []string {
	texts := []string{"0"}
	for _, part := range shrinks {
		x, _ := new(big.Rat).Quo(eps, big.NewRat(part, 1)).Float64()
		texts = append(texts, strconv.FormatFloat(x, 'g', 3, 64))
	}
	return texts
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
