// Package check proves result records again, by itself: it takes from a record what
// identifies the certificate, recomputes the bound, and compares. It and the packages below
// it, curves and sums, share arithmetic (host/arith) with the packages that made the record
// (bound, prove, measure, neuronsum and the devices), and no bound.
package check
