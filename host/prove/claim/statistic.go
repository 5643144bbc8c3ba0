package claim

import (
	"math"

	"psafe/host/prove/probability"
)

// Statistic is a statement about P_safe at a level of confidence: not a certificate.
// Samples networks were drawn; Safe of them were proved safe on T, Unsafe proved
// unsafe, and the rest is undecided. With probability at least Confidence over the
// draws, Lower <= P_safe <= Upper (Clopper and Pearson 1934, each side at half of
// what Confidence leaves; undecided networks count against either side).
type Statistic struct {
	Samples, Safe, Unsafe    int
	Confidence, Lower, Upper float64
}

// Parent is a Statistic about the posterior that the networks of a finite set are independent draws
// of, which Of names: the draws are those of the file.
type Parent struct {
	Statistic
	Of string
}

// NewStatistic returns the statistic of n networks, so many of them proved safe and proved unsafe.
func NewStatistic(n, safe, unsafe int, confidence float64) *Statistic {
	// Rounded down: exact for a confidence from 1/2 up (Sterbenz), and half of it too.
	alpha := math.Nextafter(1-confidence, 0) / 2
	if confidence >= 0.5 {
		alpha = (1 - confidence) / 2
	}
	return &Statistic{Samples: n, Safe: safe, Unsafe: unsafe, Confidence: confidence,
		Lower: probability.ClopperPearsonDown(safe, n, alpha), Upper: probability.ClopperPearsonUp(n-unsafe, n, alpha)}
}
