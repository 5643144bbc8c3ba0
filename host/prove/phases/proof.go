package phases

import "psafe/host/prove/branch"

// proof writes the trees of a search.
func (s *search) proof() *branch.LeafSum {
	p := &branch.LeafSum{Trees: []branch.Tree{}}
	for range s.net.layers {
		p.Open = append(p.Open, []int{})
	}
	for _, n := range s.net.open {
		p.Open[n.layer] = append(p.Open[n.layer], n.unit)
	}
	for _, k := range s.trees {
		var t branch.Tree
		k.write(&t)
		p.Trees = append(p.Trees, t)
		if s.chosen {
			p.Rows = append(p.Rows, k.row)
		}
	}
	return p
}

// write appends the tree from here down to t, in preorder.
func (k *node) write(t *branch.Tree) {
	if k.parts != nil {
		t.Cuts = append(t.Cuts, k.at)
		for _, part := range k.parts {
			part.write(t)
		}
		return
	}
	betas, is := make([]float64, len(k.alpha)), make([]bool, len(k.alpha))
	for _, c := range k.cuts {
		betas[c.at], is[c.at] = c.beta, true
	}
	t.AddLeaf(k.alpha, betas, is)
}
