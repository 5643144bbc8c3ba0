package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// networkProof holds how a record says that one network of a finite posterior was decided: safe on
// cells of T, or unsafe at a witness. Networks without one are safe on T as it is, or undecided.
type networkProof struct {
	Network int           `json:"network"`
	Cells   []int         `json:"cells,omitempty"`
	Witness *witnessProof `json:"witness,omitempty"`
}

// readNetworks reads the field networks of a proof, which may be absent.
func readNetworks(text json.RawMessage) (list []networkProof, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if err := strictly(text, &list); err != nil {
		return nil, fmt.Errorf("proof: networks: %w", err)
	}
	return list, nil
}

// witnessProof is a point of box Box of T, as property.Box.EncodePoint writes it.
type witnessProof struct {
	Box int    `json:"box"`
	At  string `json:"at"`
}

// around is the box near the point that surely contains a point of the real T.
func (w *witnessProof) around(task *property.Task) (property.Box, error) {
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

// census holds what is proved of a finite posterior: how many networks are safe on T and unsafe,
// and what they weigh, of weight together.
type census struct {
	safe                 []int64 // the weight of each
	unsafe               int
	unsafeWeight, weight int64
}

// pLowerDown is the share of the networks proved safe, rounded down; of the so many of them that
// weigh most, since a bound that needs more contradicts a record that counts so many.
func (c *census) pLowerDown(counted int) float64 {
	heaviest := slices.Sorted(slices.Values(c.safe))
	total := int64(0)
	for _, w := range heaviest[max(0, len(heaviest)-counted):] {
		total += w
	}
	return ratDown(big.NewRat(total, c.weight))
}

// pUpperUp is the share of the networks not proved unsafe, rounded up.
func (c *census) pUpperUp() float64 {
	return -ratDown(big.NewRat(c.unsafeWeight-c.weight, c.weight))
}

// ratDown is the greatest float64 at or below r.
func ratDown(r *big.Rat) float64 {
	f, _ := r.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(r) > 0 {
		return arith.Down(f)
	}
	return f
}

// countNetworks decides every network of a finite posterior again (docs/theory.md, section
// 6.1), by intervals and lines; a proof that does not hold is an error. Other lines are tried where
// fewer are proved safe than the record says.
func countNetworks(ctx context.Context, post *posterior.Posterior, task *property.Task, proofs []networkProof, safe int) (c census, err error) {
	if c, err = countBy(ctx, 1, post, task, proofs); err != nil || len(c.safe) < safe {
		return countBy(ctx, tries, post, task, proofs)
	}
	return c, nil
}

// countBy is countNetworks with so many choices of lines.
func countBy(ctx context.Context, tries uint64, post *posterior.Posterior, task *property.Task, proofs []networkProof) (c census, err error) {
	s := post.Networks()
	if s == nil {
		return c, fmt.Errorf("posterior: it is %s, not a finite set of networks", post.Describe())
	}
	how := map[int]*networkProof{}
	for p := range proofs {
		n := proofs[p].Network
		if n < 0 || n >= s.N() || how[n] != nil {
			return c, fmt.Errorf("proof: network %d is listed twice or not among %d", n, s.N())
		}
		how[n] = &proofs[p]
	}
	m, err := moldOf(post.Network())
	if err != nil {
		return c, fmt.Errorf("posterior: %w", err)
	}
	c.weight = s.Total()
	for i, count := range s.Counts {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		n, err := networkOf(m, s.Weights(i))
		if err != nil {
			return c, err
		}
		proof := how[i]
		switch {
		case proof == nil:
			if n.safeOn(task.T, &task.S, tries) {
				c.safe = append(c.safe, count)
			}
		case proof.Witness != nil && proof.Cells == nil:
			if err := n.unsafeAt(task, proof.Witness); err != nil {
				return c, fmt.Errorf("proof: network %d: %w", i, err)
			}
			c.unsafe, c.unsafeWeight = c.unsafe+1, c.unsafeWeight+count
		case proof.Witness == nil && proof.Cells != nil:
			cells, err := cellsOf(task.T, proof.Cells)
			if err != nil {
				return c, fmt.Errorf("proof: network %d: %w", i, err)
			}
			if !n.safeOn(cells, &task.S, tries) {
				return c, fmt.Errorf("proof: network %d is not proved safe on its cells", i)
			}
			c.safe = append(c.safe, count)
		default:
			return c, fmt.Errorf("proof: network %d has neither cells nor a witness, or both", i)
		}
	}
	return c, nil
}

// networkOf is the network with these weights, in the layout of posterior.Draw.
func networkOf(m *mold, weights [][]float64) (*network, error) {
	layers, err := m.filled(weights, weights)
	return &network{layers: layers, graph: m.graph}, err
}

// safeOn reports whether S is proved on all of the boxes, of each by intervals or by lines.
func (n *network) safeOn(boxes []property.Box, s *property.Safe, tries uint64) bool {
	for _, b := range boxes {
		if !n.holdsOn(b, s, tries) {
			return false
		}
	}
	return true
}

func (n *network) holdsOn(b property.Box, s *property.Safe, tries uint64) bool {
	intervals := network{layers: n.layers, graph: n.graph}
	if lo, _ := intervals.rowsLo(b, s.Rows); s.Holds(lo) {
		return true
	}
	for try := range tries {
		if s.Holds(n.byLines(b, s.Rows, try)) {
			return true
		}
	}
	return false
}

// byLines is rowsLo by lines, of the try of this number.
func (n *network) byLines(b property.Box, rows []property.Row, try uint64) []float64 {
	lines := network{layers: n.layers, graph: n.graph, lines: true, by: choice{try: try}}
	lo, _ := lines.rowsLo(b, rows)
	return lo
}

// unsafeAt is nil if S surely fails on all of the witness box.
func (n *network) unsafeAt(task *property.Task, w *witnessProof) error {
	b, err := w.around(task)
	if err != nil {
		return err
	}
	negated := negatedRows(&task.S)
	intervals := network{layers: n.layers, graph: n.graph}
	if lo, _ := intervals.rowsLo(b, negated.Rows); task.S.FailsSurely(lo) || task.S.FailsSurely(n.byLines(b, negated.Rows, 0)) {
		return nil
	}
	return errors.New("it is not proved unsafe at its witness")
}
