package certify

import (
	"errors"
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// transform gives the posterior noise of its inputs, or makes it one of pairs of them, where that is asked.
func (r *ready) transform() error {
	switch points := &r.Tasks.Points; {
	case points.InputNoise != "" && points.Relation != "":
		return errors.New("--input-noise and --relation cannot be combined: leave one of them out")
	case points.InputNoise != "":
		return r.addNoise()
	case points.Relation != "":
		return r.addPair()
	}
	return nil
}

// about is a posterior that was read as it is certified: with noise of its inputs, or of pairs of them.
func (r *ready) about(read *posterior.Posterior) (*posterior.Posterior, error) {
	switch {
	case r.noise.Hi != nil:
		return read.WithInputNoise(r.noise.Lo, r.noise.Hi)
	case r.tasks.relation != nil:
		return read.WithPair(r.tasks.relation.At, r.tasks.relation.Adds)
	}
	return read, nil
}

// addPair makes the posterior that of pairs of inputs.
func (r *ready) addPair() (err error) {
	switch {
	case r.Method.Decision || r.Method.Mean:
		return errors.New("--relation is for --target safe and each: leave one of them out")
	case r.Tasks.Points.round():
		return errors.New("--relation is for boxes of inputs, not for --norm 1 or 2: leave one of them out")
	}
	if r.tasks, err = r.Tasks.load(r.read); err != nil {
		return err
	}
	if r.post, err = r.about(r.read); err != nil {
		return fmt.Errorf("%s: --relation: %w", r.Posterior.Path, err)
	}
	return nil
}

// ofPairs returns the safe set of pairs: that of the relation, or a box of the outputs at both inputs.
func (p *Points) ofPairs(post *posterior.Posterior, relation *property.Relation) (func(int) (property.Safe, int, error), error) {
	s, says := relation.Safe()
	var err error
	switch {
	case p.Label != "":
		err = errors.New("--label cannot be combined with --relation, which leaves no class open: leave it out")
	case !says && p.Property != property.KeepsClass && !property.IsBox(p.Property):
		err = fmt.Errorf("--property %s is about one input, --relation %s about two: give output_box:[LO,HI],... of the outputs at x, then those at x', or a file of rows of both", Printable(p.Property), Printable(p.Relation))
	case !says && !property.IsBox(p.Property):
		err = fmt.Errorf("--relation %s says nothing of the outputs: give --property output_box:[LO,HI],... of those at x, then those at x', or a file of rows of both", Printable(p.Relation))
	case !says:
		s, _, err = property.ParseSpec(p.Property, 2*post.Outputs())
	}
	return func(int) (property.Safe, int, error) { return s, -1, err }, err
}
