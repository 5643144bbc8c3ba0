package crosscheck

import (
	"fmt"
	"math"
	"strings"

	"psafe/host/prove"
)

// Overlap reports that the bounds of both precisions do not contradict each other.
type Overlap struct {
	Method prove.Method
	// Inside of Total bounds of float32 contain those of float64.
	Inside, Total int
	// Gap is the largest finite difference between a bound and its other form.
	Gap float64
}

// overlap compares the bounds of float64, narrow, with those of float32, wide. Both enclose
// the same true values (weight boxes are equal; input boxes of float32 are a little larger),
// so lower bounds may not lie above the other's upper bounds: the error names the first that
// do. Stars of max pools are choices, which the precisions may make differently.
func overlap(narrow, wide []bounds) (Overlap, error) {
	var o Overlap
	for i, n := range narrow {
		if strings.HasPrefix(n.what, "pool.") {
			continue // which member of a window is its star, and bounds about that member
		}
		w := wide[i]
		for k, x := range n.values {
			o.add(n.upper(), x, w.values[k])
		}
		if !strings.HasSuffix(n.what, ".lo") {
			continue
		}
		for k, lo := range n.values {
			hi, wideLo, wideHi := narrow[i+1].values[k], w.values[k], wide[i+1].values[k]
			if lo > wideHi || wideLo > hi {
				return o, fmt.Errorf("%s of layer %d at index %d: float64 [%x, %x] and float32 [%x, %x] do not overlap",
					n.what, n.layer, k, lo, hi, wideLo, wideHi)
			}
		}
	}
	return o, nil
}

// upper reports whether the values are upper bounds.
func (b *bounds) upper() bool {
	return !strings.HasSuffix(b.what, ".lo") && !strings.HasPrefix(b.what, "margin")
}

// add counts a bound in both precisions.
func (o *Overlap) add(upper bool, narrow, wide float64) {
	o.Total++
	lo, hi := wide, narrow
	if upper {
		lo, hi = hi, lo
	}
	if lo <= hi {
		o.Inside++
	}
	if d := math.Abs(narrow - wide); d > o.Gap && !math.IsInf(d, 0) {
		o.Gap = d
	}
}
