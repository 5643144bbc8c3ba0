// Package check proves result records again, by itself: it takes from a record what
// identifies the certificate, recomputes the bound, and compares. It and the packages below
// it, curves, moments and sums, share arithmetic and facts about one normal variable (host/arith, host/arith/gauss)
// with the packages that made the record (bound, prove, measure, neuronsum and the devices), and no bound.
package check
