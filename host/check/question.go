package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// question holds what a record is about: the distribution of the networks, and the task.
type question struct {
	*record.Record
	post *posterior.Posterior
	task *property.Task
	held *files
	// proved is the lower bound as it was proved; census the networks of a finite posterior, once
	// they have been decided.
	proved law.Chance
	census *census
}

// withMixtures is the question with the safe set that a lower bound is proved of: that of the
// record, or the same with the mixtures of the proof among its alternatives.
func (q *question) withMixtures() (*question, error) {
	if q.Proof.Mixtures == nil {
		return q, nil
	}
	task, with := *q.task, *q
	var err error
	task.S, err = cases.Mixed(&q.task.S, q.Proof.Mixtures)
	with.task = &task
	return &with, err
}

// question reads the files that a record names, or those given in their place, and compares
// them with what the record says of them.
func (f *files) question(r *record.Record, given Files) (*question, error) {
	q := &question{Record: r, held: f}
	var err error
	if q.post, err = f.posterior(r, given); err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	inputs := r.Inputs
	if given.Inputs != "" {
		inputs = given.Inputs
	}
	for _, file := range property.FilesOf(inputs) {
		if err := there(file, "inputs"); err != nil {
			return nil, err
		}
	}
	switch {
	case (r.Template == "") != (r.TemplateSHA256 == "") || (r.Template == "") != (r.TemplateEntry == nil):
		return nil, errors.New("template: it is not there together with template_sha256 and template_entry")
	case r.Template != "":
		q.task, err = f.ofTemplate(r, inputs, q.post)
	case r.Eps == "":
		q.task, err = f.ofPropertyFile(r, inputs, q.post)
	default:
		q.task, err = f.ofPoints(r, inputs, q.post)
	}
	if err != nil {
		return nil, err
	}
	if q.post, err = f.noised(r, inputs, q.post); err != nil {
		return nil, err
	}
	if q.post, err = f.paired(r, q.post); err != nil {
		return nil, err
	}
	if err := q.task.Check(q.post.Inputs(), q.post.Outputs()); err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	label := -1
	if r.Label != nil {
		label = *r.Label
	}
	if label != q.task.Label {
		return nil, fmt.Errorf("label: it is %d, the property speaks of %d", label, q.task.Label)
	}
	return q, nil
}

// cells returns the cells of the proof, as many as the record says.
func (q *question) cells() ([]property.Box, error) {
	cells, err := cases.CellsOf(q.task.T, q.Proof.Cells)
	if err == nil && len(cells) != q.Cells {
		err = fmt.Errorf("cells: %d, the proof has %d", q.Cells, len(cells))
	}
	return cells, err
}

// eachCell are the cells of the proof, or the boxes of T where it cuts none, and what a part of the proof says of each.
func eachCell[T any](q *question, part string, text json.RawMessage) (cells []property.Box, proofs []T, err error) {
	if proofs, err = record.Part[[]T](part, text); err != nil {
		return nil, nil, err
	}
	if cells = q.task.T; q.Proof.Cells != nil {
		if cells, err = q.cells(); err != nil {
			return nil, nil, err
		}
	}
	if len(proofs) != len(cells) {
		err = fmt.Errorf("proof: %s: there are %d, T has %d cells", part, len(proofs), len(cells))
	}
	return cells, proofs, err
}

// tausOf returns the failure budgets of cells by moments or leaves: none is 0, and the record has the largest.
func (q *question) tausOf(cells []property.Box) ([]float64, error) {
	taus, err := cases.TausOf(q.Proof.Tau, len(cells))
	if err == nil && (len(taus) == 0 || slices.Max(taus) != q.Tau || slices.Min(taus) == 0) {
		err = fmt.Errorf("tau: it is %v, the largest of the proof is another, or one is 0", q.Tau)
	}
	return taus, err
}

// fits compares a record with its question, where nothing has to be proved for that.
func (q *question) fits() error {
	if err := q.fitsSet(); err != nil {
		return err
	}
	boxes := len(q.task.T)
	if q.Method == "statistical" || q.Statistical != nil {
		if err := q.post.RequireNetworks(); err != nil {
			return fmt.Errorf("statistical: %w", err)
		}
	}
	if q.Boxed() || q.Cut() || q.Method == "phases" || q.Method == "chernoff" {
		err := q.post.RequireIndependent()
		if q.Method == "clbp" {
			err = q.post.RequireRows()
		}
		if err != nil {
			return fmt.Errorf("method: %s: %w", q.Method, err)
		}
	}
	switch flags := q.Asked(); {
	case q.Method == "neuronsum" && len(q.post.Layers) != 2:
		return fmt.Errorf("method: sums of neurons are of one hidden layer, this network has %d", len(q.post.Layers)-1)
	case (q.Cut() && q.Proof.Grids == nil || q.Cells > 0 && q.Method == "phases") && !(boxes <= q.Cells && (flags.Number("--cells") == 0 || q.Cells <= max(boxes, flags.Number("--cells")))):
		return fmt.Errorf("cells: %d, T has %d boxes, the flags say %d", q.Cells, boxes, flags.Number("--cells"))
	}
	return nil
}

// fitsSet compares what is said of features, of a finite set, and of the posterior behind it, with the file.
func (q *question) fitsSet() error {
	set, p, networks, of := q.post.Finite(), q.Parent, 0, ""
	if set != nil {
		if set.N() > 1 { // a single network is no set of which one might think more
			networks = set.N()
		}
		if q.Method == "samples" {
			of = set.DrawsOf
		}
	}
	switch {
	case q.FeaturesOf != q.post.Input.FeaturesOf:
		return fmt.Errorf("features_of: it is %.60q, the file says %.60q", q.FeaturesOf, q.post.Input.FeaturesOf)
	case q.Networks != networks:
		return fmt.Errorf("networks: it is %d, and the posterior is %s", q.Networks, q.post.Describe())
	case (p != nil) != (of != ""):
		return fmt.Errorf("parent: it is there although the file has no draws, or is missing: method %s, draws of %.60q", q.Method, of)
	case p != nil && p.Of != of:
		return fmt.Errorf("parent: of is %.60q, the file says %.60q", p.Of, of)
	}
	return nil
}

// claimed reports whether a chance is what the record claims.
func (q *question) claimed(c law.Chance) bool {
	return c.Reaches(q.PLower.Rat()) && (q.Log10PLower == nil || c.ReachesLog10(q.Log10PLower.Rat()))
}

// enough reports whether a probability of failure proves what the record claims.
func (q *question) enough(fail float64) bool { return q.claimed(law.Complement(fail)) }

// claimedUpper reports whether p is an upper bound as good as what the record claims.
func (q *question) claimedUpper(p float64) bool {
	return p <= 1 && new(big.Rat).SetFloat64(p).Cmp(q.PUpper.Rat()) <= 0
}
