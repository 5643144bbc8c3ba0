package clbp

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
)

// Other lower slopes for rows of the property (docs/theory.md, section 3.6): a line through 0
// with any slope in [0, 1] is below max(t, 0). Which of them a row takes depends on the posterior
// and the cell alone, so that every choice bounds the row, and the best one counts.

// flatShares are the shares of its interval on which a neuron has to be active to keep its usual
// lower line; of others it is 0.
var flatShares = []float64{0.6, 0.75, 1}

// bends reports whether there are other lower slopes than the usual ones.
func (n *Noisy) bends() bool {
	if !n.Graph.Chain {
		return false
	}
	for k := range len(n.Mean) - 1 {
		if relax.Cuts(n.Mean[k].Act) {
			return true
		}
	}
	return false
}

// otherLowers are the lower lines of all hidden layers by each rule: the usual ones, but 0 for
// neurons that are active on less than a share of their interval; and 2 share - 1, at least 0.
func (p *CellPass) otherLowers() [][][]relax.Line {
	if p.others == nil {
		p.others = p.otherLowersBelow()
	}
	return p.others
}

// otherLowersBelow returns the other lower lines of the layers that are bounded already.
func (p *CellPass) otherLowersBelow() (others [][][]relax.Line) {
	for _, least := range flatShares {
		others = append(others, p.lowersBy(func(usual, share float64) float64 {
			if p.By.Decide(least, share) {
				return 0
			}
			return usual
		}))
	}
	others = append(others, p.lowersBy(func(_, share float64) float64 { return max(0, 2*share-1) }))
	return others
}

// lowersBy are the lower lines with the slopes of a rule, for neurons that are on both sides of
// their kink; share is the slope of the upper line.
func (p *CellPass) lowersBy(slope func(usual, share float64) float64) [][]relax.Line {
	lowers := make([][]relax.Line, len(p.Hidden))
	for l := range p.Hidden {
		h := &p.Hidden[l]
		if lowers[l] = h.Lower; !relax.Cuts(p.Layers[l].Act) {
			continue
		}
		lowers[l] = make([]relax.Line, len(h.Lower))
		for j, usual := range h.Lower {
			if lowers[l][j] = usual; h.Pre.Lo[j] < 0 && h.Pre.Hi[j] > 0 {
				if a := slope(usual.A, h.Upper[j].A); a >= 0 && a <= 1 {
					lowers[l][j] = relax.Line{A: a, B: 0}
				}
			}
		}
	}
	return lowers
}

// lineForm is a lower bound of a row, but for noise, and score about how many standard deviations
// it is above 0, which chooses and proves nothing.
type lineForm struct {
	lo    float64
	list  []law.Noise
	score float64
}

func newLineForm(lo float64, list []law.Noise) lineForm {
	t, v := lo, 0.0
	for _, n := range list {
		t -= n.Mean
		v += n.Variance
	}
	return lineForm{lo, list, t / math.Sqrt(v)}
}

// nearBest is the share of the best score that others are worth a tail with: a little less than
// certify's, which has other roundings.
const nearBest = 1 - 0x1p-5

// otherForms is eachForm with other lower slopes: s z + c is the row over what feeds the last
// layer, whose noise is own, and squares are those of its coefficients.
func (p *CellPass) otherForms(s relax.Span, c arith.Sum, own *Noises, squares []float64, top *covary.Gone, use func(lo float64, list []law.Noise) (more bool)) (more bool) {
	last, best := len(p.Layers)-1, 0.0
	var forms []lineForm
	for _, lower := range p.otherLowers() {
		w, met := relax.Way{Lower: lower}, own.Clone()
		f := p.NewFall(last, &w)
		lo := p.linesLo(last, s, c, &met, w, top.Clone())
		forms = append(forms, newLineForm(lo, met.list()))
		if p.ball != nil {
			forms = append(forms, newLineForm(p.ballForm(last, squares, f, &met)))
		}
		if list := p.Sharp(last, squares, f, &met); list != nil {
			forms = append(forms, newLineForm(lo, list))
		}
	}
	for _, f := range forms {
		best = max(best, f.score)
	}
	for _, f := range forms {
		if f.score >= best*nearBest && !use(f.lo, f.list) {
			return false
		}
	}
	return true
}
