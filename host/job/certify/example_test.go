package certify_test

import (
	"context"
	"fmt"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// Does a classifier of digits keep its class on three images, whatever happens to each
// pixel within 0.03?
func Example() {
	job := certify.Job{
		Posterior: certify.Posterior{Path: "../../../testdata/glyphs-64-32-10.npz"},
		Tasks: certify.Tasks{Points: certify.Points{
			Inputs: "../../../testdata/glyphs-test-images-idx3-ubyte.gz", Index: new("0:3"),
			Eps: "0.03", Clip: []string{"0", "1"}, Property: property.KeepsClass,
		}},
		Method: certify.Method{By: new(prove.CLBP)},
		Open: func(p bound.Precision) (*certify.Devices, error) {
			return &certify.Devices{List: []bound.Device{fallback.New(p)}}, nil
		},
	}
	records, err := job.Run(context.Background())
	for _, r := range records {
		fmt.Printf("image %d, class %d: %s\n", r.Index, *r.Label, r.Verdict)
	}
	fmt.Println(err)
	// Output:
	// image 0, class 0: safe
	// image 1, class 1: unknown
	// image 2, class 2: unsafe
	// <nil>
}
