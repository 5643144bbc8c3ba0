// Package curves bounds activations and their derivatives, for the checker.
package curves
