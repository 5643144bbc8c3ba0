//go:build !unix

package infile

// nonBlocking is nothing where files do not block.
const nonBlocking = 0
