package mass

import (
	"math"
	"testing"

	"psafe/host/check/law"
	"psafe/internal/testkit/checktest"
)

// TestPieces: the pieces of a tree are the box, share faces only, and trees that are none are
// refused.
func TestPieces(t *testing.T) {
	post := checktest.OneLayer([]float64{0, 0, 1, 2}, []float64{1, 1, 0, 1}, []float64{1, 1, 0, 1})
	b := boxOfEnds([]float64{-1, -2, 1, 0}, []float64{1, 2, 1, 4})
	pieces, err := b.Pieces(post, [][]float64{{0, 1, 0.5}, {}, {1, 0, 3}, {0, 0, 0}, {}, {}, {}})
	if err != nil || len(pieces) != 4 {
		t.Fatalf("%d pieces, %v", len(pieces), err)
	}
	var masses []law.Chance
	for _, p := range pieces {
		masses = append(masses, OfBox(post, p))
	}
	whole, sum := OfBox(post, b).Float(), law.Together(masses).Float()
	if math.Abs(sum/whole-1) > 1e-12 {
		t.Errorf("pieces hold %v, the box %v", sum, whole)
	}
	for what, tree := range map[string][][]float64{
		"nothing":           {},
		"an end too early":  {{0, 0, 0}, {}},
		"too many":          {{}, {}},
		"no cut":            {{0, 0}, {}, {}},
		"no array":          {{2, 0, 0}, {}, {}},
		"half an array":     {{0.5, 0, 0}, {}, {}},
		"a negative array":  {{-1, 0, 0}, {}, {}},
		"no weight":         {{0, 3, 0}, {}, {}},
		"no spread":         {{0, 2, 1}, {}, {}},
		"outside":           {{0, 0, 1.5}, {}, {}},
		"outside of a half": {{0, 0, 0}, {0, 0, 0.5}, {}, {}, {}},
		"NaN":               {{0, 0, math.NaN()}, {}, {}},
	} {
		if _, err := b.Pieces(post, tree); err == nil {
			t.Errorf("%s: %v is a tree of pieces", what, tree)
		}
	}
}
