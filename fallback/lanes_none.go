//go:build !(goexperiment.simd && amd64)

package fallback

import "psafe/host/bound"

// hasLanes: this build has no vector instructions, the plain loops do everything.
func hasLanes() bool { return false }

func affineLanes[T bound.Real](*affine[T], int, int, int, *[3][affineTile]T) int { return 0 }

func backSubstituteLanes[T bound.Real](*backSubstitute[T], int, int, int, *sparseRow[T]) bool {
	return false
}

func drawBoxLanes[T bound.Real](*drawBox[T], int, int, int) int { return 0 }
