package certify

import (
	"testing"

	"psafe/host/prove"
	"psafe/host/read/property"
)

// TestThirdLook: other slopes of rows of hidden layers prove more of an image of which the first two looks leave
// p_lower 0.6996.
func TestThirdLook(t *testing.T) {
	job := &Job{Posterior: Posterior{Path: testFile("glyphs-64-24-24-10.npz"), Factor: "8"}, Method: Method{By: new(prove.CLBP), NoUpper: true}, Open: onCPU,
		Tasks: Tasks{Points: Points{Inputs: testFile("glyphs-test-images-idx3-ubyte.gz"), Index: new("3"), Eps: "0.02", Clip: []string{"0", "1"}, Property: property.KeepsClass}}}
	records, err := job.Run(t.Context())
	if err != nil || len(records) != 1 || records[0].PLower < 0.705 {
		t.Errorf("%v, %+v", err, records)
	}
}
