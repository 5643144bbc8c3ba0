//go:build race

package main

// race reports that the race detector is on, which takes terabytes of address space.
const race = true
