package posterior

import "fmt"

// Linearised is the posterior of the networks of p linearised in their weights about the mean, what
// laplace-torch predicts with by default (docs/theory.md (99)): f(x) = mean network(x) + J(x) (w - mean),
// J being the derivative in the weights at the mean, with 0 for that of ReLU at 0. It is p itself where the
// last layer alone is random, as that is linear in its weights, and else of KindLinearised. It is an error,
// in one line, where p is no chain of dense layers with ReLU between them, or has not normal weights.
func (p *Posterior) Linearised() (*Posterior, error) {
	if p.OnTop() == nil {
		return p, nil
	}
	switch p.Kind {
	case KindGaussian, KindCorrelated, KindJoint:
	default:
		return nil, fmt.Errorf("this posterior is %s: normal weights are linearised (gaussian, correlated, joint)", p.Describe())
	}
	if !p.Network().Chain() {
		return nil, fmt.Errorf("this posterior is of a graph or of convolutions, random below its last layer: networks are linearised that are chains of dense layers")
	}
	for k := range p.Layers[:len(p.Layers)-1] {
		a := p.Layers[k].Activation
		if below, kinked := a.Kinked(); !kinked || below != 0 {
			return nil, fmt.Errorf("layer %d has activation %v: networks are linearised whose hidden layers have relu", k, a)
		}
	}
	if err := p.RequireRows(); err != nil {
		return nil, err
	}
	q := *p
	q.Kind, q.Layers, q.linearised = KindLinearised, means(p.Layers), p
	q.covariances, q.joint = nil, nil
	if r := p.Reference; r != nil { // spreads are those of p, and were compared when it was read
		q.Reference = &Reference{Inputs: r.Inputs, Logits: r.Logits}
	}
	return &q, q.Validate()
}

// About returns what a posterior of KindLinearised is the linearisation of, nil for other kinds.
func (p *Posterior) About() *Posterior { return p.linearised }

// RequireNetworks is nil for a posterior of networks. It is an error, in one line, of KindLinearised, whose
// functions are none: they have no weights that could be drawn.
func (p *Posterior) RequireNetworks() error {
	if p.Kind == KindLinearised {
		return fmt.Errorf("this posterior is %s: its functions are no networks that could be drawn: leave --method and --draws out", p.Describe())
	}
	return nil
}

// DrawLinearised is the function of a posterior of KindLinearised that weight vector number i of sequence seed
// of what it is about gives (Draw), for evaluation in ordinary float64 at points, an approximation for reports.
func (p *Posterior) DrawLinearised(seed uint64, i int) func(x []float64) []float64 {
	w := p.NewWeights()
	p.linearised.Draw(seed, i, w)
	for a, mean := range p.Mean() {
		for e := range w[a] {
			w[a][e] -= mean[e]
		}
	}
	return func(x []float64) []float64 { return p.tangentApprox(w, x) }
}

// tangentApprox is mean network(x) + J(x) d, layer by layer: z and how it moves with the weights.
func (p *Posterior) tangentApprox(d [][]float64, x []float64) []float64 {
	z, moves := x, make([]float64, len(x))
	for k := range p.Layers {
		l := &p.Layers[k]
		out := l.Outputs()
		y, dy := make([]float64, out), make([]float64, out)
		for o := range out {
			y[o], dy[o] = l.Bias.Mean[o], d[2*k+1][o]
			for j, v := range z {
				w := l.Weight.Mean[j*out+o]
				y[o] += w * v
				dy[o] += w*moves[j] + d[2*k][j*out+o]*v
			}
			if k < len(p.Layers)-1 && !(y[o] > 0) {
				y[o], dy[o] = 0, 0
			}
		}
		z, moves = y, dy
	}
	for o := range z {
		z[o] += moves[o]
	}
	return z
}
