package paper

import (
	"psafe/host/bound"
	"psafe/host/tell/plot"
)

// recorder is a device that does what the one in it does and keeps, as host numbers, what the operations
// of one Propagate wrote: by the name of an operation, of each call of it in order, by the names of arrays.
type recorder struct {
	bound.Device
	wrote map[string][]map[string][]float64
}

// Do keeps what the operation wrote.
func (r *recorder) Do(op bound.Operation) error {
	if err := r.Device.Do(op); err != nil {
		return err
	}
	call := map[string][]float64{}
	for _, o := range bound.Outputs(op) {
		v, err := bound.ReadAll(r.Device, o.Array)
		if err != nil {
			return err
		}
		call[o.Name] = v
	}
	if r.wrote == nil {
		r.wrote = map[string][]map[string][]float64{}
	}
	name := bound.NameOf(op)
	r.wrote[name] = append(r.wrote[name], call)
	return nil
}

// ends is entry i of two arrays of the first call of an operation.
func (r *recorder) ends(operation, lo, hi string, i int) [2]float64 {
	call := r.wrote[operation][0]
	return [2]float64{call[lo][i], call[hi][i]}
}

// relaxed is one of the two lines of neuron i of the first layer, of the arrays a and b.
func (r *recorder) relaxed(a, b string, i int) plot.StepsLine {
	line := r.ends("relax", a, b, i)
	return plot.StepsLine{SlopeLo: line[0], SlopeHi: line[0], Constant: line[1]}
}

// row is row i over the input of the layer that rows came down to first; upper coefficients are the lower
// ones where there are none.
func (r *recorder) row(i int) plot.StepsLine {
	call := r.wrote["backsubstitute"][0]
	hi := call["sHi"]
	if hi == nil {
		hi = call["sLo"]
	}
	return plot.StepsLine{SlopeLo: call["sLo"][i], SlopeHi: hi[i], Constant: call["c"][i]}
}

// margin are the lower bounds of all rows: by intervals, which the second layer's are, and by lines.
func (r *recorder) margin() (ibp, lbp []float64) {
	last := r.wrote["concretize"]
	return r.wrote["affine"][1]["preLo"], last[len(last)-1]["bound"]
}
