package fallback

// rootUp is at least sqrt(x) for x >= 0, and within 32u of it, but for x below
// d.tiny, which counts as that. Division and square roots are not the same on all
// devices; this is Newton's iteration for 1/sqrt(x) from a guess made of the bits
// of x, and then a proof of what came out: fl(c c) >= up(x) > x (1 + u) implies
// c^2 >= fl(c c) / (1 + u) > x. Where it fails, max(x, 1) is taken (c may be
// negative: the iteration goes astray for +Inf). NaN stays NaN.
func (d *Device[T]) rootUp(x T) T {
	if x < d.tiny {
		x = d.tiny
	}
	y, half := d.rootSeed(x), T(x*0.5)
	for range d.newtonSteps() {
		y = T(y * (1.5 - T(T(half*y)*y)))
	}
	c := T(T(x*y) * (1 + 16*d.u))
	if !(c > 0 && T(c*c) >= d.up(x)) {
		c = max(x, 1)
	}
	return c
}
