package posterior

import (
	"fmt"
)

// FromJoint makes a posterior of KindJoint: the layers' shapes, activations and means, and a factor for
// each layer, nil where the weights are certain, all of one Rank: [W b] = mean + Factor z with one z of
// independent standard normal numbers for all layers. The factors, one below the other, are a factor of
// the covariance of all weights. Spreads of layers are dropped. It keeps the slices. Any error is that of
// Validate.
func FromJoint(layers []Layer, factors []*Covariance) (*Posterior, error) {
	p := &Posterior{Kind: KindJoint, Layers: means(layers), joint: factors}
	return p, p.Validate()
}

// Joint returns, for a posterior of KindJoint, the factor of each layer, nil for those whose weights are
// certain; nil for other kinds. The caller may not write to it.
func (p *Posterior) Joint() []*Covariance { return p.joint }

// dependent are the covariances of the layers, whether these are independent of each other or not; nil of other kinds.
func (p *Posterior) dependent() []*Covariance {
	if p.Kind == KindJoint {
		return p.joint
	}
	return p.covariances
}

// JointRank is the number of columns of the factors of a posterior of KindJoint, 0 of other kinds.
func (p *Posterior) JointRank() int {
	for _, c := range p.joint {
		if c != nil {
			return c.Rank
		}
	}
	return 0
}

// mostJoint is the greatest number of numbers in a factor of the covariance of all weights of which
// rows are bounded, those of 4,096 weights.
const mostJoint = 1 << 24

// requireJointRows is RequireRows of KindJoint.
func (p *Posterior) requireJointRows() error {
	numbers := 0
	for _, c := range p.joint {
		if c != nil {
			numbers += len(c.Factor)
		}
	}
	switch {
	case !p.Network().Chain():
		return fmt.Errorf("this posterior is %s; a covariance of all weights is bounded for chains of dense layers: use --method statistical", p.Describe())
	case numbers > mostJoint:
		return fmt.Errorf("this posterior is %s; bounds with a covariance of all weights are for factors of at most %d numbers, and this has %d: use --method statistical", p.Describe(), mostJoint, numbers)
	}
	return nil
}

// validateJoint is what validateCovariances asks of factors of one z.
func (p *Posterior) validateJoint() error {
	rank := p.JointRank()
	if rank == 0 {
		return fmt.Errorf("no layer has a factor: this is one network, and no posterior")
	}
	for k, c := range p.joint {
		if c != nil && (!c.Full() || c.Apart || c.Rank != rank) {
			return fmt.Errorf("layer %d: covariance: %s of %d columns; of kind %v all layers have a factor of the same number of columns, here %d", k, c, c.Rank, p.Kind, rank)
		}
	}
	return nil
}

// times is Factor z, each sum in the order of z; four of them at a time, as one waits for its last addition. The
// conversions keep the compiler from fusing operations.
func (c *Covariance) times(z []float64) []float64 {
	d := make([]float64, len(c.Factor)/c.Rank)
	row := func(e int) []float64 { return c.Factor[e*c.Rank:][:len(z)] }
	e := 0
	for ; e+4 <= len(d); e += 4 {
		f0, f1, f2, f3 := row(e), row(e+1), row(e+2), row(e+3)
		var s0, s1, s2, s3 float64
		for k, x := range z {
			s0 += float64(f0[k] * x)
			s1 += float64(f1[k] * x)
			s2 += float64(f2[k] * x)
			s3 += float64(f3[k] * x)
		}
		d[e], d[e+1], d[e+2], d[e+3] = s0, s1, s2, s3
	}
	for ; e < len(d); e++ {
		for k, v := range row(e) {
			d[e] += float64(v * z[k])
		}
	}
	return d
}
