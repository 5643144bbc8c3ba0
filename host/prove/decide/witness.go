package decide

import (
	"context"
	"math"
	"math/big"
	"slices"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove/claim"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// How networks are shown to be unsafe: points are found in ordinary float64, and that S fails near
// one of them is proved.

// fewNetworks is from how many networks on those that are unsafe are looked for first.
const fewNetworks = 8

// suspect is a point where a network is probably unsafe.
type suspect struct {
	net, task int
	at        claim.Witness
	// box surely contains a point of the true T near at; Lo is nil if none is known.
	box property.Box
}

// suspected lists the open pairs, the first network apart, of which the network leaves S at the point where
// the first one does so most: where there are many networks, most that are unsafe are found in one evaluation,
// before they are bounded.
func (d *decision) suspected(ctx context.Context) ([]open, error) {
	pairs, points := d.pairs(), make([][]float64, len(d.tasks))
	if len(d.nets) < fewNetworks || !d.fits(0) {
		return nil, nil
	}
	net := d.e.Normal.Network()
	if err := fault.OnCores(ctx, len(d.tasks), func(t int) {
		if _, box, _ := Witness(ctx, net, d.nets[0], &d.tasks[t], true, false); box.Lo != nil {
			points[t] = box.CentreApprox()
		}
	}); err != nil {
		return nil, err
	}
	leaves := make([]bool, len(d.rulings))
	err := fault.OnCores(ctx, len(d.nets), func(n int) {
		pass := net.NewPass(d.nets[n])
		for t := range d.tasks {
			if points[t] != nil {
				a := attack{Target: Target{Net: net, Safe: &d.tasks[t].S}, pass: pass, row: make([]float64, net.Outputs())}
				leaves[n*len(d.tasks)+t] = a.worstRow(pass.Forward(points[t])) < 0
			}
		}
	})
	return slices.DeleteFunc(pairs, func(p open) bool { return !leaves[p.net*len(d.tasks)+p.task] }), err
}

// attack rules on pairs: where the network can be shown to be unsafe at a point of T.
func (d *decision) attack(ctx context.Context, pairs []open) error {
	found := make([]suspect, len(pairs))
	if err := fault.OnCores(ctx, len(pairs), func(i int) {
		p := pairs[i]
		at, box, _ := Witness(ctx, d.e.Normal.Network(), d.nets[p.net], &d.tasks[p.task], false, true)
		found[i] = suspect{p.net, p.task, at, box}
	}); err != nil {
		return err
	}
	return d.accuse(ctx, found)
}

// look is attack at the centres of all open cells and at the corners that their linear bounds
// name: two evaluations for each. Of a pair the point with the least margin counts, if that is
// negative.
func (d *decision) look(ctx context.Context) error {
	points, margins := make([][]float64, len(d.open)), make([]float64, len(d.open))
	if err := fault.OnCores(ctx, len(d.open), func(i int) {
		o := &d.open[i]
		a := newAttack(Target{d.e.Normal.Network(), d.nets[o.net], o.box, &d.tasks[o.task].S}, Effort{})
		a.consider(o.box.CentreApprox())
		if o.hint.corner != nil {
			a.consider(o.hint.corner)
		}
		points[i], margins[i] = a.best, a.bestMargin
	}); err != nil {
		return err
	}
	worst := map[int]int{}
	var order []int
	for i, o := range d.open {
		pair := o.net*len(d.tasks) + o.task
		if w, known := worst[pair]; !known && margins[i] < 0 {
			worst[pair] = i
			order = append(order, pair)
		} else if known && margins[i] < margins[w] {
			worst[pair] = i
		}
	}
	var found []suspect
	for _, pair := range order {
		o := &d.open[worst[pair]]
		at, box := claim.NewWitness(&d.tasks[o.task], o.from, points[worst[pair]])
		found = append(found, suspect{o.net, o.task, at, box})
	}
	return d.accuse(ctx, found)
}

// accuse rules on the pairs whose suspects are proved to be unsafe: by intervals and by LBP on the
// device, and where its format is too coarse for the margin, in exact arithmetic.
func (d *decision) accuse(ctx context.Context, found []suspect) error {
	var left []*suspect
	for i := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s := &found[i]; s.box.Lo != nil && d.marginApprox(s) < 0 {
			left = append(left, s)
		}
	}
	for _, method := range []bound.Propagation{bound.IBP, bound.LBP} {
		var err error
		if left, err = d.convict(ctx, method, left); err != nil {
			return err
		}
	}
	proved := make([]bool, len(left))
	err := fault.OnCores(ctx, len(left), func(i int) {
		s := left[i]
		proved[i] = failsExactly(d.e.Normal.Network(), d.nets[s.net], s.box, &d.tasks[s.task].S)
	})
	for i, s := range left {
		if proved[i] {
			d.unsafe(s)
		}
	}
	d.drop()
	return err
}

// marginApprox is the margin where s is.
func (d *decision) marginApprox(s *suspect) float64 {
	a := newAttack(Target{d.e.Normal.Network(), d.nets[s.net], s.box, &d.tasks[s.task].S}, Effort{})
	a.consider(s.box.CentreApprox())
	return a.bestMargin
}

// convict rules by one method, and gives back whom it could not convict.
func (d *decision) convict(ctx context.Context, method bound.Propagation, found []*suspect) (left []*suspect, err error) {
	var qs []*question
	for _, s := range found {
		qs = append(qs, &question{net: s.net, box: s.box, rows: Negated(&d.tasks[s.task]).S.Rows})
	}
	asked := append([]*question(nil), qs...) // which ask sorts
	if err := d.ask(ctx, method, asked); err != nil {
		return nil, err
	}
	for i, s := range found {
		if d.tasks[s.task].S.FailsSurely(qs[i].lo) {
			d.unsafe(s)
		} else {
			left = append(left, s)
		}
	}
	return left, nil
}

// unsafe rules that a network is.
func (d *decision) unsafe(s *suspect) {
	r := &d.rulings[s.net*len(d.tasks)+s.task]
	r.ruling, r.witness = provedUnsafe, &s.at
}

// failsExactly reports whether S surely fails on all of a box: in every alternative some row is
// below 0 for all x of it, by intervals of numbers of 300 bits, so that nearly nothing is lost on a
// box of a few float64. It is false for networks that are too large, and for margins that are too
// small for psafe check, which keeps intervals of float64 between layers.
func failsExactly(net network.Network, weights drawn, box property.Box, s *property.Safe) bool {
	if net.Work() > mostExact {
		return false
	}
	x := make([]network.Enclosure, len(box.Lo))
	for j := range x {
		if x[j] = network.MakeEnclosure(box.Lo[j]); box.Hi[j] != box.Lo[j] {
			x[j].Hi = network.MakeEnclosure(box.Hi[j]).Hi
		}
	}
	y := net.Enclose(weights, x)
	pass := net.NewPass(weights)
	pass.Forward(box.CentreApprox())
	errs := pass.RoundingApprox(network.Rounding{Sum: slack.WitnessRounding}, make([]float64, len(x)))
	negLo := make([]float64, len(s.Rows))
	for r := range negLo {
		negLo[r] = -1
		need := slack.WitnessMargin
		for i, e := range errs {
			need += e * max(-s.Rows[r].CLo[i], s.Rows[r].CHi[i])
		}
		if !(need <= math.MaxFloat64) { // nor where float64 overflows, which may be NaN
			continue
		}
		if rowUp(&s.Rows[r], y).Cmp(big.NewFloat(-need)) < 0 {
			negLo[r] = 1
		}
	}
	return s.FailsSurely(negLo)
}

// rowUp is at least C y + d for all C, d and y in their intervals.
func rowUp(row *property.Row, y []network.Enclosure) *big.Float {
	up := func() *big.Float { return new(big.Float).SetPrec(600).SetMode(big.ToPositiveInf) }
	sum := up().SetFloat64(row.DHi)
	for i := range y {
		var most *big.Float
		for _, c := range []float64{row.CLo[i], row.CHi[i]} {
			for _, end := range []*big.Float{y[i].Lo, y[i].Hi} {
				if v := up().Mul(up().SetFloat64(c), end); most == nil || v.Cmp(most) > 0 {
					most = v
				}
			}
		}
		sum.Add(sum, most)
	}
	return sum
}

// Negated is the task with every row negated: bounds from below of its rows are
// bounds from above of the task's.
func Negated(t *property.Task) *property.Task {
	n := *t
	n.S.Rows = nil
	for _, row := range t.S.Rows {
		n.S.Rows = append(n.S.Rows, row.Negated())
	}
	return &n
}
