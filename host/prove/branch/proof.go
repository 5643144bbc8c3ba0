package branch

import (
	"math"
	"slices"
)

// Proof holds how every row of a conjunction was proved on a box, for networks whose biases are off
// by noise: what psafe check needs to prove it again without a search. Its JSON is a part of the
// field proof of records (docs/theory.md, section 6.7). Slopes are lower slopes of ReLUs in 128ths.
type Proof struct {
	// Open lists, for each hidden layer, the neurons that may be on both sides of their kink, in
	// ascending order. Lower slopes and cuts are about them.
	Open [][]int `json:"open"`
	// Raised lists, for each hidden layer, the neurons that were bounded by rows with slopes of their
	// own, in ascending order.
	Raised [][]int `json:"raised"`
	// Slopes has, for each neuron of Raised, layer by layer, the slopes of its lower and then those
	// of its upper row: a byte for each neuron of Open in the layers below.
	Slopes []byte `json:"slopes,omitempty"`
	// Trees has one for each of the Clauses of the safe set: of a conjunction, for each row.
	Trees []Tree `json:"trees"`
}

// Tree is a tree of sub-problems of one clause.
type Tree struct {
	// Cuts is it in preorder: Leaf, or the number of a neuron among all of Open, followed by the
	// part where it is active and the part where it is not.
	Cuts []int `json:"cuts"`
	// Leaves has, for each leaf, the slopes of all neurons of Open that were not cut at on the way to
	// it, a byte each, and then the multipliers of those that were, in the order of Open, two bytes
	// each: the upper half of a float32, the high byte first.
	Leaves []byte `json:"leaves,omitempty"`
	// Mixtures has, for each leaf of a clause of several rows, the factor of each of them in the sum that
	// is proved, in 2^15ths: two bytes, the high one first.
	Mixtures []byte `json:"mixtures,omitempty"`
}

// Leaf stands in a tree for a sub-problem that is proved.
const Leaf = -1

// LeafSum holds how the tails of rows were added up over the leaves of trees on a box ((62), docs/theory.md); Open
// and Trees are as in Proof. Rows are those of the trees, if the safe set is no conjunction: it follows from them.
type LeafSum struct {
	Open  [][]int `json:"open"`
	Rows  []int   `json:"rows,omitempty"`
	Trees []Tree  `json:"trees"`
}

// SlopeUnit is the step of slopes.
const SlopeUnit = 1.0 / 128

// ToSlope is the nearest slope that a proof can say, and ToMultiplier the nearest multiplier >= 0.
func ToSlope(v float64) float64 { return math.Round(v/SlopeUnit) * SlopeUnit }

func ToMultiplier(v float64) float64 {
	bits := math.Float32bits(float32(v))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// SlopeByte is a slope in a proof.
func SlopeByte(v float64) byte { return byte(v / SlopeUnit) }

// noteSlopes notes those of rows of a hidden layer, lower and upper of a neuron in turn; the latter are
// the second half of the rows.
func (p *phased) noteSlopes(a *ascent) {
	if p.proof == nil {
		return
	}
	r := len(a.q.Rows)
	for u := range r / 2 {
		for _, c := range []int{u, r/2 + u} {
			for l := range a.q.Layer {
				for i := range p.known.lo[l] {
					if p.known.open(l, i) {
						p.proof.Slopes = append(p.proof.Slopes, SlopeByte(a.kept.Slope[l][i*r+c]))
					}
				}
			}
		}
	}
}

// noteLayer notes which neurons of hidden layer k are open, and which were raised.
func (p *phased) noteLayer(k int, raised []int) {
	if p.proof == nil {
		return
	}
	open := []int{}
	for i := range p.known.lo[k] {
		if p.known.open(k, i) {
			open = append(open, i)
		}
	}
	p.proof.Open, p.proof.Raised = append(p.proof.Open, open), append(p.proof.Raised, append([]int{}, raised...))
}

// piece is a node of a tree that is being made.
type piece struct {
	// at is the number of the neuron that the node was cut at, among all open ones, and parts are its
	// parts, active first; nil of a leaf.
	at    int
	parts []*piece
	// leaf holds how a proved one was proved.
	leaf *knot
}

// rootPiece is the place of a row, if a proof is wanted.
func (p *phased) rootPiece() *piece {
	if p.proof == nil {
		return nil
	}
	return &piece{}
}

// place gives the parts of a sub-problem, active first, their places.
func (p *phased) place(k *knot, parts []*knot) {
	if k.at == nil {
		return
	}
	k.at.at = slices.Index(p.open, parts[0].phases[len(k.phases)].neuronAt)
	for _, part := range parts {
		part.at = &piece{}
		k.at.parts = append(k.at.parts, part.at)
	}
}

// proved notes that a sub-problem is proved with its slopes and multipliers.
func (k *knot) proved() {
	if k.at != nil {
		k.at.leaf = k
	}
}

// noteTrees notes those of rows that are all proved.
func (p *phased) noteTrees(rows []*knot) {
	if p.proof == nil {
		return
	}
	for _, k := range rows {
		var t Tree
		k.at.write(&t, p.open)
		p.proof.Trees = append(p.proof.Trees, t)
	}
}

// write appends the tree of n to t, in preorder.
func (n *piece) write(t *Tree, open []neuronAt) {
	if n.parts != nil {
		t.Cuts = append(t.Cuts, n.at)
		for _, part := range n.parts {
			part.write(t, open)
		}
		return
	}
	betas := make([]float64, len(open))
	cut := make([]bool, len(open))
	for _, f := range n.leaf.phases {
		o := slices.Index(open, f.neuronAt)
		betas[o], cut[o] = f.beta, true
	}
	slopes := make([]byte, len(open))
	for o, v := range n.leaf.slope {
		slopes[o] = SlopeByte(float64(v))
	}
	t.AddLeaf(slopes, betas, cut)
	if len(n.leaf.clause) > 1 {
		t.Mixtures = append(t.Mixtures, n.leaf.mixture()...)
	}
}

// mixture are the factors of a sub-problem in a proof. A row that a clause has twice has one factor.
func (k *knot) mixture() (bytes []byte) {
	for i, f := range k.theta {
		if slices.Contains(k.clause[:i], k.clause[i]) {
			f = 0
		}
		n := uint16(math.Round(f / thetaUnit))
		bytes = append(bytes, byte(n>>8), byte(n))
	}
	return bytes
}

// AddLeaf appends a leaf that has these slopes of all neurons of Open and, where it was cut at, multipliers.
func (t *Tree) AddLeaf(slopes []byte, betas []float64, cut []bool) {
	t.Cuts = append(t.Cuts, Leaf)
	for o, v := range slopes {
		if !cut[o] {
			t.Leaves = append(t.Leaves, v)
		}
	}
	for o, is := range cut {
		if is {
			bits := math.Float32bits(float32(betas[o]))
			t.Leaves = append(t.Leaves, byte(bits>>24), byte(bits>>16))
		}
	}
}
