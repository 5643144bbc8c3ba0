// Package check proves result records again, by itself: it takes from a record what
// identifies the certificate, recomputes the bound, and compares. Package record reads the line; the
// files by*.go ask the room of each theorem for its bound. The rooms share the model (host/model),
// arithmetic and facts about one normal variable (host/arith, host/arith/gauss) with the packages that
// made the record (bound, prove, probability, neuronsum and the devices), and no bound of a network.
package check
