package claim

import (
	"slices"

	"psafe/host/prove/branch"
	"psafe/host/prove/neuronsum/grid"
	"psafe/host/read/property"
)

// Proof is what, beside the other fields of a Result, identifies its certificate, so that
// psafe check can prove it again without a search (docs/results.md). Its JSON is the field
// proof of records (docs/reference.md, the result record). A bound that says nothing has none.
type Proof struct {
	// Cells says how the boxes of T were cut, for methods without weight boxes: for each
	// box its tree in preorder, -1 for a leaf, j for a cut in coordinate j at property.Middle(lo, hi),
	// followed by the lower half and the upper half. Nil if no box was cut.
	Cells []int `json:"cells,omitempty"`
	// Grids are, for sums of neurons with one event for each point of a grid, the planes of the
	// grid of each box of T: for each axis their coordinates, strictly ascending, strictly inside
	// the box. The rows that are proved at the points are those of Mixtures or, without them, Rows. There are no Cells then.
	Grids [][][]float64 `json:"grids,omitempty"`
	// Centres are, beside Grids, the coordinates of the points of cells whose signs count: for each
	// box and axis one between each two planes.
	Centres [][][]float64 `json:"centres,omitempty"`
	// Large are, beside Grids with Mixtures, the neurons that were split off (39): for each box of T
	// and each row of Mixtures, nil where none were.
	Large [][]*grid.LargeNeurons `json:"large,omitempty"`
	// Rows are, beside Grids without Mixtures, the numbers of the rows of S that were proved, ascending;
	// nil where S has one alternative, which is of rows alone.
	Rows []int `json:"rows,omitempty"`
	// Plans are, for sums of neurons on cells, which rows of S were proved of each, in the order of
	// Cells; nil where S has one alternative, which is of rows alone.
	Plans []*grid.Plan `json:"plans,omitempty"`
	// Tau is the failure budget of a hidden bound in each leaf, in the order of Cells; one
	// if they are the same.
	Tau []float64 `json:"tau,omitempty"`
	// Lines are, of networks that are linearised, the hidden neurons of each leaf, counted over the layers, of which
	// the line above was taken, and not the one below; nil if there is none.
	Lines [][]int `json:"lines,omitempty"`
	// Phases are, for each box of T, how the rows of S were proved for all networks whose noise is confined.
	Phases []*branch.Proof `json:"phases,omitempty"`
	// Leaves are, for each box of T, the trees of phases of the rows of S, the tails of whose leaves were
	// added up.
	Leaves []*branch.LeafSum `json:"leaves,omitempty"`
	// Chernoff are, for each box of T, the moments of the rows of S, where they were bounded by those.
	Chernoff []*ChernoffProof `json:"chernoff,omitempty"`
	// Mixtures are the factors of the mixtures of rows (31) that were proved in the place of
	// alternatives, for each clause of S one for each alternative (property.Safe.Mixed); nil if
	// none was.
	Mixtures [][]float64 `json:"mixtures,omitempty"`
	// Boxes are the numbers of the drawn boxes in the union.
	Boxes []int `json:"boxes,omitempty"`
	// Networks lists, of a finite posterior, those proved safe on cells that were cut and
	// those proved unsafe.
	Networks []NetworkProof `json:"networks,omitempty"`
	// Upper shows the upper bound, but for a finite posterior.
	Upper *UpperProof `json:"upper,omitempty"`
	// Each shows what is said of single points of T, where P_safe does not.
	Each *EachProof `json:"each,omitempty"`
	// Quantile shows what is said of the worst margin.
	Quantile *EachProof `json:"quantile,omitempty"`
	// Decision shows what is said of the predictive's decision.
	Decision *DecisionProof `json:"decision,omitempty"`
	// Mean shows what is said of means.
	Mean *MeanProof `json:"mean,omitempty"`
}

// NetworkProof is how one network of a finite posterior was decided: safe on Cells, or
// unsafe at Witness.
type NetworkProof struct {
	Network int      `json:"network"`
	Cells   []int    `json:"cells,omitempty"`
	Witness *Witness `json:"witness,omitempty"`
}

// UpperProof is how an upper bound was shown: by "clbp", with the failure budget Tau, by
// "chernoff", with that budget, the moments of the negated rows and statements, or by "neuronsum",
// with a plan for each alternative and one of a set with gates, at Witness.
type UpperProof struct {
	Method  string  `json:"method"`
	Witness Witness `json:"witness"`
	Tau     float64 `json:"tau,omitempty"`
	ChernoffProof
	Plans []*grid.Plan `json:"plans,omitempty"`
}

// Witness is a point near which the property is shown to fail: box Box of T, and the point
// as property.Box.EncodePoint writes it.
type Witness struct {
	Box int    `json:"box"`
	At  string `json:"at"`
}

// NewWitness writes the point x of box b of the task, and gives the box that surely
// contains a point of the real T near what is written; Lo is nil if none is known.
func NewWitness(t *property.Task, b int, x []float64) (Witness, property.Box) {
	w := Witness{Box: b, At: t.T[b].EncodePoint(x)}
	x, err := t.T[b].DecodePoint(w.At)
	if err != nil {
		panic("prove: a point that was just written: " + err.Error())
	}
	return w, t.Witness(b, x)
}

// Leaf stands in trees for a cell that is not cut.
const Leaf = -1

// UncutCells is nil for trees that are all leaves, which go without saying.
func UncutCells(trees []int) []int {
	if !slices.ContainsFunc(trees, func(axis int) bool { return axis != Leaf }) {
		return nil
	}
	return trees
}
