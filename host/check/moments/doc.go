// Package moments is the checker's bound of rows at a point by exact moments of ReLU neurons
// (docs/theory.md, section 7), by code of its own: its moments, its statements about the second hidden layer, and
// how it proves that a plane is above a surface.
package moments
