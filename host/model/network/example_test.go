package network_test

import (
	"fmt"

	"psafe/host/model/network"
)

// A network is its layers; weights are separate, in the order of each layer's map.
func ExampleNetwork_OutputsApprox() {
	relu, err := network.ParseActivation("relu")
	if err != nil {
		panic(err)
	}
	net := network.Network{network.DenseLayer(1, 2, relu), network.DenseLayer(2, 1, network.Activation{})}
	weights := [][]float64{{1, -1}, {0, 0}, {1, 1}, {0.5}} // |x| + 0.5
	fmt.Println(net.OutputsApprox(weights, []float64{-2}))
	// Output: [2.5]
}

// A linear map says which weight meets which input on the way to an output.
func ExampleDense_Into() {
	for j, w := range (network.Dense{In: 3, Out: 2}).Into(1) {
		fmt.Printf("input %d by weight %d\n", j, w)
	}
	// Output:
	// input 0 by weight 1
	// input 1 by weight 3
	// input 2 by weight 5
}
