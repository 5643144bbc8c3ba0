package sharp

import "psafe/internal/vector"

// weighRows sums, for each list of weights and each lane, weights times what is in the lane of x,
// [.. x lanes], at the places that are picked, in their order: to is [lists x lanes].
func weighRows(to, weights []float64, pick []int, x []float64, lanes int, v vector.Set) {
	if weighLanes(to, weights, pick, x, lanes, v) {
		return
	}
	clear(to)
	n := len(weights) / (len(to) / lanes)
	for ; len(to) > 0; to, weights = to[lanes:], weights[n:] {
		to, rest := to[:lanes], pick
		for ; len(rest) >= 4; rest = rest[4:] {
			w0, w1, w2, w3 := weights[rest[0]], weights[rest[1]], weights[rest[2]], weights[rest[3]]
			x0, x1 := x[rest[0]*lanes:][:lanes], x[rest[1]*lanes:][:lanes]
			x2, x3 := x[rest[2]*lanes:][:lanes], x[rest[3]*lanes:][:lanes]
			for i, sum := range to {
				sum += float64(w0 * x0[i])
				sum += float64(w1 * x1[i])
				sum += float64(w2 * x2[i])
				to[i] = sum + float64(w3*x3[i])
			}
		}
		for _, p := range rest {
			for i, q := range x[p*lanes:][:lanes] {
				to[i] += float64(weights[p] * q)
			}
		}
	}
}

// WeighLanes is weighRows in lanes; it reports whether there are any, for so many.
func WeighLanes(to, weights []float64, pick []int, x []float64, lanes int) bool {
	v, err := vector.InUse()
	return err == nil && len(to) > 0 && weighLanes(to, weights, pick, x, lanes, v)
}

// weighTwice is weighRows with each of two lists of weights, the squares of means and of deviations, and
// the largest terms of the latter. Where a term is no number nor is the sum.
func weighTwice(n *linear, means, deviations []float64, pick []int, x []float64, v vector.Set) {
	if weighTwiceLanes(n, means, deviations, pick, x, v) {
		return
	}
	clear(n.means)
	clear(n.deviations)
	clear(n.largest)
	for _, p := range pick {
		w, d := means[p], deviations[p]
		for i, q := range x[p*n.rows:][:n.rows] {
			term := float64(d * q)
			n.means[i] += float64(w * q)
			n.deviations[i] += term
			n.largest[i] = max(n.largest[i], term)
		}
	}
}
