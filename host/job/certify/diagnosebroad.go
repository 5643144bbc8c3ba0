package certify

import (
	"fmt"
	"math/big"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/record"
)

// Broad posteriors: what would be certified at the point itself, with half of the standard deviations, or if the
// last layers alone were random.

// broad finds what less of the spread would certify, and the point itself, if that is enough.
func (d *diagnosis) broad() *cause {
	if !d.r.post.Independent() || d.r.post.Random() == 0 {
		return nil
	}
	defer d.within()()
	c := d.byMoments()
	if c == nil {
		c = d.halve()
	}
	if c == nil {
		return nil
	}
	if fewer := d.fewer(); fewer != "" {
		c.why += "; " + fewer
	}
	return c
}

// byMoments finds that exact moments prove enough at the point itself, where T is none and concentration LBP does not.
func (d *diagnosis) byMoments() *cause {
	points := &d.r.Tasks.Points
	if d.isPoint && (d.r.cfg.Method == prove.Auto || d.r.cfg.Method == prove.Chernoff) || !d.isPoint && points.Eps == "" {
		return nil // it was asked, or no flag says that T is a point
	}
	p := d.atPointByMoments(d.r.post)
	if !d.enough(p) {
		return nil
	}
	return proves("the spread: only at the point itself enough is proved, by exact moments", p, d.command(prove.Chernoff, func(j *Job) {
		if !d.isPoint {
			j.Tasks.Points.Eps = "0"
		}
	}))
}

// atPointByMoments is p_lower by exact moments at the point, or 0.
func (d *diagnosis) atPointByMoments(post *posterior.Posterior) float64 {
	t := d.point
	if d.isPoint {
		t = &d.task
	}
	if t == nil {
		return 0
	}
	p, err := prove.QuickMomentsDown(d.ctx, post, t)
	d.moments = d.moments || err == nil
	return p
}

// halvings is how often the spread is halved.
const halvings = 3

// halve tries less of the spread: half, and so on, in T by concentration LBP, and where that does not prove enough, at
// its point.
func (d *diagnosis) halve() *cause {
	if d.r.Piped() || d.r.took[0] > quick {
		return nil
	}
	half := d.r.Posterior
	var atPoint *cause
	for n := range halvings {
		half.Factor = halfOf(half.Factor)
		post, err := half.Read()
		if err == nil {
			post, err = d.r.about(post)
		}
		if err != nil {
			return atPoint
		}
		inT, point, known := d.less(post)
		if !known {
			return atPoint
		}
		d.halved = true
		if d.enough(inT) {
			return d.factor(half.Factor, inT, prove.CLBP, false)
		}
		by := prove.CLBP
		if n == 0 && !d.enough(point) {
			by, point = prove.Chernoff, d.atPointByMoments(post)
		}
		if atPoint == nil && d.enough(point) && (d.isPoint || d.r.Tasks.Points.Eps != "") {
			atPoint = d.factor(half.Factor, point, by, !d.isPoint)
		}
	}
	return atPoint
}

// factor is that this factor of the spread is enough by a method, perhaps at the point alone.
func (d *diagnosis) factor(factor string, p float64, by prove.Method, atPoint bool) *cause {
	why := "the spread: it is too large; --scale-factor " + factor + " is enough"
	if atPoint {
		why += " at the point itself"
	}
	return proves(why, p, d.command(by, func(j *Job) {
		if j.Posterior.Factor = factor; atPoint {
			j.Tasks.Points.Eps = "0"
		}
	}))
}

// less is p_lower by concentration LBP in T and at its point, if there was time.
func (d *diagnosis) less(post *posterior.Posterior) (inT, atPoint float64, known bool) {
	if d.point == nil {
		p := d.bound(post, prove.CLBP, d.task)
		return maxOf(p), maxOf(p), len(p) > 0
	}
	p := d.bound(post, prove.CLBP, *d.point, d.task) // nothing is proved in T where nothing is there
	switch len(p) {
	case 0:
		return 0, 0, false
	case 1:
		return 0, p[0], true
	}
	return p[1], p[0], true
}

func maxOf(p []float64) float64 { return slices.Max(append(p, 0)) }

// fewer tells of the last layers alone random: as many as prove enough in T. Layers without random weights, such as pools
// and sums, do not count.
func (d *diagnosis) fewer() string {
	random, layers := d.r.post.RandomLayers()
	kind := ""
	if random < layers {
		kind = "random "
	}
	for n := random - 1; n > 0; n-- {
		p, _, known := d.less(d.r.post.LastRandom(n))
		if !known {
			return ""
		}
		if !d.enough(p) {
			continue
		}
		last := "the last " + kind + "layer alone is random"
		if n > 1 {
			last = fmt.Sprintf("the last %d %slayers alone are random", n, kind)
		}
		return fmt.Sprintf("with %s if %s", record.FormatDown(p, 4), last)
	}
	return ""
}

// halfOf is half of a decimal, 1 if it is empty: a decimal.
func halfOf(factor string) string {
	x, ok := new(big.Rat).SetString(factor)
	if !ok {
		x = big.NewRat(1, 1)
	}
	x.Quo(x, big.NewRat(2, 1))
	digits, _ := x.FloatPrec()
	return x.FloatString(digits)
}
