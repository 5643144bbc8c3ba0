//go:build !(goexperiment.simd && amd64)

package fallback

import "psafe/host/bound"

// This build has no vector instructions: the plain loops do everything.

const built = false

func vectorsHere() VectorSet { return NoVectors }

func affineLanes[T bound.Real](*affine[T], int, int, int, *[3][affineTile]T) bool { return false }

func backSubstituteLanes[T bound.Real](*backSubstitute[T], int, int, int, *sparseRow[T]) bool {
	return false
}

func drawBoxLanes[T bound.Real](*drawBox[T], int, int, int) int { return 0 }
