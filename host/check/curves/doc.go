// Package curves bounds the functions that the checker meets, by code of its own: the tails of the
// normal distribution and the values of activations.
package curves
