package certify

import (
	"fmt"
	"math/big"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Broad posteriors: what would be certified at the point itself, with half of the standard deviations, or if the
// last layers alone were random.

// would is one thing that would be certified: the bound, when, and the flags or the file that one gets it with.
type would struct {
	p           float64
	when, flags string
	next        string
}

// broad returns what less of the spread would have certified, and at the point itself, if anything.
func (d *diagnosis) broad() (why, next string) {
	if !d.r.post.Independent() || d.r.post.Random() == 0 {
		return "", ""
	}
	defer d.within()()
	// What is cheap first, told in another order.
	half, fewer := d.halve(), d.fewer()
	var all []string
	for _, w := range []*would{d.byMoments(), half, fewer} {
		if w == nil {
			continue
		}
		if next == "" {
			next = w.next
		}
		all = append(all, fmt.Sprintf("%s %s (%s)", record.FormatDown(w.p, 4), w.when, w.flags))
	}
	if len(all) == 0 {
		return "", ""
	}
	return "the spread: p_lower is at least " + strings.Join(all, "; "), next
}

// flags returns the flags that have a method prove what it does here, without and with which words.
func (d *diagnosis) flags(by prove.Method, words ...string) string {
	asked := d.r.cfg.Method
	if asked != by && !(asked == prove.Auto && d.r.Require == "") { // auto proves as much then
		words = append(words, "--method "+by.String())
	}
	var text strings.Builder
	for i, w := range words {
		if i > 0 && !(strings.HasPrefix(w, "--") && strings.HasPrefix(words[i-1], "--")) {
			text.WriteString(" and")
		}
		text.WriteString(" " + w)
	}
	return strings.TrimSpace(text.String())
}

// pointWords returns how one asks for the point of T.
func (d *diagnosis) pointWords() []string {
	switch {
	case d.isPoint:
		return nil
	case d.rec.Eps != "":
		return []string{"--eps 0"}
	}
	return []string{"boxes that are points"}
}

// byMoments returns what exact moments prove at the point itself, where T is none and concentration LBP proves nothing.
func (d *diagnosis) byMoments() *would {
	if d.isPoint && (d.r.cfg.Method == prove.Auto || d.r.cfg.Method == prove.Chernoff) {
		return nil // it was asked
	}
	p := d.atPointByMoments(d.r.post)
	if p < shown {
		return nil
	}
	flags, when := d.flags(prove.Chernoff, d.pointWords()...), "at the point itself"
	if d.isPoint {
		when = "by exact moments"
	}
	return &would{p, when, flags, flags}
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
	p, err := prove.QuickMomentsDown(d.run, post, t) // which takes up to about a second of processor
	d.moments = d.moments || err == nil
	return p
}

// halve tries half of the spread: in T by concentration LBP, and if that proves nothing, at its point.
func (d *diagnosis) halve() *would {
	if d.r.Piped() || d.r.took[0] > quick {
		return nil
	}
	half := d.r.Posterior
	half.Factor = halfOf(half.Factor)
	post, err := half.Read()
	if err != nil {
		return nil
	}
	w := d.less(post)
	d.halved = w != nil
	if w == nil {
		return nil
	}
	by, at := prove.CLBP, w.atPoint
	if w.p < shown {
		by, at = prove.Chernoff, true
		if w.p = d.atPointByMoments(post); w.p < shown {
			return nil
		}
	}
	words := []string{"--scale-factor " + half.Factor}
	when := "with half of the standard deviations"
	if at && !d.isPoint {
		words, when = append(words, d.pointWords()...), when+" at the point itself"
	}
	flags := d.flags(by, words...)
	return &would{w.p, when, flags, flags + " shows what half of the spread gives elsewhere; then train for it"}
}

// less is p_lower by concentration LBP in T, or else at its point.
type less struct {
	p       float64
	atPoint bool
}

// less asks concentration LBP of a posterior with less spread; nil if there was no time.
func (d *diagnosis) less(post *posterior.Posterior) *less {
	tasks := []property.Task{d.task}
	if d.point != nil { // nothing is proved in T where nothing is there
		tasks = []property.Task{*d.point, d.task}
	}
	p := d.bound(post, prove.CLBP, tasks...)
	switch {
	case len(p) == 0:
		return nil
	case p[len(p)-1] >= shown || d.point == nil:
		return &less{p[len(p)-1], d.point != nil && len(p) == 1}
	}
	return &less{p[0], true}
}

// fewer tries the last layers alone random: as many as prove enough, or the last one. Layers without random weights,
// such as pools and sums, do not count.
func (d *diagnosis) fewer() (best *would) {
	random, layers := d.r.post.RandomLayers()
	kind := ""
	if random < layers {
		kind = "random "
	}
	for n := random - 1; n > 0; n-- {
		w := d.less(d.r.post.LastRandom(n))
		if w == nil {
			return best
		}
		if w.p < shown {
			continue
		}
		last, are := "the last "+kind+"layer", " alone is random"
		if n > 1 {
			last, are = fmt.Sprintf("the last %d %slayers", n, kind), " alone are random"
		}
		when, words := "if "+last+are, []string{"standard deviations of 0 below " + last}
		if w.atPoint && !d.isPoint {
			when, words = when+", at the point itself", append(words, d.pointWords()...)
		}
		best = &would{w.p, when, d.flags(prove.CLBP, words...), "a posterior of the last layers alone, as a last-layer Laplace is"}
		if w.p >= d.goal {
			return best
		}
	}
	return best
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
