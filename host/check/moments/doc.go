// Package moments bounds rows at a point by exact moments of ReLU neurons, for the checker
// (docs/theory.md, section 7)
package moments
