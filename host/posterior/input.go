package posterior

// Input is what a file says of the inputs that its network was trained on. The zero value says nothing.
type Input struct {
	// Shape is the shape of one input before it was flattened in C order.
	Shape []int
	// Mean and Std say that the first layer takes (x-Mean)/Std for raw data x: nil, or one number for all inputs, or one for each. Std > 0.
	Mean, Std []float64
}
