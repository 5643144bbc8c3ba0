package format_test

import (
	"bytes"
	"fmt"

	"psafe/host/read/format"
)

// A file says most things by itself; what it leaves open, Options settle.
func ExampleRead() {
	p, err := format.Read("../../../testdata/glyphs-64-32-10.npz", format.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Source.Format, p.Inputs(), p.Outputs(), p.Weights(), p.Layers[0].Activation)
	// Output: psafe 64 10 2410 relu
}

// Whatever was read can be written in psafe's own formats.
func ExampleWriteSafetensors() {
	p, err := format.Read("../../../testdata/two-weights.npz", format.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	fmt.Println(format.WriteSafetensors(&file, p), file.Len() > 0)
	// Output: <nil> true
}
