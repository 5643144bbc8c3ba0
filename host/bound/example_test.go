package bound_test

import (
	"fmt"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// One weight box and one input box through a network: a row of the property is >= its
// lower bound for every network of the weight box and every point of the input box.
func ExampleModel_Propagate() {
	post, err := format.Read("../../testdata/tiny-2-3-2-tanh.npz", format.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _ := bound.NewModel(fallback.New(bound.Float64), post, 1)
	defer m.Release()
	boxes, _ := m.Draw(bound.BoxSpec{Gamma: [][]float64{{0.5}, {0.5}}}) // mean +- sd/2
	inputs, _ := m.UploadInputs([]property.Box{{Lo: []float64{0.4, -0.6}, Hi: []float64{0.5, -0.5}}})
	rows, _ := m.UploadRows([][]property.Row{property.ArgmaxIs(0, 2).Rows})
	margins, err := m.Propagate(bound.Query{
		Propagation: bound.LBP, Boxes: boxes, Inputs: inputs, Rows: rows, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("y0 - y1 >= %.4f\n", margins.Lo(0)[0])
	// Output: y0 - y1 >= 2.6559
}
