package certify

import (
	"errors"
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// OtherMean is what Points.Other says for the mean network of the posterior.
const OtherMean = "mean"

// pairs reports whether the tasks are about two lists of outputs: of one network at two inputs, or of two.
func (p *Points) pairs() bool { return p.Relation != "" || p.Other != "" }

// relation is what is said of both lists of outputs, nil without.
func (p *Points) relation(post *posterior.Posterior) (*property.Relation, error) {
	if p.Other != "" {
		return property.ReadComparison(p.Relation, post.Inputs(), post.Outputs())
	}
	return property.ReadRelation(p.Relation, post.Inputs(), post.Outputs())
}

// otherFile is the file that Other names, empty for a word or none.
func (p *Points) otherFile() string {
	if p.Other == OtherMean {
		return ""
	}
	return p.Other
}

// transform gives the posterior noise of its inputs, or makes it one of pairs of outputs, where that is asked.
func (r *ready) transform() error {
	switch points := &r.Tasks.Points; {
	case points.InputNoise != "" && points.pairs():
		return errors.New("--input-noise and --relation or --other cannot be combined: leave one of them out")
	case points.InputNoise != "":
		return r.addNoise()
	case points.pairs():
		return r.addPair()
	}
	return nil
}

// about is a posterior that was read as it is certified: with noise of its inputs, at pairs of them, or beside another network.
func (r *ready) about(read *posterior.Posterior) (*posterior.Posterior, error) {
	switch {
	case r.noise.Hi != nil:
		return read.WithInputNoise(r.noise.Lo, r.noise.Hi)
	case r.other != nil:
		return read.WithOther(r.other)
	case r.tasks.relation != nil:
		return read.WithPair(r.tasks.relation.At, r.tasks.relation.Adds)
	}
	return read, nil
}

// addPair makes the posterior that of pairs of outputs.
func (r *ready) addPair() (err error) {
	points, flag := &r.Tasks.Points, "--relation"
	if points.Other != "" {
		flag = "--other"
	}
	switch {
	case r.Method.Decision || r.Method.Mean:
		return fmt.Errorf("%s is for --target safe and each: leave one of them out", flag)
	case points.round():
		return fmt.Errorf("%s is for boxes of inputs, not for --norm 1 or 2: leave one of them out", flag)
	case points.otherFile() != "":
		r.other, err = format.ReadExact(points.Other)
	case points.Other != "":
		r.other, err = r.read.MeanNetwork()
	}
	if err != nil {
		return unfound("--other", err)
	}
	if r.tasks, err = r.Tasks.load(r.read); err != nil {
		return err
	}
	if data := r.tasks.points; r.other != nil && data != nil {
		if order, err := data.OrderOf(r.other.Input.Shape); err != nil || order != "" {
			return fmt.Errorf("--other %s: it takes inputs of shape %v, and those of %s come as %v: give them as both networks take them, or say with --channels how that is", Printable(points.Other), r.other.Input.Shape, data.Source, data.Shape)
		}
	}
	if r.post, err = r.about(r.read); err != nil {
		return fmt.Errorf("%s: %s: %w", r.Posterior.Path, flag, err)
	}
	return nil
}

// ofPairs returns the safe set of pairs: that of the relation, or a box of the outputs at both inputs.
func (p *Points) ofPairs(post *posterior.Posterior, relation *property.Relation) (func(int) (property.Safe, int, error), error) {
	s, says := relation.Safe()
	var err error
	switch {
	case p.Label != "":
		err = errors.New("--label cannot be combined with --relation or --other, which leave no class open: leave it out")
	case !says && p.Other != "" && !property.IsBox(p.Property):
		err = errors.New("--other says nothing of the outputs: give --relation within:TOL or same_class, or --property output_box:[LO,HI],... of those of f, then those of the other network, or a file of rows of both")
	case !says && p.Property != property.KeepsClass && !property.IsBox(p.Property):
		err = fmt.Errorf("--property %s is about one input, --relation %s about two: give output_box:[LO,HI],... of the outputs at x, then those at x', or a file of rows of both", Printable(p.Property), Printable(p.Relation))
	case !says && !property.IsBox(p.Property):
		err = fmt.Errorf("--relation %s says nothing of the outputs: give --property output_box:[LO,HI],... of those at x, then those at x', or a file of rows of both", Printable(p.Relation))
	case !says:
		s, _, err = property.ParseSpec(p.Property, 2*post.Outputs())
	}
	return func(int) (property.Safe, int, error) { return s, -1, err }, err
}
