package format

import (
	"fmt"
	"math"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
	"psafe/internal/infile"
)

// What turns the arrays of a file's layers into those of canonical ones (graph.Plan).

// expand makes layers and rates those of the plan, and reference.spread too.
func (n *contents) expand(scale posterior.Scale) error {
	if extra := n.unitNumbers(); extra > maxFile {
		return fmt.Errorf("the network ends without a dense layer, and one that gives its inputs would have %d numbers: put one at the end", extra)
	} else if err := infile.Afford(extra * memoryPerNumber); err != nil {
		return err
	}
	layers, rates := make([]arrays, len(n.plan.Layers)), make([]float64, len(n.plan.Layers))
	for k, l := range n.plan.Layers {
		switch {
		case l.Normalise:
			layers[k] = *n.normalise[l.Of]
		case l.Of >= 0:
			layers[k] = n.layers[l.Of]
			if n.kind == posterior.KindDropout {
				rates[k] = n.rates[l.Of]
			}
		case l.Of == graph.Unit:
			var err error
			if layers[k], err = n.unit(l.Map.Inputs(), scale); err != nil {
				return err
			}
		default:
			for _, t := range parts(n.kind) {
				*t.of(&layers[k]) = zeros([]int{0})
			}
		}
	}
	n.layers = layers
	if n.kind == posterior.KindDropout {
		n.rates = rates
	}
	return n.expandSpread()
}

// unit is the arrays of a dense layer that gives its inputs, and is certain.
func (n *contents) unit(size int, scale posterior.Scale) (a arrays, err error) {
	one := graph.Parameters{Weight: []int{size, size}, Bias: size}
	stack := n.rank
	if n.kind == posterior.KindFinite {
		stack = len(n.counts)
	}
	for _, t := range parts(n.kind) {
		of := zeros(t.shape(&one, stack, false))
		switch t.name {
		case "weight.mean", "weight.samples":
			for i := 0; i < len(of.Data); i += size * size {
				for j := range size {
					of.Data[i+j*size+j] = 1
				}
			}
		case "weight.scale":
			if n.kind == posterior.KindSWAG {
				if err := fillCertain(of, scale); err != nil {
					return a, err
				}
			}
		}
		*t.of(&a) = of
	}
	a.noBias, a.weightScale, a.biasScale = true, posterior.ScaleNone, posterior.ScaleNone
	return a, nil
}

// fillCertain writes what a standard deviation of 0 is under a scale.
func fillCertain(of *npy.Array, scale posterior.Scale) error {
	for _, v := range []float64{0, math.Inf(-1)} {
		if _, hi := scale.SD(v); hi == 0 {
			for i := range of.Data {
				of.Data[i] = v
			}
			return nil
		}
	}
	return fmt.Errorf("under scale %v no standard deviation is 0, and the network ends without a dense layer: put one at the end", scale)
}

// unitNumbers returns how many numbers the layers that no file has take.
func (n *contents) unitNumbers() int64 {
	if n.plan == nil {
		return 0
	}
	sum := int64(0)
	for _, l := range n.plan.Layers {
		if l.Of == graph.Unit {
			sum += int64(l.Map.Inputs()) * int64(l.Map.Inputs()) * int64(max(1, len(n.counts), n.rank))
		}
	}
	return sum
}

// spreadName is the array with a row for each layer of the file that has weights.
const spreadName = "reference.spread"

// expandSpread gives reference.spread a row for each canonical layer: NaN for those that are
// not in the file.
func (n *contents) expandSpread() error {
	a := n.extras[spreadName]
	if a == nil {
		return nil
	}
	weighted := 0
	for _, l := range n.plan.Layers {
		if l.Of >= 0 {
			weighted++
		}
	}
	if len(a.Shape) != 2 || a.Shape[0] != weighted || a.Shape[1] != 2 {
		return fmt.Errorf("array %q has shape %v, the header says %v: a row for each layer with weights", spreadName, a.Shape, []int{weighted, 2})
	}
	all := &npy.Array{Shape: []int{len(n.plan.Layers), 2}, DType: a.DType}
	rows := a.Data
	for _, l := range n.plan.Layers {
		if l.Of < 0 {
			all.Data = append(all.Data, math.NaN(), math.NaN())
			continue
		}
		all.Data, rows = append(all.Data, rows[:2]...), rows[2:]
	}
	n.extras[spreadName] = all
	return nil
}

// spreadRows are the rows of reference.spread that a file of p has.
func spreadRows(p *posterior.Posterior, data []float64) (rows []float64) {
	for k := range p.Layers {
		if p.Layers[k].Weights() > 0 {
			rows = append(rows, data[2*k:2*k+2]...)
		}
	}
	return rows
}
