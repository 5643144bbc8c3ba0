package check

import (
	"errors"
	"fmt"

	"psafe/host/check/record"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// shape is the relation that a record is about, of two inputs or two networks, nil without, and how many outputs S
// speaks of.
func (f *files) shape(r *record.Record, post *posterior.Posterior) (*property.Relation, int, error) {
	if r.Other == "" && r.OtherSHA256 != "" {
		return nil, 0, errors.New("other_sha256: there is no other network")
	}
	if r.Relation == "" && r.Other == "" {
		return nil, post.Outputs(), nil
	}
	key := fmt.Sprintf("%d %d %q %v", post.Inputs(), post.Outputs(), r.Relation, r.Other != "")
	relation, err := kept(f, &f.relations, key, func() (*property.Relation, error) {
		if r.Other != "" {
			return property.ReadComparison(r.Relation, post.Inputs(), post.Outputs())
		}
		return property.ReadRelation(r.Relation, post.Inputs(), post.Outputs())
	})
	if err != nil {
		return nil, 0, fmt.Errorf("relation: %w", err)
	}
	return relation, 2 * post.Outputs(), nil
}

// safe is the safe set of a record about a point, and its class: of a relation that says it, its own, and of another
// a box of both lists of outputs.
func (f *files) safe(r *record.Record, post *posterior.Posterior) (property.Safe, int, error) {
	relation, outputs, err := f.shape(r, post)
	if err != nil {
		return property.Safe{}, -1, err
	}
	s, says := relation.Safe()
	switch {
	case says && r.Property != r.Relation:
		err = fmt.Errorf("property: it is %.60q, and the relation says %.60q", r.Property, r.Relation)
	case !says && relation != nil && !property.IsBox(r.Property):
		err = fmt.Errorf("property: it is %.60q, and relations of this kind have a box of outputs, or a file", r.Property)
	case !says:
		return property.ParseSpec(r.Property, outputs)
	}
	return s, -1, err
}

// paired is the posterior at the two inputs of the relation that the record names, or beside the other network.
func (f *files) paired(r *record.Record, post *posterior.Posterior) (*posterior.Posterior, error) {
	relation, _, err := f.shape(r, post)
	if err != nil || relation == nil {
		return post, err
	}
	if _, says := relation.Safe(); says && r.Eps == "" {
		return nil, fmt.Errorf("relation: %.60q says what is asked of the outputs, and so does the property file", r.Relation)
	}
	if r.InputNoise != "" || r.Decision != nil || r.OutputMean != nil {
		return nil, errors.New("relation: with input_noise, decisions and means there is none, and no other network")
	}
	key := fmt.Sprintf("%q", append([]string{"relation", r.PosteriorSHA256, r.PosteriorScale, r.Predictive, r.PosteriorSD, r.PosteriorSDSHA, r.Relation}, r.Activations...))
	if r.Other != "" {
		return f.beside(r, post, key)
	}
	p, err := kept(f, &f.posteriors, key, func() (*posterior.Posterior, error) { return post.WithPair(relation.At, relation.Adds) })
	if err != nil {
		return nil, fmt.Errorf("relation: %w", err)
	}
	return p, nil
}

// otherMean is what other says for the mean network of the posterior, which has no file.
const otherMean = "mean"

// beside is the posterior with the network that the record names as the other one.
func (f *files) beside(r *record.Record, post *posterior.Posterior, key string) (p *posterior.Posterior, err error) {
	other, path := (*posterior.Posterior)(nil), r.Other
	if r.Other == otherMean {
		path = ""
		other, err = post.MeanNetwork()
	} else if err = there(path, ""); err == nil {
		other, err = kept(f, &f.posteriors, "\x00other\x00"+path, func() (*posterior.Posterior, error) { return format.ReadExact(path) })
	}
	if err != nil {
		return nil, err
	}
	digest := ""
	if path != "" {
		digest = other.Source.SHA256
	}
	if err := sameFile("other", digest, r.OtherSHA256); err != nil {
		return nil, err
	}
	key += fmt.Sprintf(" %q %q", path, digest)
	if p, err = kept(f, &f.posteriors, key, func() (*posterior.Posterior, error) { return post.WithOther(other) }); err != nil {
		return nil, fmt.Errorf("other: %w", err)
	}
	return p, nil
}
