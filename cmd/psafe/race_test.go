//go:build race

package main

// race says that the race detector is on, which takes terabytes of address space.
const race = true
