package phases

import (
	"fmt"

	"psafe/host/check/cases"
	"psafe/host/check/clbp"
	"psafe/host/check/covary"
	"psafe/host/check/relax"
)

// Proof holds how the rows of S are proved on one box of T.
type Proof struct {
	Open   [][]int `json:"open"`
	Raised [][]int `json:"raised"`
	Slopes []byte  `json:"slopes,omitempty"`
	Trees  []Tree  `json:"trees"`
}

// Tree is the tree of one clause.
type Tree struct {
	Cuts     []int  `json:"cuts"`
	Leaves   []byte `json:"leaves,omitempty"`
	Mixtures []byte `json:"mixtures,omitempty"`
}

// MostPhaseCuts is the greatest number of cuts of all trees of a record: certify looks at two sub-problems for
// each, and at no more than 16,384. The time that a line may take is in proportion.
const MostPhaseCuts = 1 << 13

// CutsOfPhases are the nodes of all trees that are no leaves.
func CutsOfPhases(proofs []Proof) (cuts int) {
	for b := range proofs {
		for _, t := range proofs[b].Trees {
			for _, at := range t.Cuts {
				if at != cases.Leaf {
					cuts++
				}
			}
		}
	}
	return cuts
}

// slopesIn is the number of steps in a slope of 1.
const slopesIn = 128

// unprovedLeaf is a sub-problem whose bound is below 0.
type unprovedLeaf struct {
	leaf  int
	bound float64
}

func (u *unprovedLeaf) Error() string {
	return fmt.Sprintf("leaf %d of its tree has the bound %.6g, below 0", u.leaf, u.bound)
}

// shaped returns what of a proof does not fit the network.
func (how *Proof) shaped(layers []relax.Layer, rows int) error {
	hidden, open, slopes := len(layers)-1, 0, 0
	if len(how.Open) != hidden || len(how.Raised) != hidden || len(how.Trees) != rows {
		return fmt.Errorf("it is of %d and %d layers and %d rows, there are %d and %d", len(how.Open), len(how.Raised), len(how.Trees), hidden, rows)
	}
	for k := range hidden {
		for _, list := range [][]int{how.Open[k], how.Raised[k]} {
			for i, unit := range list {
				if unit < 0 || unit >= layers[k].Out || i > 0 && unit <= list[i-1] || !hasPhases(&layers[k]) {
					return fmt.Errorf("neuron %d of layer %d is none, or has no phases, or is out of order", unit, k)
				}
			}
		}
		slopes += 2 * len(how.Raised[k]) * open
		open += len(how.Open[k])
	}
	if len(how.Slopes) != slopes {
		return fmt.Errorf("slopes: there are %d, rows have %d", len(how.Slopes), slopes)
	}
	return nil
}

// hasPhases reports whether the layer's neurons may be taken to be active or not: they are max(t, 0) of
// what is linear.
func hasPhases(l *relax.Layer) bool { return relax.Cuts(l.Act) && l.Windows == nil }

// Splits reports whether hidden layers have max(t, 0) or no activation, some of them with phases, and
// the last layer is dense.
func Splits(n *clbp.Noisy) bool {
	phases, last := false, len(n.Mean)-1
	for k := range last {
		l := &n.Mean[k]
		if !relax.Cuts(l.Act) && !relax.IsIdentity(l.Act) {
			return false
		}
		phases = phases || hasPhases(l)
	}
	return phases && n.Mean[last].At == nil && n.Mean[last].Windows == nil
}

// random reports whether a weight of layer k deviates.
func random(n *clbp.Noisy, k int) bool {
	return covary.AnyAbove0(n.Deviations[k].Sd) || covary.AnyAbove0(n.Deviations[k].BiasVariance)
}
