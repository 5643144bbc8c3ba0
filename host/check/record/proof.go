package record

import (
	"encoding/json"
	"errors"
	"fmt"

	"psafe/host/check/cases"
	"psafe/host/check/sums"
	"psafe/host/read/property"
)

// NetworkProof holds how a record says that one network of a finite posterior was decided: safe on
// cells of T, or unsafe at a witness. Networks without one are safe on T as it is, or undecided.
type NetworkProof struct {
	Network int           `json:"network"`
	Cells   []int         `json:"cells,omitempty"`
	Witness *WitnessProof `json:"witness,omitempty"`
}

// Part reads a part of a proof that is kept as text. One that is absent says nothing.
func Part[T any](name string, text json.RawMessage) (of T, err error) {
	if len(text) == 0 {
		return of, nil
	}
	if err = Strictly(text, &of); err != nil {
		err = fmt.Errorf("proof: %s: %w", name, err)
	}
	return of, err
}

// WitnessProof is a point of box Box of T, as property.Box.EncodePoint writes it.
type WitnessProof struct {
	Box int    `json:"box"`
	At  string `json:"at"`
}

// Around is the box near the point that surely contains a point of the real T.
func (w *WitnessProof) Around(task *property.Task) (property.Box, error) {
	if w.Box < 0 || w.Box >= len(task.T) {
		return property.Box{}, fmt.Errorf("proof: witness is in box %d of %d", w.Box, len(task.T))
	}
	x, err := task.T[w.Box].DecodePoint(w.At)
	if err != nil {
		return property.Box{}, fmt.Errorf("proof: witness: %w", err)
	}
	b := task.Witness(w.Box, x)
	if b.Lo == nil {
		return b, fmt.Errorf("proof: witness is in box %d of T, of which no point is known", w.Box)
	}
	return b, nil
}

// ChernoffProof holds what a record says of the rows of S on one box of T, and of hidden layers above the first: of
// the second little-endian float64, of others statements.
type ChernoffProof struct {
	Rows       []ChernoffRow `json:"rows,omitempty"`
	Rates      []byte        `json:"rates,omitempty"`
	Statements []ChernoffRow `json:"statements,omitempty"`
}

// ChernoffRow is a rate, and two little-endian float32 for each neuron of the hidden layers below it but the first; on a
// box of some width what the row's difference may fail with, and a byte for each hidden neuron; of parts by what the
// variance of the row's own noise is multiplied, and where they end.
type ChernoffRow struct {
	Rate    float64   `json:"rate"`
	Slopes  []byte    `json:"slopes,omitempty"`
	Budget  float64   `json:"budget,omitempty"`
	Shares  []byte    `json:"shares,omitempty"`
	Squares []float64 `json:"squares,omitempty"`
	Upto    []float64 `json:"upto,omitempty"`
}

// UpperProof holds how a record says that P_safe was bounded from above: by a method, at a witness.
type UpperProof struct {
	Method     string        `json:"method"`
	Witness    WitnessProof  `json:"witness"`
	Tau        float64       `json:"tau,omitempty"`
	Rows       []ChernoffRow `json:"rows,omitempty"`
	Rates      []byte        `json:"rates,omitempty"`
	Statements []ChernoffRow `json:"statements,omitempty"`
	Plans      []*cases.Plan `json:"plans,omitempty"`
}

// ReadUpper is the field upper.
func (p *proof) ReadUpper() (*UpperProof, error) {
	if len(p.Upper) == 0 {
		return nil, errors.New("proof: there is none of p_upper")
	}
	u, err := Part[UpperProof]("upper", p.Upper)
	switch {
	case err != nil:
		return nil, err
	case u.Plans != nil && u.Method != "neuronsum":
		return nil, fmt.Errorf("proof: upper: plans: method %.40q has none", u.Method)
	case (u.Rows != nil || u.Rates != nil || u.Statements != nil) && u.Method != "chernoff":
		return nil, fmt.Errorf("proof: upper: rows, rates or statements: method %.40q has none", u.Method)
	}
	return &u, nil
}

// proof holds what identifies the certificate, beside the other fields. What is text is read where it is needed (Part).
type proof struct {
	Cells    []int           `json:"cells,omitempty"`
	Grids    [][][]float64   `json:"grids,omitempty"`
	Centres  [][][]float64   `json:"centres,omitempty"`
	Large    [][]*sums.Large `json:"large,omitempty"`
	Rows     []int           `json:"rows,omitempty"`
	Plans    []*cases.Plan   `json:"plans,omitempty"`
	Chains   []int           `json:"chains,omitempty"`
	Tau      []float64       `json:"tau,omitempty"`
	Lines    [][]int         `json:"lines,omitempty"`
	Phases   json.RawMessage `json:"phases,omitempty"`
	Leaves   json.RawMessage `json:"leaves,omitempty"`
	Chernoff json.RawMessage `json:"chernoff,omitempty"`
	Mixtures [][]float64     `json:"mixtures,omitempty"`
	Boxes    []int           `json:"boxes,omitempty"`
	Networks json.RawMessage `json:"networks,omitempty"`
	Upper    json.RawMessage `json:"upper,omitempty"`
	Each     json.RawMessage `json:"each,omitempty"`
	Quantile json.RawMessage `json:"quantile,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Mean     json.RawMessage `json:"mean,omitempty"`
}

// EachProof holds how a record says that each_lower was shown, or a quantile.
type EachProof struct {
	Cells []int     `json:"cells,omitempty"`
	Tau   []float64 `json:"tau,omitempty"`
}

// DecisionProof holds how a record says that a decision was shown.
type DecisionProof struct {
	Cells      []int         `json:"cells,omitempty"`
	Tau        []float64     `json:"tau,omitempty"`
	Rival      *int          `json:"rival,omitempty"`
	Witness    *WitnessProof `json:"witness,omitempty"`
	WitnessTau float64       `json:"witness_tau,omitempty"`

	Reference        *int `json:"reference,omitempty"`
	WitnessReference *int `json:"witness_reference,omitempty"`

	Margin    float64         `json:"margin,omitempty"`
	PhasesTau float64         `json:"phases_tau,omitempty"`
	Phases    json.RawMessage `json:"phases,omitempty"`
}

// ReadDecision is the field decision of a proof.
func (p *proof) ReadDecision() (*DecisionProof, error) {
	d, err := Part[DecisionProof]("decision", p.Decision)
	return &d, err
}

// MeanProof holds how a record says that means were bounded.
type MeanProof struct {
	Cells   []int         `json:"cells,omitempty"`
	Witness *WitnessProof `json:"witness,omitempty"`
}

const mostTree = 1 << 20
