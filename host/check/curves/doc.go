// Package curves bounds the activations that the checker meets, by code of its own: values and derivatives.
package curves
