// Package sums proves again what sums of neurons show of networks with one hidden layer
// (docs/check.md): on cells of T, at a witness, and by the points of grids. Where certify adds up
// by its own lattices, this does so by others, and shares arithmetic alone with it.
package sums
