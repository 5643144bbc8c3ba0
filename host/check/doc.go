// Package check proves result records again, by itself: it takes from a record what
// identifies the certificate, recomputes the bound, and compares. It and the packages below
// it, arith and sums, share no code with the packages that made the record (bound, certify,
// measure, neuronsum and the devices).
package check
