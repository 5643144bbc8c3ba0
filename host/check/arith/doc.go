// Package arith is the arithmetic of the checker, rounded outward: sums of products and numbers
// in twice the working precision, intervals, the normal distribution's tails and the values of
// activations. Nothing in it knows what is proved with it, and it shares no code with the
// packages that make records.
package arith
