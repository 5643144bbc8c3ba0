package posterior

import (
	"fmt"
	"math"
	"slices"
)

// Input holds what a file says of the inputs that its network was trained on. The zero value says nothing.
type Input struct {
	// Shape is the shape of one input before it was flattened in C order.
	Shape []int
	// Mean and Std say that the first layer takes (x-Mean)/Std for raw data x: nil, or one number for all inputs, or one for each. Std > 0.
	Mean, Std []float64
	// FeaturesOf names in words the network whose features the inputs are, empty if they are inputs in the usual
	// sense: T is then a set of features, and nothing is said of the inputs of that network.
	FeaturesOf string
}

// maxFeaturesOf bounds the words of FeaturesOf, in bytes.
const maxFeaturesOf = 200

// NormaliseApprox is (x-Mean)/Std in ordinary float64, what the first layer takes for raw
// data x: a copy of x where the file says neither. It is no bound.
func (in *Input) NormaliseApprox(x []float64) []float64 {
	z := slices.Clone(x)
	for j := range z {
		if len(in.Mean) > 0 {
			z[j] -= in.Mean[j%len(in.Mean)]
		}
		if len(in.Std) > 0 {
			z[j] /= in.Std[j%len(in.Std)]
		}
	}
	return z
}

// Validate returns what does not fit a network of so many inputs: a shape of another size, a mean
// or a standard deviation that is neither one number nor one for each input, or is not finite, or a
// standard deviation that is not above 0. It bounds the words of FeaturesOf, too.
func (in *Input) Validate(inputs int) error {
	if n := len(in.FeaturesOf); n > maxFeaturesOf {
		return fmt.Errorf("features_of has %d bytes: at most %d are allowed", n, maxFeaturesOf)
	}
	size := 1
	for _, d := range in.Shape {
		if d < 1 || size > inputs/d {
			return fmt.Errorf("input_shape %v has not the %d entries that layer 0 takes", in.Shape, inputs)
		}
		size *= d
	}
	if len(in.Shape) > 0 && size != inputs {
		return fmt.Errorf("input_shape %v has %d entries, layer 0 takes %d", in.Shape, size, inputs)
	}
	for _, list := range []struct {
		name   string
		values []float64
		least  float64
		words  string
	}{{"input.mean", in.Mean, math.Inf(-1), "must be finite"}, {"input.std", in.Std, 0, "must be above 0"}} {
		if n := len(list.values); n != 0 && n != 1 && n != inputs {
			return fmt.Errorf("%s has %d numbers: give one, or one for each of the %d inputs", list.name, n, inputs)
		}
		for j, v := range list.values {
			if !(v > list.least && v <= math.MaxFloat64) {
				return fmt.Errorf("%s: entry %d is %v: it %s", list.name, j, v, list.words)
			}
		}
	}
	return nil
}
