package prove_test

import (
	"context"
	"fmt"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Properties of a file, certified on the CPU: each result has a lower bound
// of the probability that a drawn network keeps the property on all of its boxes.
func ExampleRun() {
	post, err := format.Read("../../testdata/advisory-4-32-9.npz", format.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks, err := property.ReadFile("../../testdata/advisory-property.json", post.Outputs())
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	err = prove.Run(context.Background(), []*engine.Engine{e}, prove.Config{Method: prove.CLBP}, tasks, nil,
		func(r *claim.Result) error {
			fmt.Printf("%s: %s <= P_safe\n", r.Task.Name, record.FormatDown(r.Lower(), 3))
			return nil
		})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// phi_1: 0.931 <= P_safe
	// phi_2: 0.999 <= P_safe
	// phi_3: 0.999 <= P_safe
	// phi_4: 0.999 <= P_safe
}
