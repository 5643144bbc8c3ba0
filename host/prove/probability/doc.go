// Package probability turns safe weight boxes into probability: the mass of a box
// under a diagonal Gaussian, of a union of boxes, and tails of sums. Equation
// numbers (6)-(9) are those of docs/theory.md, section 2.5.
//
// # The inclusion principle
//
// Every function whose name ends in Down returns a float64 at most equal to
// the real number it names; one whose name ends in Up returns a float64 at
// least equal to it. This holds for the exact real number belonging to the
// float64 arguments, not for a nearby one. A function with Approx in its name
// promises nothing and is never used by one that does.
//
// What cannot be bounded is answered with the bound that is always true: 0 or
// -Inf for Down, 1 or 0 (a logarithm) for Up. NaN never comes back.
//
// # Trusted base
//
// That of packages arith and gauss, which have exp, log and the tail of the normal distribution: no library's exp, log
// or erf is trusted. A confidence limit is accepted once the proved tail has confirmed it.
//
// # Notation
//
// u = 2^-53 is the unit roundoff, eta = 2^-1074 the smallest subnormal,
// phi the standard normal density, Q(z) = P(N(0,1) > z).
package probability
