package property_test

import (
	"fmt"

	"psafe/host/read/property"
)

// The ball around a point that is written in decimals encloses the real one: 0.1 and 0.3
// are no float64 numbers, so its ends are rounded outward.
func ExampleBallLinf() {
	x, _ := property.NewDecimal("0.3")
	eps, _ := property.NewDecimal("0.1")
	box, err := property.BallLinf([]float64{x.Lo}, []float64{x.Hi}, eps, nil)
	fmt.Println(box.Lo, box.Hi, err)
	// Output: [0.19999999999999998] [0.4000000000000001] <nil>
}

// A safe set is rows C y + D >= 0 of which some alternative has to hold.
func ExampleSafe() {
	s := property.ArgmaxIs(1, 3)
	fmt.Println(len(s.Rows), s.Any)
	fmt.Println(s.MarginLo([]float64{0.5, -0.25}))
	// Output:
	// 2 [[0 1]]
	// -0.25
}

// Points of a data file are numbered as flags name them.
func ExampleParseIndex() {
	fmt.Println(property.ParseIndex("0:3,7", 10, "point"))
	// Output: [0 1 2 7] <nil>
}
