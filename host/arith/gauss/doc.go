// Package gauss bounds tails, densities and moments of one normal variable, and moments of a ReLU
// neuron. What certifies and what checks share these facts, as they share package arith; what
// follows from them for sums of neurons, networks and regions each of the two proves by code of its
// own.
//
// # The inclusion principle
//
// Every function whose name ends in Down returns a float64 at most equal to the real number it names, one whose name
// ends in Up at least that: for the exact real number that belongs to the float64 arguments, not for one nearby. A
// function with Approx in its name promises nothing. What cannot be bounded is answered with what is always true, 0
// or -Inf for Down, 1 or +Inf for Up; NaN never comes back.
//
// # Trusted base
//
// IEEE 754 binary64 with round to nearest even and subnormals for + - * / and math.FMA, math.Frexp, math.Ldexp,
// math.Sqrt, and the integers and rationals of math/big for constants in tables. No library's exp, log or erf.
//
// # Notation
//
// u = 2^-53 is the unit roundoff, eta = 2^-1074 the least positive float64, phi the standard normal density,
// Q(z) = Prob(N(0,1) > z). Functions with Of in their names take a double-word number: their results have the same
// precision, so that their bounds are the next float64.
package gauss
