//go:build !(goexperiment.simd && amd64)

package fallback

import (
	"psafe/host/bound"
	"psafe/internal/vector"
)

// This build has no vector instructions: the plain loops do everything.

func affineLanes[T bound.Real](*affine[T], int, int, int, int, *affineScratch[T]) bool { return false }

func backSubstituteLanes[T bound.Real](*backSubstitute[T], int, int, int, *sparseRow[T]) bool {
	return false
}

func drawBoxLanes[T bound.Real](*drawBox[T], int, int, int) int { return 0 }

func mergeRowsLanes[T bound.Real](*mergeRows[T], int) bool { return false }

func concretizeLanes[T bound.Real](*concretize[T], int, int, *rowSums[T]) bool { return false }

func gatherSumLanes[T bound.Real](*gatherSum[T], []T, *sumScratch[T]) int { return 0 }

func convTransposeLanes[T bound.Real](*convTranspose[T], int, []int, int, int) bool { return false }

func anyLanes[T bound.Real](vector.Set, []T) (some, known bool) { return false, false }

func squareRowsLanes[T bound.Real](*Device[T], []T, []T) int { return 0 }

func relaxRowsLanes[T bound.Real](*relaxRows[T], int, int, int, *rowSums[T]) bool { return false }

func noiseRowsLanes[T bound.Real](*noiseRows[T], int, int, *rowSums[T]) bool { return false }

func sharedVarLanes[T bound.Real](*sharedVar[T], int, int, int, *[rowTile]T) bool { return false }

func shareChannelLanes[T bound.Real](*shareBox[T], int, int, int, int, T, *[rowTile]T, *[rowTile]T, *[rowTile]T) bool {
	return false
}

func shareRowsLanes[T bound.Real](*shareRows[T], int, int, int, []int) bool { return false }
